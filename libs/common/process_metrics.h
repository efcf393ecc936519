#ifndef LIBS_COMMON_PROCESS_METRICS_H_
#define LIBS_COMMON_PROCESS_METRICS_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "libs/common/metrics.h"

namespace kq {

// The process_* metrics that every Prometheus client has: CPU seconds, resident
// and virtual memory, open and allowed file descriptors, start time. Read from
// /proc at each scrape; what cannot be read is left out.
void AddProcessMetrics(MetricRegistry* metrics);

// What /proc/self/stat says, in the kernel's units.
struct ProcStat {
  double cpu_ticks = 0;
  double start_ticks = 0;  // since boot
  double virtual_bytes = 0;
  double resident_pages = 0;
};
// nullopt if `text` has another form. Pure.
std::optional<ProcStat> ParseProcStat(absl::string_view text);

}  // namespace kq

#endif  // LIBS_COMMON_PROCESS_METRICS_H_
