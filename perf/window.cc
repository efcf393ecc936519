#include "perf/window.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/common/clock.h"

namespace kq::perf {
namespace {

constexpr double kMegabyte = 1e6;

// The targets of one Job or admission, for who reads the table.
absl::string_view CpuTarget(absl::string_view process, absl::string_view unit) {
  if (unit == "patch") return "";
  if (process == "koord-queue") return "<= 0.2";
  if (process == "kube-apiserver") return "<= 10";
  return "";
}

std::string Refusals(const CallTally::Row& row) {
  std::string out;
  for (const auto& [code, times] : row.refusals) absl::StrAppend(&out, " ", times, "x", code);
  return out;
}

}  // namespace

Window::Window(const Processes* processes, std::string audit_log)
    : processes_(processes),
      audit_log_(std::move(audit_log)),
      begin_(Clock::Real().TimeNow()),
      before_(processes->Now()),
      audit_from_(SizeOf(audit_log_)) {}

absl::Duration Window::CpuOf(const std::string& process) const {
  const auto now = processes_->Now();
  const auto after = now.find(process), before = before_.find(process);
  if (after == now.end()) return absl::ZeroDuration();
  return after->second.cpu - (before == before_.end() ? absl::ZeroDuration() : before->second.cpu);
}

void Window::ReportCpu(absl::string_view section, absl::string_view unit, int64_t count, Report* report) const {
  double ours = 0;
  bool any = false;
  for (const auto& [name, usage] : processes_->Now()) {
    const double per_unit = absl::ToDoubleMilliseconds(CpuOf(name)) / static_cast<double>(count);
    if (IsOurs(name)) ours += per_unit;
    any = any || IsOurs(name);
    report->Add(section, absl::StrCat(name, ": CPU per ", unit), per_unit, "ms", CpuTarget(name, unit));
  }
  if (any) report->Add(section, absl::StrCat("all of ours: CPU per ", unit), ours, "ms", "<= 1");
}

CallTally Window::Calls() const {
  CallTally tally;
  if (SizeOf(audit_log_) == 0) return tally;
  const auto calls = ReadAuditLog(audit_log_, audit_from_, &tally.bad_lines);
  if (!calls.ok()) return tally;
  for (const AuditedCall& call : *calls) tally.Add(call);
  return tally;
}

bool IsOurs(absl::string_view agent) { return agent == "koord-queue" || agent == "koord-queue-controllers"; }

void ReportOurCalls(absl::string_view section, const CallTally& calls, int64_t count, Report* report) {
  double writes = 0;
  for (const CallTally::Row& row : calls.Rows()) {
    if (!IsOurs(row.agent) || row.resource == "leases") continue;
    const std::string name = absl::StrCat(row.agent, ": ", row.verb, " ", row.resource);
    const double per_unit = static_cast<double>(row.calls) / static_cast<double>(count);
    const bool is_write = row.objects > 0;
    if (is_write && row.resource != "events") writes += per_unit;
    if (row.verb != "list" && row.verb != "watch") report->Add(section, name, per_unit, "calls");
    if (row.refused > 0) report->Note(absl::StrCat(section, ": ", name, " refused:", Refusals(row)));
    if (row.most > 1 && row.resource != "events") {
      report->Note(absl::StrCat(section, ": ", name, ": ", row.calls, " writes to ", row.objects, " objects, up to ",
                                row.most, " to one (", row.example, ")"));
    }
  }
  report->Add(section, "ours: writes without events", writes, "calls", "3");
  if (calls.bad_lines > 0) report->Note(absl::StrCat(section, ": audit log: ", calls.bad_lines, " bad lines"));
}

void ReportMemory(absl::string_view section, const Processes& processes, Report* report) {
  for (const auto& [name, usage] : processes.Now()) {
    report->Add(section, absl::StrCat(name, ": resident"), static_cast<double>(usage.rss_bytes) / kMegabyte, "MB");
  }
}

}  // namespace kq::perf
