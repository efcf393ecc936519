#ifndef CLI_KQCTL_TESTING_PICTURES_H_
#define CLI_KQCTL_TESTING_PICTURES_H_

#include <string>

#include "absl/time/time.h"
#include "proto/queueing/v1/scheduler.pb.h"

// One small world as the server would tell it, written by hand:
//
//   org (max 20 cpu)
//     team-a (min 2, max 4 cpu, 8Gi)  one running, two waiting
//     team-b (does not lend, gpus)    idle
//   lonely: its parent does not exist; empty: no max
//
// At kNow, an hour after the world began.
namespace kq::kqctl::testing {

inline const absl::Time kNow = absl::FromUnixSeconds(1'800'003'600);

queueing::v1::Snapshot Picture();
queueing::v1::ListUnitsResponse Units();
queueing::v1::Explanation Explained();
queueing::v1::DecisionsResponse Decided();

// Whether `text` is the text of the file testdata/NAME; the test tells the difference.
// With KQCTL_WRITE_GOLDEN=FOLDER in the environment the text is written there.
void CheckGolden(const std::string& name, const std::string& text);

}  // namespace kq::kqctl::testing

#endif  // CLI_KQCTL_TESTING_PICTURES_H_
