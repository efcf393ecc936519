// replay: reads a decision log of koord-queue and computes its decisions again.
//
//   replay FOLDER-OR-FILE
//
// Exit code 0: every decision was computed again as it was recorded. 1: one
// differs; it is printed. 2: bad usage, or a log that cannot be read. 3: turns are
// missing in the log; what came before them was the same.
#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/flags.h"
#include "libs/common/version.h"
#include "services/scheduler/replay/replay.h"

namespace {

using kq::scheduler::LogFiles;
using kq::scheduler::Replay;
using kq::scheduler::ReplayRun;

int CodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  if (absl::IsFailedPrecondition(status)) return 1;
  return absl::IsDataLoss(status) ? 3 : 2;
}

// A difference matters most, then what cannot be read, then what is missing.
int Worse(int a, int b) {
  for (const int code : {1, 2, 3}) {
    if (a == code || b == code) return code;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  kq::FlagSet flags("replay", kq::kVersion, "Computes the decisions of a decision log again and compares them.");
  flags.Positional("FOLDER-OR-FILE");
  if (const std::optional<int> code = flags.ParseOrExitCode(argc, argv)) return *code;
  if (flags.positional().size() != 1) {
    std::cerr << "replay: one folder or file is needed; see --help\n";
    return 2;
  }
  const auto runs = LogFiles(flags.positional().front());
  if (!runs.ok()) {
    std::cerr << "replay: " << runs.status().message() << "\n";
    return 2;
  }
  int code = 0;
  for (const std::vector<std::string>& files : *runs) {
    Replay replay;
    const absl::Status status = ReplayRun(files, &replay);
    std::cout << files.front() << (files.size() > 1 ? absl::StrCat(" and ", files.size() - 1, " more") : "") << ": "
              << replay.events() << " events, " << replay.cycles() << " cycles, " << replay.decisions()
              << " decisions as recorded\n";
    if (!status.ok()) std::cout << status.message() << "\n";
    code = Worse(code, CodeOf(status));
  }
  return code;
}
