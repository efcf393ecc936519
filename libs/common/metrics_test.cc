#include "libs/common/metrics.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/common/process_metrics.h"

namespace kq {
namespace {

// The lines of the text that begin with `prefix`.
std::vector<std::string> Lines(const MetricRegistry& metrics, absl::string_view prefix) {
  std::vector<std::string> out;
  for (const absl::string_view line : absl::StrSplit(metrics.Text(), '\n')) {
    if (absl::StartsWith(line, prefix)) out.emplace_back(line);
  }
  return out;
}

using Text = std::vector<std::string>;

TEST_CASE("counters count, by their labels", "[metrics]") {
  MetricRegistry metrics;
  CounterFamily& attempts = metrics.AddCounter("job_schedule_attempts", "Attempts.", {"queue", "result"});
  const std::string queue = "b";
  attempts.Increment({queue, "success"});
  attempts.Increment({queue, "success"}, 2);
  attempts.Increment({"a", "failure"});
  attempts.Increment({"a", "failure"}, -5);
  CHECK(Lines(metrics, "job_schedule_attempts") == Text{R"(job_schedule_attempts{queue="a",result="failure"} 1)",
                                                        R"(job_schedule_attempts{queue="b",result="success"} 3)"});
  CHECK(Lines(metrics, "# ").size() == 6);
  CHECK(Lines(metrics, "# TYPE job_schedule_attempts") == Text{"# TYPE job_schedule_attempts counter"});
  CHECK(Lines(metrics, "# HELP job_schedule_attempts") == Text{"# HELP job_schedule_attempts Attempts."});
}

TEST_CASE("a family without labels shows its series from the start", "[metrics]") {
  MetricRegistry metrics;
  metrics.AddCounter("a_total", "A.");
  GaugeFamily& gauge = metrics.AddGauge("b", "B.");
  metrics.AddHistogram("c", "C.", {1, 2});
  metrics.AddGauge("labelled", "L.", {"queue"});
  CHECK(Lines(metrics, "a_total") == Text{"a_total 0"});
  CHECK(Lines(metrics, "b") == Text{"b 0"});
  CHECK(Lines(metrics, "c_") ==
        Text{"c_count 0", "c_sum 0", "c_bucket{le=\"1\"} 0", "c_bucket{le=\"2\"} 0", "c_bucket{le=\"+Inf\"} 0"});
  CHECK(Lines(metrics, "labelled").empty());
  gauge.Set(2.5);
  gauge.Add({}, -1);
  CHECK(Lines(metrics, "b") == Text{"b 1.5"});
}

TEST_CASE("histograms sort values into their buckets; a negative one counts as 0 and is counted", "[metrics]") {
  MetricRegistry metrics;
  CHECK(Lines(metrics, "metric_negative_values_total") == Text{"metric_negative_values_total 0"});
  HistogramFamily& latency = metrics.AddHistogram("latency", "L.", ExponentialBounds(1, 2, 3), {"verb"});
  for (double value : {0.5, 1.0, 3.0, 100.0, -7.0}) latency.Observe({"get"}, value);
  CHECK(Lines(metrics, "latency") ==
        Text{R"(latency_count{verb="get"} 5)", R"(latency_sum{verb="get"} 104.5)",
             R"(latency_bucket{verb="get",le="1"} 3)", R"(latency_bucket{verb="get",le="2"} 3)",
             R"(latency_bucket{verb="get",le="4"} 4)", R"(latency_bucket{verb="get",le="+Inf"} 5)"});
  latency.ObserveTimes({"get"}, -0.5, 2);
  CHECK(Lines(metrics, "metric_negative_values_total") == Text{"metric_negative_values_total 3"});
}

TEST_CASE("a value may be observed many times at once", "[metrics]") {
  MetricRegistry metrics;
  metrics.AddHistogram("latency", "L.", {1}).ObserveTimes({}, 0.5, 3);
  CHECK(Lines(metrics, "latency") ==
        Text{"latency_count 3", "latency_sum 1.5", R"(latency_bucket{le="1"} 3)", R"(latency_bucket{le="+Inf"} 3)"});
}

TEST_CASE("series of what is gone are removed", "[metrics]") {
  MetricRegistry metrics;
  GaugeFamily& usage = metrics.AddGauge("usage", "U.", {"quota", "resource"});
  usage.Set({"a", "cpu"}, 1);
  usage.Set({"a", "memory"}, 2);
  usage.Set({"b", "cpu"}, 3);
  usage.Remove({"b", "gpu"});
  CHECK(usage.Size() == 3);
  usage.RemoveWhere("quota", "a");
  CHECK(Lines(metrics, "usage") == Text{R"(usage{quota="b",resource="cpu"} 3)"});
  usage.Remove({"b", "cpu"});
  CHECK(usage.Size() == 0);
  CHECK(Lines(metrics, "usage").empty());
  usage.Set({"a", "cpu"}, 9);
  CHECK(Lines(metrics, "usage") == Text{R"(usage{quota="a",resource="cpu"} 9)"});
}

TEST_CASE("a value outside a closed set is other", "[metrics]") {
  MetricRegistry metrics;
  CounterFamily& requests = metrics.AddCounter("requests_total", "R.", {{"code", {"200", "409"}}});
  for (const char* code : {"200", "409", "418", "999"}) requests.Increment({code});
  CHECK(Lines(metrics, "requests_total") == Text{R"(requests_total{code="200"} 1)", R"(requests_total{code="409"} 1)",
                                                 R"(requests_total{code="other"} 2)"});
}

TEST_CASE("label values of any content are escaped", "[metrics]") {
  MetricRegistry metrics;
  metrics.AddGauge("g", "two\nlines", {"name"}).Set({"a\"b\\c\nd"}, 1);
  CHECK(Lines(metrics, "g{") == Text{R"(g{name="a\"b\\c\nd"} 1)"});
}

TEST_CASE("a metric with too many series shows so many and counts the rest", "[metrics]") {
  MetricRegistry metrics;
  CounterFamily& counter = metrics.AddCounter("c_total", "C.", {"name"});
  const size_t more = MetricRegistry::kMaxSeries + 5;
  for (size_t i = 0; i < more; ++i) counter.Increment({absl::StrCat(i)});
  CHECK(counter.Size() == MetricRegistry::kMaxSeries);
  CHECK(Lines(metrics, "metric_series_dropped_total") == Text{"metric_series_dropped_total 5"});
  metrics.AddCollector([more](MetricSink& sink) {
    for (size_t i = 0; i < more; ++i) sink.Gauge("g", "G.", {{"name", absl::StrCat(i)}}, 1);
  });
  CHECK(Lines(metrics, "g{").size() == MetricRegistry::kMaxSeries);
}

TEST_CASE("collectors are asked at each scrape", "[metrics]") {
  MetricRegistry metrics;
  std::vector<std::pair<std::string, double>> queues = {{"b", 2}, {"a", 1}};
  metrics.AddCollector([&queues](MetricSink& sink) {
    for (const auto& [name, waiting] : queues) sink.Gauge("waiting", "W.", {{"queue", name}, {"kind", "x"}}, waiting);
    sink.Counter("scrapes_total", "S.", {}, 7);
  });
  CHECK(Lines(metrics, "waiting") == Text{R"(waiting{kind="x",queue="a"} 1)", R"(waiting{kind="x",queue="b"} 2)"});
  CHECK(Lines(metrics, "# TYPE scrapes_total") == Text{"# TYPE scrapes_total counter"});
  queues.clear();
  CHECK(Lines(metrics, "waiting").empty());
  CHECK(Lines(metrics, "# HELP waiting").empty());
}

TEST_CASE("a family may be hidden for a time, and goes on counting", "[metrics]") {
  MetricRegistry metrics;
  CounterFamily& attempts = metrics.AddCounter("attempts_total", "A.", {"queue"});
  bool shown = false;
  metrics.ShowWhile("attempts_total", [&shown] { return shown; });
  attempts.Increment({"a"});
  CHECK(metrics.Text().find("attempts") == std::string::npos);
  shown = true;
  CHECK(Lines(metrics, "attempts_total") == Text{R"(attempts_total{queue="a"} 1)"});
}

TEST_CASE("the text is sorted by name", "[metrics]") {
  MetricRegistry metrics;
  metrics.AddGauge("zz", "Z.");
  metrics.AddCounter("aa_total", "A.");
  metrics.AddCollector([](MetricSink& sink) { sink.Gauge("mm", "M.", {}, 1); });
  Text names;
  for (const std::string& line : Lines(metrics, "# TYPE ")) names.push_back(line);
  CHECK(names == Text{"# TYPE aa_total counter", "# TYPE metric_negative_values_total counter",
                      "# TYPE metric_series_dropped_total counter", "# TYPE mm gauge", "# TYPE zz gauge"});
}

TEST_CASE("build_info tells the version", "[metrics]") {
  MetricRegistry metrics;
  metrics.AddBuildInfo("koord_queue", "controllers");
  const Text lines = Lines(metrics, "koord_queue_build_info");
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Catch::Contains("component=\"controllers\"") && Catch::Contains("version=\"0.1.0\"") &&
                           Catch::EndsWith("} 1"));
}

TEST_CASE("threads may count, remove and scrape at once", "[metrics]") {
  MetricRegistry metrics;
  CounterFamily& counter = metrics.AddCounter("c_total", "C.", {"name"});
  GaugeFamily& gauge = metrics.AddGauge("g", "G.", {"name"});
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&counter, &gauge, t] {
      for (int i = 0; i < 500; ++i) {
        counter.Increment({"shared"});
        gauge.Set({absl::StrCat(t)}, i);
        if (i % 10 == 0) gauge.RemoveWhere("name", absl::StrCat(t));
      }
    });
  }
  for (int i = 0; i < 50; ++i) CHECK_FALSE(metrics.Text().empty());
  for (std::thread& thread : threads) thread.join();
  CHECK(Lines(metrics, "c_total") == Text{R"(c_total{name="shared"} 1500)"});
}

TEST_CASE("the process tells its CPU time, memory, descriptors and start", "[metrics]") {
  MetricRegistry metrics;
  AddProcessMetrics(&metrics);
  const auto value = [&metrics](absl::string_view name) {
    const Text lines = Lines(metrics, absl::StrCat(name, " "));
    double number = -1;
    if (lines.size() == 1) CHECK(absl::SimpleAtod(lines[0].substr(name.size() + 1), &number));
    return number;
  };
  CHECK(value("process_cpu_seconds_total") >= 0);
  CHECK(value("process_resident_memory_bytes") > 1e6);
  CHECK(value("process_virtual_memory_bytes") > value("process_resident_memory_bytes"));
  CHECK(value("process_open_fds") >= 3);
  CHECK(value("process_max_fds") > value("process_open_fds"));
  CHECK(value("process_start_time_seconds") > 1.5e9);
}

TEST_CASE("/proc/self/stat is read whatever the program is called", "[metrics]") {
  const std::string stat =
      "42 (a) b (c) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 12345 1000000 300 18446744073709551615 1\n";
  const std::optional<ProcStat> parsed = ParseProcStat(stat);
  REQUIRE(parsed.has_value());
  CHECK(parsed->cpu_ticks == 300);
  CHECK(parsed->start_ticks == 12345);
  CHECK(parsed->virtual_bytes == 1000000);
  CHECK(parsed->resident_pages == 300);
  CHECK_FALSE(ParseProcStat("").has_value());
  CHECK_FALSE(ParseProcStat("42 (a) S 1 2 3").has_value());
  CHECK_FALSE(ParseProcStat("42 (a) S 1 42 42 0 -1 0 0 0 0 0 x 50 0 0 20 0 1 0 1 1 1").has_value());
}

}  // namespace
}  // namespace kq
