#include "libs/common/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <sstream>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "libs/common/mutex.h"
#include "libs/common/version.h"

namespace kq {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

[[noreturn]] void Die(absl::string_view name, absl::string_view problem) {
  std::fprintf(stderr, "metric %s: %s\n", std::string(name).c_str(), std::string(problem).c_str());
  std::abort();
}

// What a registry counts about itself.
struct Tallies {
  std::atomic<uint64_t> dropped{0};   // series beyond the limit
  std::atomic<uint64_t> negative{0};  // observations below 0
};

template <typename Metric>
using Factory = std::function<Metric&(prometheus::Family<Metric>&, const prometheus::Labels&)>;

}  // namespace

// prometheus-cpp knows a series by the address of its metric; the table knows it
// by its label values, and bounds how many there are.
template <typename Metric>
class SeriesFamily<Metric>::Table {
 public:
  Table(prometheus::Family<Metric>* family, std::vector<MetricLabel> labels, Factory<Metric> make, Tallies* tallies)
      : family_(family), labels_(std::move(labels)), make_(std::move(make)), tallies_(tallies) {
    if (labels_.empty()) With({}, [](Metric&) {});
  }

  // Calls use(metric) under the lock, so that nobody removes the series meanwhile.
  template <typename Use>
  void With(LabelValues values, Use use) {
    std::vector<std::string> key = Key(values);
    MutexLock lock(&mu_);
    auto found = series_.find(key);
    if (found == series_.end()) {
      if (series_.size() >= MetricRegistry::kMaxSeries) {
        tallies_->dropped.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      found = series_.emplace(std::move(key), nullptr).first;
      prometheus::Labels named;
      for (size_t i = 0; i < labels_.size(); ++i) named.emplace(labels_[i].name, found->first[i]);
      found->second = &make_(*family_, named);
    }
    use(*found->second);
  }

  void Remove(LabelValues values) {
    const std::vector<std::string> key = Key(values);
    RemoveIf([&key](const std::vector<std::string>& other) { return other == key; });
  }

  void RemoveWhere(absl::string_view label, absl::string_view value) {
    const auto at = std::find_if(labels_.begin(), labels_.end(), [&](const MetricLabel& l) { return l.name == label; });
    if (at == labels_.end()) Die(family_->GetName(), absl::StrCat("has no label ", label));
    const size_t index = static_cast<size_t>(at - labels_.begin());
    RemoveIf([&](const std::vector<std::string>& key) { return key[index] == value; });
  }

  size_t Size() const {
    MutexLock lock(&mu_);
    return series_.size();
  }

  void CountNegative(int64_t times) {
    tallies_->negative.fetch_add(static_cast<uint64_t>(times), std::memory_order_relaxed);
  }

 private:
  std::vector<std::string> Key(LabelValues values) const {
    if (values.size() != labels_.size()) {
      Die(family_->GetName(), absl::StrCat("has ", labels_.size(), " labels, was given ", values.size(), " values"));
    }
    std::vector<std::string> key(values.begin(), values.end());
    for (size_t i = 0; i < key.size(); ++i) {
      const std::vector<std::string>& allowed = labels_[i].values;
      if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), key[i]) == allowed.end()) key[i] = "other";
    }
    return key;
  }

  template <typename Predicate>
  void RemoveIf(Predicate predicate) {
    MutexLock lock(&mu_);
    for (auto at = series_.begin(); at != series_.end();) {
      if (predicate(at->first)) {
        family_->Remove(at->second);
        at = series_.erase(at);
      } else {
        ++at;
      }
    }
  }

  prometheus::Family<Metric>* const family_;
  const std::vector<MetricLabel> labels_;
  const Factory<Metric> make_;
  Tallies* const tallies_;
  mutable Mutex mu_;
  std::map<std::vector<std::string>, Metric*> series_ ABSL_GUARDED_BY(mu_);
};

template <typename Metric>
SeriesFamily<Metric>::SeriesFamily(std::unique_ptr<Table> table) : table_(std::move(table)) {}
template <typename Metric>
SeriesFamily<Metric>::~SeriesFamily() = default;
template <typename Metric>
void SeriesFamily<Metric>::Remove(LabelValues values) {
  table_->Remove(values);
}
template <typename Metric>
void SeriesFamily<Metric>::RemoveWhere(absl::string_view label, absl::string_view value) {
  table_->RemoveWhere(label, value);
}
template <typename Metric>
size_t SeriesFamily<Metric>::Size() const {
  return table_->Size();
}

template class SeriesFamily<prometheus::Counter>;
template class SeriesFamily<prometheus::Gauge>;
template class SeriesFamily<prometheus::Histogram>;

void CounterFamily::Increment(LabelValues values, double amount) {
  table_->With(values, [amount](prometheus::Counter& counter) { counter.Increment(amount); });
}
void GaugeFamily::Set(LabelValues values, double value) {
  table_->With(values, [value](prometheus::Gauge& gauge) { gauge.Set(value); });
}
void GaugeFamily::Add(LabelValues values, double amount) {
  table_->With(values, [amount](prometheus::Gauge& gauge) { gauge.Increment(amount); });
}
void HistogramFamily::Observe(LabelValues values, double value) { ObserveTimes(values, value, 1); }
void HistogramFamily::ObserveTimes(LabelValues values, double value, int64_t times) {
  if (value < 0) table_->CountNegative(times);
  table_->With(values, [value, times](prometheus::Histogram& histogram) {
    for (int64_t i = 0; i < times; ++i) histogram.Observe(std::max(value, 0.0));
  });
}

namespace {

// Gathers what the collectors say, by metric name.
class GatheringSink : public MetricSink {
 public:
  explicit GatheringSink(std::map<std::string, prometheus::MetricFamily>* families) : families_(families) {}

  void Gauge(absl::string_view name, absl::string_view help, const Labels& labels, double value) override {
    ClientMetric metric;
    metric.gauge.value = value;
    Take(name, help, MetricType::Gauge, Labelled(std::move(metric), labels));
  }
  void Counter(absl::string_view name, absl::string_view help, const Labels& labels, double value) override {
    ClientMetric metric;
    metric.counter.value = value;
    Take(name, help, MetricType::Counter, Labelled(std::move(metric), labels));
  }

  uint64_t dropped() const { return dropped_; }

 private:
  static ClientMetric Labelled(ClientMetric metric, const Labels& labels) {
    for (const auto& [name, value] : labels) metric.label.push_back({name, value});
    std::sort(metric.label.begin(), metric.label.end());
    return metric;
  }

  void Take(absl::string_view name, absl::string_view help, MetricType type, ClientMetric metric) {
    prometheus::MetricFamily& family = (*families_)[std::string(name)];
    if (family.metric.size() >= MetricRegistry::kMaxSeries) {
      ++dropped_;
      return;
    }
    if (family.metric.empty()) {
      family.name = std::string(name);
      family.help = std::string(help);
      family.type = type;
    } else if (family.type != type) {
      Die(name, "is collected with two types");
    }
    family.metric.push_back(std::move(metric));
  }

  std::map<std::string, prometheus::MetricFamily>* const families_;
  uint64_t dropped_ = 0;
};

}  // namespace

struct MetricRegistry::State {
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Throw};
  mutable Tallies tallies;
  mutable Mutex mu;
  std::vector<std::unique_ptr<CounterFamily>> counters ABSL_GUARDED_BY(mu);
  std::vector<std::unique_ptr<GaugeFamily>> gauges ABSL_GUARDED_BY(mu);
  std::vector<std::unique_ptr<HistogramFamily>> histograms ABSL_GUARDED_BY(mu);
  std::vector<std::function<void(MetricSink&)>> collectors ABSL_GUARDED_BY(mu);
  std::map<std::string, std::function<bool()>> shown ABSL_GUARDED_BY(mu);  // by family

  template <typename Metric, typename Builder>
  prometheus::Family<Metric>* Register(Builder builder, absl::string_view name, absl::string_view help) {
    try {
      return &builder.Name(std::string(name)).Help(std::string(help)).Register(registry);
    } catch (const std::exception& e) {
      Die(name, e.what());
    }
  }
};

MetricRegistry::MetricRegistry() : state_(std::make_unique<State>()) {}
MetricRegistry::~MetricRegistry() = default;

CounterFamily& MetricRegistry::AddCounter(absl::string_view name, absl::string_view help,
                                          std::vector<MetricLabel> labels) {
  auto* family = state_->Register<prometheus::Counter>(prometheus::BuildCounter(), name, help);
  const auto make = [](auto& in, const prometheus::Labels& named) -> prometheus::Counter& { return in.Add(named); };
  auto table = std::make_unique<CounterFamily::Table>(family, std::move(labels), make, &state_->tallies);
  MutexLock lock(&state_->mu);
  state_->counters.push_back(std::unique_ptr<CounterFamily>(new CounterFamily(std::move(table))));
  return *state_->counters.back();
}

GaugeFamily& MetricRegistry::AddGauge(absl::string_view name, absl::string_view help, std::vector<MetricLabel> labels) {
  auto* family = state_->Register<prometheus::Gauge>(prometheus::BuildGauge(), name, help);
  const auto make = [](auto& in, const prometheus::Labels& named) -> prometheus::Gauge& { return in.Add(named); };
  auto table = std::make_unique<GaugeFamily::Table>(family, std::move(labels), make, &state_->tallies);
  MutexLock lock(&state_->mu);
  state_->gauges.push_back(std::unique_ptr<GaugeFamily>(new GaugeFamily(std::move(table))));
  return *state_->gauges.back();
}

HistogramFamily& MetricRegistry::AddHistogram(absl::string_view name, absl::string_view help,
                                              std::vector<double> bounds, std::vector<MetricLabel> labels) {
  if (!std::is_sorted(bounds.begin(), bounds.end())) Die(name, "has bounds that do not ascend");
  auto* family = state_->Register<prometheus::Histogram>(prometheus::BuildHistogram(), name, help);
  const auto make = [bounds = std::move(bounds)](auto& in, const prometheus::Labels& named) -> prometheus::Histogram& {
    return in.Add(named, bounds);
  };
  auto table = std::make_unique<HistogramFamily::Table>(family, std::move(labels), make, &state_->tallies);
  MutexLock lock(&state_->mu);
  state_->histograms.push_back(std::unique_ptr<HistogramFamily>(new HistogramFamily(std::move(table))));
  return *state_->histograms.back();
}

void MetricRegistry::AddCollector(std::function<void(MetricSink&)> collect) {
  MutexLock lock(&state_->mu);
  state_->collectors.push_back(std::move(collect));
}

void MetricRegistry::ShowWhile(absl::string_view name, std::function<bool()> shown) {
  MutexLock lock(&state_->mu);
  state_->shown[std::string(name)] = std::move(shown);
}

void MetricRegistry::AddBuildInfo(absl::string_view prefix, absl::string_view component) {
  AddGauge(absl::StrCat(prefix, "_build_info"), "1, with the version of the program in the labels.",
           {"component", "version", "git_commit"})
      .Set({component, kVersion, GitCommit()}, 1);
}

std::string MetricRegistry::Text() const {
  std::vector<std::function<void(MetricSink&)>> collectors;
  std::map<std::string, std::function<bool()>> shown;
  {
    MutexLock lock(&state_->mu);
    collectors = state_->collectors;
    shown = state_->shown;
  }
  std::map<std::string, prometheus::MetricFamily> collected;
  GatheringSink sink(&collected);
  for (const auto& collect : collectors) collect(sink);
  Tallies& tallies = state_->tallies;
  tallies.dropped.fetch_add(sink.dropped(), std::memory_order_relaxed);
  sink.Counter("metric_series_dropped_total", "Series not shown because a metric had too many.", {},
               static_cast<double>(tallies.dropped.load(std::memory_order_relaxed)));
  sink.Counter("metric_negative_values_total", "Observed times below 0, which count as 0: clocks differ or jumped.", {},
               static_cast<double>(tallies.negative.load(std::memory_order_relaxed)));

  std::vector<prometheus::MetricFamily> families = state_->registry.Collect();
  for (const auto& family : families) {
    if (collected.contains(family.name)) Die(family.name, "is both a family and collected");
  }
  std::erase_if(families, [&shown](const auto& family) {
    const auto at = shown.find(family.name);
    return at != shown.end() && !at->second();
  });
  for (auto& [name, family] : collected) families.push_back(std::move(family));
  std::sort(families.begin(), families.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (auto& family : families) {
    std::sort(family.metric.begin(), family.metric.end(),
              [](const ClientMetric& a, const ClientMetric& b) { return a.label < b.label; });
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

std::vector<double> ExponentialBounds(double start, double factor, int count) {
  std::vector<double> bounds;
  for (double bound = start; static_cast<int>(bounds.size()) < count; bound *= factor) bounds.push_back(bound);
  return bounds;
}

}  // namespace kq
