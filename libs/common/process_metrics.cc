#include "libs/common/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace kq {
namespace {

std::string ReadFile(const char* path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// When the machine was started, in seconds since 1970.
std::optional<double> BootTime() {
  const std::string text = ReadFile("/proc/stat");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    double seconds;
    if (absl::ConsumePrefix(&line, "btime ") && absl::SimpleAtod(line, &seconds)) return seconds;
  }
  return std::nullopt;
}

void CollectStat(MetricSink& sink) {
  const std::optional<ProcStat> stat = ParseProcStat(ReadFile("/proc/self/stat"));
  if (!stat) return;
  const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
  sink.Counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", {},
               stat->cpu_ticks / ticks_per_second);
  sink.Gauge("process_resident_memory_bytes", "Resident memory size in bytes.", {}, stat->resident_pages * page_bytes);
  sink.Gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", {}, stat->virtual_bytes);
  if (const std::optional<double> boot = BootTime()) {
    sink.Gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", {},
               *boot + stat->start_ticks / ticks_per_second);
  }
}

void CollectDescriptors(MetricSink& sink) {
  std::error_code error;
  std::filesystem::directory_iterator at("/proc/self/fd", error);
  // The iterator holds one of its own.
  double open = -1;
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) ++open;
  if (!error) sink.Gauge("process_open_fds", "Number of open file descriptors.", {}, open);
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    sink.Gauge("process_max_fds", "Maximum number of open file descriptors.", {}, static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace

std::optional<ProcStat> ParseProcStat(absl::string_view text) {
  // The program's name is in parentheses and may itself contain any character.
  const size_t name_end = text.rfind(") ");
  if (name_end == absl::string_view::npos) return std::nullopt;
  const std::vector<absl::string_view> fields = absl::StrSplit(text.substr(name_end + 2), ' ');
  // proc(5) counts from 1, and the first field after the name is number 3.
  const auto field = [&fields](size_t number, double* value) {
    return number - 3 < fields.size() && absl::SimpleAtod(absl::StripAsciiWhitespace(fields[number - 3]), value);
  };
  ProcStat stat;
  double user, system;
  if (!field(14, &user) || !field(15, &system) || !field(22, &stat.start_ticks) || !field(23, &stat.virtual_bytes) ||
      !field(24, &stat.resident_pages)) {
    return std::nullopt;
  }
  stat.cpu_ticks = user + system;
  return stat;
}

void AddProcessMetrics(MetricRegistry* metrics) {
  metrics->AddCollector([](MetricSink& sink) {
    CollectStat(sink);
    CollectDescriptors(sink);
  });
}

}  // namespace kq
