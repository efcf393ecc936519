#include "services/scheduler/runtime/decision_log.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "libs/common/simulated_clock.h"
#include "services/scheduler/runtime/testing/samples.h"

namespace kq::scheduler {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);

// A folder of its own for each test, gone at its end.
class Folder {
 public:
  Folder() {
    const char* base = std::getenv("TEST_TMPDIR");
    std::string pattern = std::string(base != nullptr ? base : "/tmp") + "/decisions.XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::vector<Json> Lines() const {
    std::vector<Json> lines;
    for (const std::string& name : Names()) {
      std::ifstream in(path_ + "/" + name);
      for (std::string line; std::getline(in, line);) {
        const absl::StatusOr<Json> value = ParseJson(line);
        REQUIRE(value.ok());
        lines.push_back(*value);
      }
    }
    return lines;
  }

 private:
  std::string path_;
};

DecisionLogOptions Options(const Folder& folder) {
  DecisionLogOptions options;
  options.folder = folder.path() + "/log";
  options.config = {{"oversell", 1}};
  options.version = "1.2";
  return options;
}

// The first key of a line: "header", "event", "cycle" or "gap".
std::string Kinds(const std::vector<Json>& lines) {
  std::string kinds;
  for (const Json& line : lines) {
    if (!kinds.empty()) kinds += " ";
    kinds += std::string(line.as_object().begin()->key());
  }
  return kinds;
}

Turn OneTurn(int events) {
  Turn turn;
  turn.now = kStart;
  std::vector<Event> list;
  for (int i = 0; i < events; ++i) list.push_back(UnitUpserted{SampleUnit(absl::StrCat("u", i))});
  turn.events = std::make_shared<const std::vector<Event>>(std::move(list));
  turn.cycled = true;
  turn.asked = 1;
  turn.decisions = std::make_shared<const std::vector<Decision>>(SampleDecisions());
  return turn;
}

TEST_CASE("a header, every event and every cycle are on disk, in order") {
  Folder folder;
  SimulatedClock clock(kStart);
  DecisionLogOptions options = Options(folder);
  options.folder = folder.path();
  auto log = DecisionLog::Open(options, &clock);
  REQUIRE(log.ok());
  (*log)->Record(OneTurn(2));
  (*log)->Record(OneTurn(0));
  CHECK((*log)->Step(absl::ZeroDuration()));
  CHECK((*log)->Step(absl::ZeroDuration()));
  CHECK_FALSE((*log)->Step(absl::ZeroDuration()));

  const std::vector<Json> lines = folder.Lines();
  REQUIRE(Kinds(lines) == "header event event cycle cycle");
  CHECK(StringAt(lines[0], {"header", "version"}) == "1.2");
  CHECK(Find(lines[0], {"header", "config", "oversell"}) != nullptr);
  CHECK(Find(lines[1], {"now"})->as_int64() == absl::ToUnixNanos(kStart));
  CHECK(StringAt(lines[2], {"event", "unit", "name"}) == "u1");
  CHECK(Find(lines[3], {"decisions"})->as_array().size() == SampleDecisions().size());
  CHECK((*log)->Now().turns == 2);
  CHECK((*log)->Now().waiting == 0);
}

TEST_CASE("a turn that found no room leaves a gap where it would have been") {
  Folder folder;
  SimulatedClock clock(kStart);
  DecisionLogOptions options = Options(folder);
  options.folder = folder.path();
  options.buffer_limit = 15;
  auto log = DecisionLog::Open(options, &clock);
  REQUIRE(log.ok());
  (*log)->Record(OneTurn(2));
  (*log)->Record(OneTurn(20));
  (*log)->Record(OneTurn(20));
  CHECK((*log)->Step(absl::ZeroDuration()));
  (*log)->Record(OneTurn(1));
  CHECK((*log)->Step(absl::ZeroDuration()));
  const std::vector<Json> lines = folder.Lines();
  REQUIRE(Kinds(lines) == "header event event cycle gap event cycle");
  CHECK(Find(lines[4], {"gap", "turns"})->as_int64() == 2);
  CHECK((*log)->Now().lost == 2);
}

TEST_CASE("turns that are missing at the end are told when the log is closed") {
  Folder folder;
  SimulatedClock clock(kStart);
  DecisionLogOptions options = Options(folder);
  options.folder = folder.path();
  options.buffer_limit = 3;
  {
    auto log = DecisionLog::Open(options, &clock);
    REQUIRE(log.ok());
    (*log)->Record(OneTurn(3));
  }
  CHECK(Kinds(folder.Lines()) == "header gap");
}

TEST_CASE("files are followed by new ones, and the oldest are deleted") {
  Folder folder;
  SimulatedClock clock(kStart);
  DecisionLogOptions options = Options(folder);
  options.folder = folder.path();
  options.max_file_bytes = 1;
  options.max_files = 3;
  auto log = DecisionLog::Open(options, &clock);
  REQUIRE(log.ok());
  for (int i = 0; i < 10; ++i) (*log)->Record(OneTurn(1));
  (*log)->Drain();
  CHECK(folder.Names().size() == 3);
  const std::vector<Json> lines = folder.Lines();
  CHECK(Kinds(lines) == "header event cycle header event cycle header event cycle");
  CHECK(Find(lines.back(), {"cycle"})->as_int64() == 10);
  CHECK((*log)->Now().lost == 0);
}

TEST_CASE("a folder that cannot be made is said") {
  Folder folder;
  std::ofstream(folder.path() + "/file") << "x";
  SimulatedClock clock(kStart);
  DecisionLogOptions options = Options(folder);
  options.folder = folder.path() + "/file/log";
  const auto log = DecisionLog::Open(options, &clock);
  REQUIRE_FALSE(log.ok());
  CHECK_THAT(std::string(log.status().message()), Catch::Contains("make folder"));
}

TEST_CASE("a disk that refuses costs turns, not decisions, and is told when it works again") {
  Folder folder;
  SimulatedClock clock(kStart);
  DecisionLogOptions options = Options(folder);
  options.max_file_bytes = 1;  // each turn opens a file
  auto log = DecisionLog::Open(options, &clock);
  REQUIRE(log.ok());
  std::filesystem::rename(options.folder, folder.path() + "/away");
  (*log)->Record(OneTurn(0));
  (*log)->Record(OneTurn(0));
  // The first turn still goes into the file that is open.
  CHECK((*log)->Step(absl::ZeroDuration()));
  CHECK((*log)->Step(absl::ZeroDuration()));
  const int64_t lost = (*log)->Now().lost;
  CHECK(lost > 0);
  std::filesystem::rename(folder.path() + "/away", options.folder);
  (*log)->Record(OneTurn(0));
  CHECK((*log)->Step(absl::ZeroDuration()));
  CHECK((*log)->Now().lost == lost);
  CHECK((*log)->Now().turns == 3 - lost);
}

TEST_CASE("a thread writes what others record, and Drain waits for all of it") {
  Folder folder;
  SimulatedClock clock(kStart);
  DecisionLogOptions options = Options(folder);
  options.folder = folder.path();
  auto log = DecisionLog::Open(options, &clock);
  REQUIRE(log.ok());
  std::thread writer([&log] { (*log)->Run(); });
  for (int i = 0; i < 200; ++i) (*log)->Record(OneTurn(1));
  (*log)->Drain();
  writer.join();
  CHECK((*log)->Now().turns == 200);
  CHECK(folder.Lines().size() == 401);
}

}  // namespace
}  // namespace kq::scheduler
