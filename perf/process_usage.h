#ifndef PERF_PROCESS_USAGE_H_
#define PERF_PROCESS_USAGE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace kq::perf {

struct Usage {
  absl::Duration cpu;     // user and system, since its start; ended threads included
  int64_t rss_bytes = 0;  // resident now
};

// Of a running process, from /proc. kNotFound: there is none.
absl::StatusOr<Usage> UsageOf(pid_t pid);

// The processes of a measurement by name. Those that are gone are left out of
// what is read. Not thread-safe.
class Processes {
 public:
  // Those of the cluster with this folder, by their pid files.
  static Processes OfCluster(const std::string& state_folder);

  void Add(const std::string& name, pid_t pid) { pids_[name] = pid; }
  bool Has(const std::string& name) const { return pids_.count(name) != 0; }
  std::map<std::string, Usage> Now() const;

 private:
  std::map<std::string, pid_t> pids_;
};

}  // namespace kq::perf

#endif  // PERF_PROCESS_USAGE_H_
