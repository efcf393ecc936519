#include "perf/process_usage.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace kq::perf {
namespace {

// proc(5): the fields after the program's name, which may contain anything.
constexpr size_t kUserTicks = 11;
constexpr size_t kSystemTicks = 12;
constexpr size_t kResidentPages = 21;

}  // namespace

absl::StatusOr<Usage> UsageOf(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/stat");
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return absl::NotFoundError(absl::StrCat(path, ": no such process"));
  const std::vector<std::string> fields = absl::StrSplit(text.substr(name_end + 2), ' ');
  int64_t user = 0, system = 0, pages = 0;
  if (fields.size() <= kResidentPages || !absl::SimpleAtoi(fields[kUserTicks], &user) ||
      !absl::SimpleAtoi(fields[kSystemTicks], &system) || !absl::SimpleAtoi(fields[kResidentPages], &pages)) {
    return absl::InternalError(absl::StrCat(path, ": cannot be read"));
  }
  return Usage{absl::Seconds(1) * (user + system) / sysconf(_SC_CLK_TCK), pages * sysconf(_SC_PAGESIZE)};
}

Processes Processes::OfCluster(const std::string& state_folder) {
  Processes out;
  for (const char* name : {"kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler", "kwok"}) {
    std::ifstream in(absl::StrCat(state_folder, "/", name, ".pid"));
    pid_t pid = 0;
    if (in >> pid) out.Add(name, pid);
  }
  return out;
}

std::map<std::string, Usage> Processes::Now() const {
  std::map<std::string, Usage> out;
  for (const auto& [name, pid] : pids_) {
    if (const absl::StatusOr<Usage> usage = UsageOf(pid); usage.ok()) out[name] = *usage;
  }
  return out;
}

}  // namespace kq::perf
