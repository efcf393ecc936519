#ifndef LIBS_COMMON_METRICS_H_
#define LIBS_COMMON_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

// Metrics in Prometheus' text form, over prometheus-cpp.
//
//   MetricRegistry metrics;
//   CounterFamily& attempts = metrics.AddCounter("job_schedule_attempts", "Attempts, by result.",
//                                                {"queue", {"result", {"success", "failure"}}});
//   attempts.Increment({queue, "success"});
//   attempts.RemoveWhere("queue", queue);  // the queue is gone, and so are its series
//
// What is a picture of a state is not counted up and down but computed when it
// is asked for:
//
//   metrics.AddCollector([&](MetricSink& sink) {
//     const std::shared_ptr<const Snapshot> snapshot = publisher.Latest();
//     for (...) sink.Gauge("queueunits_in_active_queue", "Units ...", {{"queue", name}}, ready);
//   });
//
// Label values come from closed sets or from objects that exist, never from free
// text; each family holds at most MetricRegistry::kMaxSeries series, and what is
// beyond is counted in metric_series_dropped_total. A bad or repeated metric name
// is a mistake in the program and aborts. Everything here is thread-safe.
namespace kq {

// A label's name and, if the set is closed, the values it may have; any other
// value is shown as "other".
struct MetricLabel {
  MetricLabel(const char* label) : name(label) {}  // NOLINT: implicit by design
  MetricLabel(const char* label, std::vector<std::string> allowed) : name(label), values(std::move(allowed)) {}

  std::string name;
  std::vector<std::string> values;  // empty: open
};

// The values of a family's labels, in the order in which the labels were given.
using LabelValues = absl::Span<const absl::string_view>;

// The series of one metric, one for each set of label values. A family without
// labels has its one series from the start, others when they are first used.
// Lives as long as its registry.
template <typename Metric>
class SeriesFamily {
 public:
  ~SeriesFamily();
  SeriesFamily(const SeriesFamily&) = delete;
  SeriesFamily& operator=(const SeriesFamily&) = delete;

  void Remove(LabelValues values);
  // Removes every series whose label `label` has the value `value`.
  void RemoveWhere(absl::string_view label, absl::string_view value);
  size_t Size() const;

 protected:
  friend class MetricRegistry;
  class Table;
  explicit SeriesFamily(std::unique_ptr<Table> table);
  const std::unique_ptr<Table> table_;
};

class CounterFamily : public SeriesFamily<prometheus::Counter> {
 public:
  // Counters only grow: a negative `amount` is ignored.
  void Increment(LabelValues values = {}, double amount = 1);

 private:
  friend class MetricRegistry;
  using SeriesFamily::SeriesFamily;
};

class GaugeFamily : public SeriesFamily<prometheus::Gauge> {
 public:
  void Set(LabelValues values, double value);
  void Set(double value) { Set({}, value); }
  void Add(LabelValues values, double amount);

 private:
  friend class MetricRegistry;
  using SeriesFamily::SeriesFamily;
};

class HistogramFamily : public SeriesFamily<prometheus::Histogram> {
 public:
  // A value below 0, which only clocks that differ or jumped can give, counts as 0
  // and is counted in metric_negative_values_total.
  void Observe(LabelValues values, double value);
  void Observe(double value) { Observe({}, value); }
  // The same value `times` times.
  void ObserveTimes(LabelValues values, double value, int64_t times);

 private:
  friend class MetricRegistry;
  using SeriesFamily::SeriesFamily;
};

// Takes what a collector computes. Valid during the call only.
class MetricSink {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  virtual ~MetricSink() = default;
  virtual void Gauge(absl::string_view name, absl::string_view help, const Labels& labels, double value) = 0;
  virtual void Counter(absl::string_view name, absl::string_view help, const Labels& labels, double value) = 0;
};

class MetricRegistry {
 public:
  static constexpr size_t kMaxSeries = 20'000;
  // Of the text, for the HTTP answer.
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

  // Starts with metric_series_dropped_total and metric_negative_values_total alone.
  MetricRegistry();
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  CounterFamily& AddCounter(absl::string_view name, absl::string_view help, std::vector<MetricLabel> labels = {});
  GaugeFamily& AddGauge(absl::string_view name, absl::string_view help, std::vector<MetricLabel> labels = {});
  // `bounds` are the upper bounds of the buckets, ascending; +Inf is added.
  HistogramFamily& AddHistogram(absl::string_view name, absl::string_view help, std::vector<double> bounds,
                                std::vector<MetricLabel> labels = {});

  // `collect` runs in every call of Text, on the caller's thread, and must live
  // as long as the registry. Its names must not be those of families.
  void AddCollector(std::function<void(MetricSink&)> collect);

  // Leaves the family `name` out of the text while `shown` says false, without
  // forgetting what it counted. Called in every call of Text, on the caller's thread.
  void ShowWhile(absl::string_view name, std::function<bool()> shown);

  // <prefix>_build_info{component,version,git_commit} 1
  void AddBuildInfo(absl::string_view prefix, absl::string_view component);

  // Everything, sorted by name and labels.
  std::string Text() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// `count` bounds: start, start * factor, start * factor^2, ...
std::vector<double> ExponentialBounds(double start, double factor, int count);

}  // namespace kq

#endif  // LIBS_COMMON_METRICS_H_
