#include "services/scheduler/replay/replay.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "libs/common/simulated_clock.h"
#include "services/scheduler/runtime/decision_log.h"
#include "services/scheduler/runtime/event_mailbox.h"
#include "services/scheduler/runtime/scheduler_loop.h"
#include "services/scheduler/runtime/snapshot_publisher.h"
#include "services/scheduler/runtime/testing/small_world.h"

namespace kq::scheduler {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);

class NoWrites : public DecisionSink {
 public:
  void Submit(const Decision&) override { ++count; }
  int64_t count = 0;
};

// A loop that writes its decision log into a folder of its own.
struct Recorded {
  explicit Recorded(int64_t max_file_bytes = 1 << 20) {
    const char* base = std::getenv("TEST_TMPDIR");
    std::string pattern = std::string(base != nullptr ? base : "/tmp") + "/replay.XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    folder = pattern;
    DecisionLogOptions options;
    options.folder = folder;
    options.max_file_bytes = max_file_bytes;
    options.max_files = 1000;
    options.config = EncodeSettings(settings);
    auto opened = DecisionLog::Open(options, &clock);
    REQUIRE(opened.ok());
    log = *std::move(opened);
    auto made = MakeCore(settings);
    REQUIRE(made.ok());
    core = *std::move(made);
    loop = std::make_unique<SchedulerLoop>(
        SchedulerLoopOptions(),
        SchedulerLoopParts{core.core.get(), &mailbox, &publisher, &sink, &clock, nullptr, {log.get()}});
  }
  ~Recorded() { std::filesystem::remove_all(folder); }

  // Units come, are admitted or refused, some writes fail, some units finish.
  void Live() {
    Post(QuotaUpserted{QuotaValue("team-a", 1, 3000)});
    Post(QueueUpserted{QueueValue("team-a", 2)});
    for (const ListedKind kind : {ListedKind::kUnits, ListedKind::kQueues, ListedKind::kQuotas}) Post(Listed{kind});
    Post(LeadershipTaken{"1"});
    Turn();
    for (uint64_t i = 0; i < 6; ++i) {
      Post(UnitUpserted{UnitValue(absl::StrCat("u", i), 10 + i, 1000)});
      Turn();
    }
    Post(WriteFinished{{"default", "u0"}, "uid-u0", 10, absl::AbortedError("conflict")});
    QueueUnit admitted = UnitValue("u1", 20, 1000);
    admitted.phase = Phase::kDequeued;
    Post(WriteFinished{{"default", "u1"}, "uid-u1", 11, admitted});
    Turn();
    admitted.version = 21;
    admitted.phase = Phase::kSucceed;
    Post(UnitUpserted{admitted});
    Turn();
    for (int i = 0; i < 5; ++i) {
      clock.Advance(absl::Seconds(1));
      Turn();
    }
    log->Drain();
  }
  void Post(Event event) {
    const bool taken = mailbox.Post(std::move(event));
    REQUIRE(taken);
  }
  void Turn() {
    clock.Advance(absl::Milliseconds(7));
    loop->RunTurn(absl::ZeroDuration());
  }
  std::vector<std::string> Files() {
    const auto files = LogFiles(folder);
    REQUIRE(files.ok());
    REQUIRE(files->size() == 1);
    return files->front();
  }
  void Edit(const std::string& file, const std::function<std::string(const std::string&)>& edit) {
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    std::ofstream(file) << edit(text);
  }

  CoreSettings settings;
  SimulatedClock clock{kStart};
  std::string folder;
  EventMailbox mailbox{1000};
  SnapshotPublisher publisher;
  NoWrites sink;
  std::unique_ptr<DecisionLog> log;
  CoreWithPolicies core;
  std::unique_ptr<SchedulerLoop> loop;
};

TEST_CASE("a replay computes the same decisions again") {
  Recorded recorded;
  recorded.Live();
  Replay replay;
  CHECK(ReplayRun(recorded.Files(), &replay) == absl::OkStatus());
  CHECK(replay.events() == 15);
  CHECK(replay.decisions() == recorded.sink.count);
  CHECK(replay.decisions() > 5);
}

TEST_CASE("also across files") {
  Recorded recorded(1);
  recorded.Live();
  REQUIRE(recorded.Files().size() > 3);
  Replay replay;
  CHECK(ReplayRun(recorded.Files(), &replay) == absl::OkStatus());
  CHECK(replay.decisions() == recorded.sink.count);
}

TEST_CASE("the first decision that differs is told, with its place") {
  Recorded recorded;
  recorded.Live();
  const std::string file = recorded.Files().front();
  recorded.Edit(file, [](const std::string& text) {
    return absl::StrReplaceAll(text, {{R"("quota":"team-a","resource":"cpu","requested":1000)",
                                       R"("quota":"team-a","resource":"cpu","requested":1001)"}});
  });
  Replay replay;
  const absl::Status status = ReplayRun({file}, &replay);
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("differs") && Catch::Contains("recorded:") &&
                                                Catch::Contains("computed:") && Catch::StartsWith(file + ":"));
}

TEST_CASE("a decision that is missing or too many is told") {
  Recorded recorded;
  recorded.Live();
  const std::string file = recorded.Files().front();
  recorded.Edit(file, [](const std::string& text) {
    const size_t last = text.rfind("\"decisions\":[]");
    REQUIRE(last != std::string::npos);
    return std::string(text).replace(last, 14, "\"decisions\":[{\"type\":\"Dequeue\"}]");
  });
  Replay replay;
  const absl::Status status = ReplayRun({file}, &replay);
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("computed: nothing"));
}

TEST_CASE("a gap, a missing file and a torn line end the comparison, not as a difference") {
  Recorded recorded(1);
  recorded.Live();
  std::vector<std::string> files = recorded.Files();
  {
    Replay replay;
    CHECK(absl::IsDataLoss(ReplayRun({files[1], files[2]}, &replay)));
  }
  {
    Replay replay;
    CHECK(absl::IsDataLoss(ReplayRun({files[0], files[2]}, &replay)));
  }
  {
    Replay replay;
    recorded.Edit(files[1], [](const std::string& text) { return text.substr(0, text.size() - 5); });
    CHECK(absl::IsDataLoss(ReplayRun({files[0], files[1], files[2]}, &replay)));
    Replay last;
    CHECK(ReplayRun({files[0], files[1]}, &last).ok());
  }
  Replay replay;
  CHECK(replay.Line(R"({"header":{"file":0,"config":{}}})").ok());
  CHECK(absl::IsDataLoss(replay.Line(R"({"gap":{"turns":3}})")));
}

TEST_CASE("what is not a log is told") {
  Replay replay;
  CHECK(absl::IsDataLoss(replay.Line(R"({"cycle":1})")));
  CHECK(absl::IsInvalidArgument(replay.Line("no json")));
  CHECK(absl::IsInvalidArgument(replay.Line(R"({"header":{"file":0,"config":{"plugins":["None"]}}})")));
  Replay other;
  CHECK(other.Line(R"({"header":{"file":0,"config":{}}})").ok());
  CHECK(absl::IsInvalidArgument(other.Line(R"({"song":1})")));
  CHECK(absl::IsNotFound(ReplayRun({"/nowhere/at/all"}, &other)));
}

}  // namespace
}  // namespace kq::scheduler
