#include "services/scheduler/runtime/decision_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "libs/common/log.h"
#include "libs/common/mutex.h"
#include "libs/common/status_macros.h"
#include "services/scheduler/runtime/event_json.h"

namespace kq::scheduler {
namespace {

constexpr absl::string_view kPrefix = "decisions-";
constexpr absl::string_view kSuffix = ".jsonl";

absl::Status DiskError(absl::string_view what, const std::string& path) {
  return absl::UnavailableError(absl::StrCat("decision log: ", what, " ", path, ": ", std::strerror(errno)));
}

int64_t WeightOf(const Turn& turn) {
  return 1 + static_cast<int64_t>(turn.events->size()) +
         (turn.decisions == nullptr ? 0 : static_cast<int64_t>(turn.decisions->size()));
}

void AppendLine(const JsonObject& object, std::string* lines) { absl::StrAppend(lines, JsonText(object), "\n"); }

std::string LinesOf(const Turn& turn, int64_t cycle) {
  const int64_t now = absl::ToUnixNanos(turn.now);
  std::string lines;
  for (const Event& event : *turn.events) AppendLine({{"event", EncodeEvent(event)}, {"now", now}}, &lines);
  if (!turn.cycled) return lines;
  JsonArray decisions;
  if (turn.decisions != nullptr) {
    for (const Decision& decision : *turn.decisions) decisions.push_back(EncodeDecision(decision));
  }
  AppendLine({{"cycle", cycle}, {"now", now}, {"asked", turn.asked}, {"decisions", std::move(decisions)}}, &lines);
  return lines;
}

// The log's file that is being written. Used by one thread.
class LogFile {
 public:
  ~LogFile() { Close(); }

  absl::Status Open(const std::string& path) {
    Close();
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640);
    if (fd_ < 0) return DiskError("open", path);
    path_ = path;
    bytes_ = 0;
    return absl::OkStatus();
  }

  // All of `text` or, as far as the disk allows, nothing of it.
  absl::Status Append(absl::string_view text) {
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        absl::Status error = DiskError("write", path_);
        // Else the next file goes on; readers take the torn line for a gap.
        if (::ftruncate(fd_, bytes_) != 0) Close();
        return error;
      }
      done += static_cast<size_t>(n);
    }
    bytes_ += static_cast<int64_t>(text.size());
    return absl::OkStatus();
  }

  bool open() const { return fd_ >= 0; }
  int64_t bytes() const { return bytes_; }

 private:
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  int fd_ = -1;
  std::string path_;
  int64_t bytes_ = 0;
};

}  // namespace

struct DecisionLog::State {
  // A turn that waits, and how many turns before it found no room.
  struct Pending {
    Turn turn;
    int64_t missing = 0;
  };

  State(DecisionLogOptions options, const Clock* clock) : options(std::move(options)), clock(clock) {}

  absl::Status NextFile();
  void Prune() const;
  // `turn` may be null: then only the gap is written.
  void Write(const Turn* turn, int64_t missing);
  absl::Status WriteLines(absl::string_view lines);

  const DecisionLogOptions options;
  const Clock* const clock;
  std::string run;  // names this process among those that wrote into the folder

  // Of the writing thread alone.
  LogFile file;
  int next_file = 0;
  int64_t cycles = 0;
  int64_t unwritten = 0;  // turns that the disk did not take since the last one it took

  mutable Mutex mu;
  CondVar arrived;
  std::deque<Pending> waiting ABSL_GUARDED_BY(mu);
  int64_t missing ABSL_GUARDED_BY(mu) = 0;  // turns that found no room since the last one that did
  bool draining ABSL_GUARDED_BY(mu) = false;
  bool running ABSL_GUARDED_BY(mu) = false;
  Totals totals ABSL_GUARDED_BY(mu);
};

absl::Status DecisionLog::State::NextFile() {
  const std::string path =
      absl::StrCat(options.folder, "/", kPrefix, run, "-", absl::StrFormat("%06d", next_file), kSuffix);
  KQ_RETURN_IF_ERROR(file.Open(path));
  std::string header;
  AppendLine(
      {{"header",
        JsonObject{{"version", options.version}, {"run", run}, {"file", next_file}, {"config", options.config}}}},
      &header);
  ++next_file;
  KQ_RETURN_IF_ERROR(file.Append(header));
  {
    MutexLock lock(&mu);
    ++totals.files;
    totals.bytes += static_cast<int64_t>(header.size());
  }
  Prune();
  return absl::OkStatus();
}

void DecisionLog::State::Prune() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options.folder, error)) {
    std::string name = entry.path().filename().string();
    if (absl::StartsWith(name, kPrefix) && absl::EndsWith(name, kSuffix)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());  // as old as they sort
  const size_t keep = static_cast<size_t>(std::max(options.max_files, 1));
  for (size_t i = 0; i + keep < names.size(); ++i) {
    if (!std::filesystem::remove(options.folder + "/" + names[i], error)) {
      KQ_LOG(Warning, "Cannot delete an old decision log", {{"file", names[i]}, {"err", error.message()}});
    }
  }
}

absl::Status DecisionLog::State::WriteLines(absl::string_view lines) {
  if (!file.open() || file.bytes() >= options.max_file_bytes) KQ_RETURN_IF_ERROR(NextFile());
  return file.Append(lines);
}

void DecisionLog::State::Write(const Turn* turn, int64_t missing_before) {
  const int64_t gap = missing_before + unwritten;
  std::string lines;
  if (gap > 0) AppendLine({{"gap", JsonObject{{"turns", gap}}}}, &lines);
  if (turn != nullptr) lines += LinesOf(*turn, ++cycles);
  const absl::Status written = WriteLines(lines);
  if (!written.ok() && unwritten == 0) KQ_LOG(Error, "Decisions are not recorded", {{"err", written}});
  if (written.ok() && unwritten > 0) KQ_LOG(Info, "Decisions are recorded again", {{"missing_turns", gap}});

  MutexLock lock(&mu);
  if (written.ok()) {
    unwritten = 0;
    totals.bytes += static_cast<int64_t>(lines.size());
    if (turn != nullptr) ++totals.turns;
  } else {
    unwritten = gap + (turn != nullptr ? 1 : 0);
    ++totals.errors;
    if (turn != nullptr) ++totals.lost;
  }
}

absl::StatusOr<std::unique_ptr<DecisionLog>> DecisionLog::Open(DecisionLogOptions options, const Clock* clock) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("decision log: make folder ", options.folder, ": ", error.message()));
  }
  auto state = std::make_unique<State>(std::move(options), clock);
  state->run = absl::StrCat(absl::FormatTime("%Y%m%dT%H%M%E3SZ", clock->TimeNow(), absl::UTCTimeZone()), "-",
                            static_cast<int64_t>(::getpid()));
  KQ_RETURN_IF_ERROR(state->NextFile());
  return std::unique_ptr<DecisionLog>(new DecisionLog(std::move(state)));
}

DecisionLog::DecisionLog(std::unique_ptr<State> state) : state_(std::move(state)) {}

DecisionLog::~DecisionLog() { Drain(); }

void DecisionLog::Record(const Turn& turn) {
  const int64_t weight = WeightOf(turn);
  MutexLock lock(&state_->mu);
  if (state_->draining || state_->totals.waiting + weight > state_->options.buffer_limit) {
    ++state_->missing;
    ++state_->totals.lost;
    return;
  }
  state_->totals.waiting += weight;
  state_->waiting.push_back({turn, std::exchange(state_->missing, 0)});
  state_->arrived.SignalAll();
}

bool DecisionLog::Step(absl::Duration timeout) {
  State::Pending pending;
  {
    MutexLock lock(&state_->mu);
    if (state_->waiting.empty() && !state_->draining && timeout > absl::ZeroDuration()) {
      state_->arrived.WaitFor(&state_->mu, timeout);
    }
    if (state_->waiting.empty()) return false;
    pending = std::move(state_->waiting.front());
    state_->waiting.pop_front();
  }
  state_->Write(&pending.turn, pending.missing);
  MutexLock lock(&state_->mu);
  state_->totals.waiting -= WeightOf(pending.turn);
  return true;
}

void DecisionLog::Run() {
  {
    MutexLock lock(&state_->mu);
    state_->running = true;
  }
  while (true) {
    if (Step(absl::InfiniteDuration())) continue;
    MutexLock lock(&state_->mu);
    if (!state_->draining || !state_->waiting.empty()) continue;
    state_->running = false;
    state_->arrived.SignalAll();
    return;
  }
}

void DecisionLog::Drain() {
  {
    MutexLock lock(&state_->mu);
    state_->draining = true;
    state_->arrived.SignalAll();
    while (state_->running) state_->arrived.WaitFor(&state_->mu, absl::Seconds(1));
  }
  while (Step(absl::ZeroDuration())) {
  }
  int64_t missing;
  {
    MutexLock lock(&state_->mu);
    missing = std::exchange(state_->missing, 0);
  }
  if (missing > 0) state_->Write(nullptr, missing);
}

DecisionLog::Totals DecisionLog::Now() const {
  MutexLock lock(&state_->mu);
  return state_->totals;
}

}  // namespace kq::scheduler
