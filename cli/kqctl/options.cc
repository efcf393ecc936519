#include "cli/kqctl/options.h"

#include <algorithm>
#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kq::kqctl {
namespace {

constexpr std::array<absl::string_view, 11> kPhases = {"Enqueued",    "Reserved",       "Dequeued",   "Running",
                                                       "Succeed",     "Failed",         "SchedReady", "SchedSucceed",
                                                       "SchedFailed", "TimeoutBackoff", "Preempted"};

}  // namespace

void AddOutputFlag(Output* output, FlagSet* flags) {
  const auto parse = [output](absl::string_view text) {
    if (text == "table" || text == "wide") {
      *output = Output::kTable;
    } else if (text == "json") {
      *output = Output::kJson;
    } else if (text == "yaml") {
      *output = Output::kYaml;
    } else {
      return absl::InvalidArgumentError("is not table, json or yaml");
    }
    return absl::OkStatus();
  };
  flags->Section("Output");
  flags->Custom("output", parse, "table",
                "table (for people), json or yaml (for scripts: every field, exact amounts). Short: -o.");
  flags->Alias("o", "output");
}

void AddWatchFlag(bool* watch, FlagSet* flags) {
  flags->Bool("watch", watch,
              "Goes on showing what changes until it is interrupted: a terminal is redrawn, elsewhere lines are "
              "appended. Short: -w.");
  flags->Alias("w", "watch");
}

void AddUnitFlags(UnitOptions* options, FlagSet* flags) {
  flags->Section("Which units");
  flags->String("queue", &options->queue, "Those that wait in this queue, in its order. Short: -q.");
  flags->Alias("q", "queue");
  flags->String("quota", &options->quota,
                "All unfinished ones of this quota and of the quotas below it, as QUOTA says: those that wait first, "
                "then those that hold quota.");
  flags->String("namespace", &options->ns, "Those of this namespace. Short: -n.");
  flags->Alias("n", "namespace");
  const auto phase = [options](absl::string_view text) {
    if (!text.empty() && std::find(kPhases.begin(), kPhases.end(), text) == kPhases.end()) {
      return absl::InvalidArgumentError(absl::StrCat("is not one of ", absl::StrJoin(kPhases, ", ")));
    }
    options->phase = std::string(text);
    return absl::OkStatus();
  };
  flags->Custom("phase", phase, "", "Those in this phase: Enqueued, Dequeued, Running, ...");
  flags->Int("limit", &options->limit, "At most so many; 0 means all.", {0, INT64_MAX});
  flags->Int("offset", &options->offset, "Leaves out so many at the beginning.", {0, INT64_MAX});
  flags->Check([options] {
    return options->queue.empty() || options->quota.empty()
               ? absl::OkStatus()
               : absl::InvalidArgumentError("--queue and --quota: at most one of the two may be given");
  });
}

}  // namespace kq::kqctl
