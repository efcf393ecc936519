#include "libs/common/log.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "libs/common/captured_stderr.h"
#include "libs/common/json.h"

namespace kq {
namespace {

const absl::Time kTime = absl::FromUnixMicros(1795987576123456);  // 2026-11-29T21:26:16.123456Z

LogEntry Entry(absl::string_view message) {
  return {.severity = LogSeverity::kInfo, .file = "x/a.cc", .line = 1, .now = kTime, .thread = 1, .message = message};
}

TEST_CASE("an entry has the form of klog", "[log]") {
  const LogEntry entry{.severity = LogSeverity::kInfo,
                       .file = "services/scheduler/cluster_watch.cc",
                       .line = 87,
                       .now = kTime,
                       .thread = 4711,
                       .message = "Watch ended"};
  CHECK(FormatLogLine(entry, {{"kind", "QueueUnit"}, {"reason", "410 Gone"}}) ==
        R"(I1129 21:26:16.123456    4711 cluster_watch.cc:87] "Watch ended" kind="QueueUnit" reason="410 Gone")");
  LogEntry other = Entry("x");
  other.severity = LogSeverity::kWarning;
  other.thread = 12345678;
  CHECK(FormatLogLine(other, {}) == R"(W1129 21:26:16.123456 12345678 a.cc:1] "x")");
  other.severity = LogSeverity::kError;
  CHECK(FormatLogLine(other, {}).substr(0, 5) == "E1129");
}

TEST_CASE("values are written by their type", "[log]") {
  const std::string name = "team-a";
  CHECK(FormatLogLine(Entry("x"), {{"text", name},
                                   {"count", 3},
                                   {"big", uint64_t{18446744073709551615u}},
                                   {"flag", true},
                                   {"took", absl::Milliseconds(1500)},
                                   {"err", absl::NotFoundError("no such quota")}}) ==
        R"(I1129 21:26:16.123456       1 a.cc:1] "x" text="team-a" count=3 big=18446744073709551615 flag=true )"
        R"(took="1.5s" err="NOT_FOUND: no such quota")");
}

TEST_CASE("an entry is one line whatever is in it", "[log]") {
  CHECK(FormatLogLine(Entry("two\nlines"), {{"v", "say \"hi\"\r\n\tback\\slash \x1b[31m"}}) ==
        R"(I1129 21:26:16.123456       1 a.cc:1] "two\nlines" v="say \"hi\"\r\n\tback\\slash \u001b[31m")");
}

TEST_CASE("an entry in JSON is an object with the same content", "[log]") {
  const std::string line = FormatJsonLogLine(Entry("Patch \"failed\""), {{"attempt", 3}, {"err", "a\nb"}});
  CHECK(line == R"({"ts":1795987576.123456,"severity":"info","caller":"a.cc:1","msg":"Patch \"failed\"","attempt":3,)"
                R"("err":"a\nb"})");
  CHECK(ParseJson(line).ok());
}

TEST_CASE("entries below the threshold are dropped", "[log]") {
  const std::string text = CapturedStderr([] {
    SetLogThreshold(LogSeverity::kError);
    KQ_LOG(Warning, "dropped");
    KQ_LOG(Error, "shown");
    SetLogThreshold(LogSeverity::kInfo);
  });
  CHECK_THAT(text, !Catch::Contains("dropped"));
  CHECK_THAT(text, Catch::Contains("] \"shown\"\n"));
}

TEST_CASE("entries above the verbosity are dropped", "[log]") {
  const std::string text = CapturedStderr([] {
    SetLogVerbosity(1);
    KQ_VLOG(1, "shown");
    KQ_VLOG(2, "dropped");
    KQ_LOG(Error, "also shown", {{"err", absl::AbortedError("x")}});
    SetLogVerbosity(0);
  });
  CHECK_THAT(text, Catch::Contains("log_test.cc:"));
  CHECK_THAT(text, Catch::Contains("] \"shown\"\n"));
  CHECK_THAT(text, !Catch::Contains("dropped"));
  CHECK_THAT(text, Catch::Contains("] \"also shown\" err=\"ABORTED: x\"\n"));
}

TEST_CASE("entries of many threads never share a line", "[log]") {
  const std::string text = CapturedStderr([] {
    SetLogFormat(LogFormat::kJson);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 100; ++i) KQ_LOG(Info, "entry", {{"thread", t}, {"i", i}});
      });
    }
    for (std::thread& thread : threads) thread.join();
    SetLogFormat(LogFormat::kText);
  });
  int lines = 0, bad = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    ++lines;
    if (!ParseJson(line).ok()) ++bad;
  }
  CHECK(lines == 400);
  CHECK(bad == 0);
}

}  // namespace
}  // namespace kq
