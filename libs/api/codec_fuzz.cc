#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "libs/api/codec.h"

// Any JSON at all: the codec reads it without falling over, what it gives can be
// counted, amounts never become negative, and admissions survive being written and read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto json = kq::ParseJson(absl::string_view(reinterpret_cast<const char*>(bytes), size));
  if (!json.ok()) return 0;
  if (const auto unit = kq::ParseQueueUnit(*json); unit.ok()) {
    if (kq::Need(*unit).AnyNegative() || kq::Held(*unit).AnyNegative()) std::abort();
    kq::QueueUnit granted = *unit;
    granted.admissions = kq::FullAdmissions(*unit);
    if (!kq::Need(granted).Nonzero().Empty()) std::abort();
    kq::UnitStatusChange change;
    change.admissions = granted.admissions;
    change.conditions = kq::ConditionsFor(unit->phase, unit->conditions, unit->message, absl::UnixEpoch());
    const auto patch = kq::ParseJson(kq::JsonText(kq::UnitStatusPatch(change)));
    if (!patch.ok()) std::abort();
    // What was written is read back as it was meant, or the reports would never settle.
    kq::Json written = *json;
    written.as_object()["status"] = patch->at("status");
    const auto read = kq::ParseQueueUnit(written);
    if (read.ok() && read->invalid.empty() && read->admissions != granted.admissions) std::abort();
  }
  if (const auto quota = kq::ParseQuota(*json); quota.ok() && quota->max.AnyNegative()) std::abort();
  if (const auto queue = kq::ParseQueue(*json); queue.ok() && queue->key.name.empty()) std::abort();
  return 0;
}
