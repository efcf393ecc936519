#include "services/scheduler/replay/replay.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/json.h"
#include "libs/common/status_macros.h"
#include "services/scheduler/runtime/event_json.h"

namespace kq::scheduler {
namespace {

absl::StatusOr<absl::Time> TimeOf(const Json& line) {
  const Json* now = Find(line, {"now"});
  if (now == nullptr || !now->is_int64()) return absl::InvalidArgumentError("now: expected nanoseconds");
  return absl::FromUnixNanos(now->get_int64());
}

std::string Either(const std::vector<std::string>& texts, size_t i) { return i < texts.size() ? texts[i] : "nothing"; }

}  // namespace

absl::Status Replay::Line(const std::string& text) {
  KQ_ASSIGN_OR_RETURN(const Json line, ParseJson(text));
  if (const Json* header = Find(line, {"header"}); header != nullptr) return Header(*header);
  if (core_.core == nullptr) return absl::DataLossError("the log does not begin with a header");
  if (const Json* gap = Find(line, {"gap", "turns"}); gap != nullptr) {
    return absl::DataLossError(absl::StrCat("turns were not recorded here: ", JsonText(*gap)));
  }
  if (Find(line, {"event"}) != nullptr) return GiveEvent(line);
  if (Find(line, {"cycle"}) != nullptr) return Cycle(line);
  return absl::InvalidArgumentError("neither header, event, cycle nor gap");
}

absl::Status Replay::Header(const Json& header) {
  const JsonObject* object = header.if_object();
  if (object == nullptr) return absl::InvalidArgumentError("header: expected an object");
  KQ_ASSIGN_OR_RETURN(const int64_t file, IntField(*object, "file", "header"));
  if (file != next_file_) {
    return absl::DataLossError(absl::StrCat("file ", file, " of its run, but file ", next_file_, " is missing"));
  }
  ++next_file_;
  if (core_.core != nullptr) return absl::OkStatus();
  const Json* config = Find(header, {"config"});
  if (config == nullptr) return absl::InvalidArgumentError("header.config is missing");
  KQ_ASSIGN_OR_RETURN(const CoreSettings settings, DecodeSettings(*config));
  KQ_ASSIGN_OR_RETURN(core_, MakeCore(settings));
  return absl::OkStatus();
}

absl::Status Replay::GiveEvent(const Json& line) {
  KQ_ASSIGN_OR_RETURN(const absl::Time now, TimeOf(line));
  KQ_ASSIGN_OR_RETURN(const Event event, DecodeEvent(*Find(line, {"event"})));
  core_.core->Apply(event, now);
  ++events_;
  return absl::OkStatus();
}

absl::Status Replay::Cycle(const Json& line) {
  KQ_ASSIGN_OR_RETURN(const absl::Time now, TimeOf(line));
  const JsonObject* object = line.if_object();
  KQ_ASSIGN_OR_RETURN(const JsonArray* recorded, ArrayField(*object, "decisions", ""));
  if (recorded == nullptr) return absl::InvalidArgumentError("decisions is missing");
  std::vector<std::string> want, got;
  for (const Json& decision : *recorded) want.push_back(JsonText(decision));
  for (const Decision& decision : core_.core->RunCycle(now)) got.push_back(JsonText(EncodeDecision(decision)));
  for (size_t i = 0; i < std::max(want.size(), got.size()); ++i) {
    if (Either(want, i) == Either(got, i)) {
      ++decisions_;
      continue;
    }
    return absl::FailedPreconditionError(
        absl::StrCat("decision ", i + 1, " of cycle ", JsonText(*Find(line, {"cycle"})),
                     " differs\n  recorded: ", Either(want, i), "\n  computed: ", Either(got, i)));
  }
  ++cycles_;
  // As in the process that wrote the log: a picture was taken after the cycle.
  if (core_.core->Changed()) core_.core->TakeSnapshot(now);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<std::string>>> LogFiles(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::vector<std::string>>{{path}};
  std::map<std::string, std::vector<std::string>> runs;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    if (!absl::StartsWith(name, "decisions-") || !absl::EndsWith(name, ".jsonl")) continue;
    runs[name.substr(0, name.rfind('-'))].push_back(entry.path().string());
  }
  if (error) return absl::NotFoundError(absl::StrCat(path, ": ", error.message()));
  if (runs.empty()) return absl::NotFoundError(absl::StrCat(path, ": no decision log in it"));
  std::vector<std::vector<std::string>> files;
  for (auto& [run, names] : runs) {
    std::sort(names.begin(), names.end());
    files.push_back(std::move(names));
  }
  return files;
}

absl::Status ReplayRun(const std::vector<std::string>& files, Replay* replay) {
  for (const std::string& file : files) {
    std::ifstream in(file);
    if (!in) return absl::NotFoundError(absl::StrCat(file, ": cannot be opened"));
    int64_t number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      // The process was killed while it wrote its last line.
      if (in.eof()) {
        if (file == files.back()) return absl::OkStatus();
        return absl::DataLossError(absl::StrCat(file, ":", number, ": the line is torn"));
      }
      const absl::Status read = replay->Line(line);
      if (!read.ok()) return WithContext(read, absl::StrCat(file, ":", number));
    }
  }
  return absl::OkStatus();
}

}  // namespace kq::scheduler
