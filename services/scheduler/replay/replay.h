#ifndef SERVICES_SCHEDULER_REPLAY_REPLAY_H_
#define SERVICES_SCHEDULER_REPLAY_REPLAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/scheduler/core_settings.h"

namespace kq::scheduler {

// Computes the decisions of a decision log again: a fresh core is given the
// recorded events at their times, and what it decides is compared with what was
// recorded, one by one.
//
//   Replay replay;
//   for (line of the files of one run, in order) status = replay.Line(line);
//
// After a gap in the log, or when its beginning is missing, nothing can be
// compared any more: the core would not know what it was not told.
class Replay {
 public:
  // The next line. kInvalidArgument: it cannot be understood. kDataLoss: turns are
  // missing from here on. kFailedPrecondition: the first decision that differs,
  // in words. After an error of either kind no more lines may be given.
  absl::Status Line(const std::string& line);

  int64_t events() const { return events_; }
  int64_t cycles() const { return cycles_; }
  int64_t decisions() const { return decisions_; }  // that were the same

 private:
  absl::Status Header(const Json& header);
  absl::Status GiveEvent(const Json& line);
  absl::Status Cycle(const Json& line);

  CoreWithPolicies core_;
  int64_t next_file_ = 0;
  int64_t events_ = 0;
  int64_t cycles_ = 0;
  int64_t decisions_ = 0;
};

// The log's files of a folder, or the one file, in order, by run: each inner list
// is what one process wrote.
absl::StatusOr<std::vector<std::vector<std::string>>> LogFiles(const std::string& path);

// Replays the files of one run. Errors as Replay::Line, with file and line; `replay`
// tells how far it came.
absl::Status ReplayRun(const std::vector<std::string>& files, Replay* replay);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_REPLAY_REPLAY_H_
