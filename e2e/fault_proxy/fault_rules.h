#ifndef E2E_FAULT_PROXY_FAULT_RULES_H_
#define E2E_FAULT_PROXY_FAULT_RULES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "e2e/fault_proxy/kube_request.h"
#include "libs/common/json.h"
#include "libs/common/mutex.h"

// Which requests meet with which fault. As text, YAML or JSON:
//
//   seed: 7                          # 0 if absent
//   rules:
//   - name: lost answers             # for the counts; "rule N" if absent
//     verbs: [patch, update]         # get list watch create update patch delete deletecollection; all if absent
//     resource: jobs\.batch(/status)?  # regular expressions for the whole text; anything if absent
//     namespace: team-.*
//     object: job-[0-9]+
//     every: 5                       # each 5th request that matches; or
//     probability: 0.2               # each one with this chance; neither: every one
//     skip: 10                       # not the first 10 that match
//     limit: 100                     # 100 times in all
//     fault: lose-answer
//
// Faults, and the fields they take:
//
//   answer          not forwarded, answered with code: (300 to 599); retry_after: 2s
//   replace-answer  forwarded, then answered like that: a write took effect
//   lose-request    connection closed, nothing forwarded
//   lose-answer     forwarded, then connection closed: a write took effect
//   slow-request    forwarded after delay: 3s
//   slow-answer     forwarded at once, answered delay: later
//   cut-watch       connection closed after_events: 3 or after_bytes: 1000 (0 if absent)
//   expire-watch    410 Gone in the stream after_events:, then its end
//
// A request meets the first rule that strikes; slow ones let later rules strike
// too. What has no resource, such as discovery, is never struck.
namespace kq {

struct Fault {
  enum class Kind {
    kAnswer,
    kReplaceAnswer,
    kLoseRequest,
    kLoseAnswer,
    kSlowRequest,
    kSlowAnswer,
    kCutWatch,
    kExpireWatch
  };
  Kind kind = Kind::kAnswer;
  int code = 0;
  absl::Duration retry_after;  // zero: no such header
  absl::Duration delay;
  int64_t after_events = 0;
  int64_t after_bytes = 0;  // counts if after_events is 0
};
absl::string_view FaultName(Fault::Kind kind);

// The rules and how often each has struck. Whether a rule strikes depends on the
// seed, the number of the request and how many requests matched before, on no
// clock and no other randomness. Thread-safe.
class FaultRules {
 public:
  // kInvalidArgument with the place, such as "rules[2].fault: ...".
  static absl::StatusOr<std::unique_ptr<FaultRules>> Parse(absl::string_view text);
  ~FaultRules();

  // The faults for the request, which is the `number`th, in the order of the rules.
  std::vector<Fault> Strike(const KubeRequest& request, int64_t number);

  uint64_t seed() const { return seed_; }
  // Another seed than the text's; before the first Strike.
  void SetSeed(uint64_t seed) { seed_ = seed; }
  // [{"name": ..., "fault": ..., "matched": N, "struck": N}]
  Json Counts() const;

 private:
  struct Rule;
  FaultRules() = default;

  uint64_t seed_ = 0;
  mutable Mutex mu_;
  std::vector<Rule> rules_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq

#endif  // E2E_FAULT_PROXY_FAULT_RULES_H_
