#ifndef PERF_WINDOW_H_
#define PERF_WINDOW_H_

#include <map>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "perf/audit_log.h"
#include "perf/process_usage.h"
#include "perf/report.h"

namespace kq::perf {

// From its construction on: what the processes used, and what was called.
// Not thread-safe.
class Window {
 public:
  // `processes` must outlive it; `audit_log` may be a file that is not there.
  Window(const Processes* processes, std::string audit_log);

  absl::Time begin() const { return begin_; }
  // What one process used until now; zero if it is not there.
  absl::Duration CpuOf(const std::string& process) const;
  // Rows "<process>: CPU per <unit>" of what was used until now.
  void ReportCpu(absl::string_view section, absl::string_view unit, int64_t count, Report* report) const;
  // The calls that were answered until now.
  CallTally Calls() const;

 private:
  const Processes* const processes_;
  const std::string audit_log_;
  const absl::Time begin_;
  const std::map<std::string, Usage> before_;
  const int64_t audit_from_;
};

// Whether a program is one of the project's own services.
bool IsOurs(absl::string_view agent);

// Rows of what our own processes wrote per unit, and notes of what looks odd: calls
// that were refused, and objects written more often than others.
void ReportOurCalls(absl::string_view section, const CallTally& calls, int64_t count, Report* report);

// Rows "<process>: resident".
void ReportMemory(absl::string_view section, const Processes& processes, Report* report);

}  // namespace kq::perf

#endif  // PERF_WINDOW_H_
