#ifndef SERVICES_SCHEDULER_RUNTIME_VALUE_JSON_H_
#define SERVICES_SCHEDULER_RUNTIME_VALUE_JSON_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/api/queue.h"
#include "libs/api/queue_unit.h"
#include "libs/api/quota.h"
#include "libs/common/json.h"

// The plain values as JSON and back, exactly: Decode(Encode(x)) == x. Not the
// API server's form of the objects (libs/api/codec.h), which does not hold
// everything a value holds and spells amounts as quantities. Fields with their
// default value are left out; amounts are integers; times are nanoseconds since
// 1970, absent for InfinitePast.
//
// Decoding errors are kInvalidArgument with the field path.
namespace kq::scheduler {

JsonObject EncodeUnit(const QueueUnit& unit);
absl::StatusOr<QueueUnit> DecodeUnit(const Json& value);

JsonObject EncodeQueue(const Queue& queue);
absl::StatusOr<Queue> DecodeQueue(const Json& value);

JsonObject EncodeQuota(const Quota& quota);
absl::StatusOr<Quota> DecodeQuota(const Json& value);

// Parts that decisions hold too.
JsonArray EncodeAdmissions(const std::vector<Admission>& admissions);
JsonArray EncodeConditions(const std::vector<Condition>& conditions);
JsonArray EncodePairs(const std::vector<std::pair<std::string, std::string>>& pairs);
// Set `name` of `object`, unless the value is the default.
void PutText(JsonObject* object, absl::string_view name, const std::string& text);
void PutInt(JsonObject* object, absl::string_view name, int64_t number, int64_t fallback = 0);
void PutTime(JsonObject* object, absl::string_view name, absl::Time time);

// Reads the fields of one encoded object. The first mistake is kept in `error`
// and everything read after it is a default, so that a decoder asks once, at the end.
class ValueReader {
 public:
  // `value` and `error` must outlive the reader.
  ValueReader(const Json& value, std::string path, absl::Status* error);

  std::string Text(absl::string_view name);
  int64_t Int(absl::string_view name, int64_t fallback = 0);
  uint64_t Version(absl::string_view name) { return static_cast<uint64_t>(Int(name)); }
  bool Bool(absl::string_view name, bool fallback = false);
  absl::Time Time(absl::string_view name);
  ObjectKey Key() { return {Text("ns"), Text("name")}; }
  Resources Amounts(absl::string_view name);
  std::vector<std::pair<std::string, std::string>> Pairs(absl::string_view name);
  bool Has(absl::string_view name) const { return object_ != nullptr && object_->contains(name_of(name)); }
  // The elements of an array field; empty if it is absent.
  const JsonArray& Array(absl::string_view name);
  // A whole field; a null value if it is absent.
  const Json& Value(absl::string_view name);
  std::string Path(absl::string_view name) const { return FieldPath(path_, name); }
  absl::Status* error() { return error_; }

 private:
  static boost::json::string_view name_of(absl::string_view name) { return {name.data(), name.size()}; }
  void Fail(const absl::Status& status);

  const JsonObject* object_ = nullptr;
  const std::string path_;
  absl::Status* const error_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_VALUE_JSON_H_
