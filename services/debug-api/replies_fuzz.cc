// Any bytes as the target of a request: no crash, what is refused says why in a
// Status of valid JSON, and no number comes from outside its range.
//
//   bazel test --config=fuzz //services/debug-api:replies_fuzz
//   bazel run --config=fuzz //services/debug-api:replies_fuzz -- -max_total_time=60 DIR
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "libs/common/json.h"
#include "services/debug-api/replies.h"

namespace {

using kq::debug_api::ErrorReply;

void CheckRefusal(const absl::Status& status) {
  const kq::HttpResponse response = ErrorReply(status);
  const absl::StatusOr<kq::Json> body = kq::ParseJson(response.body);
  if (response.code < 400 || response.code >= 500 || status.message().empty() || !body.ok()) std::abort();
  if (kq::StringAt(*body, {"kind"}) != "Status") std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (kq::debug_api::IsObjectName(text) && text.find_first_of("/%\\") != absl::string_view::npos) std::abort();
  const auto parameters = kq::debug_api::ReadParameters(text, {"limit", "a"});
  if (!parameters.ok()) {
    CheckRefusal(parameters.status());
    return 0;
  }
  const absl::StatusOr<int64_t> number = kq::debug_api::NumberOf(*parameters, "limit", 7, 1000);
  if (!number.ok()) {
    CheckRefusal(number.status());
  } else if (*number < 1 || *number > 1000) {
    std::abort();
  }
  return 0;
}
