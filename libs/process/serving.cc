#include "libs/process/serving.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kq {
namespace {

void Collect(const std::string& listener, const HttpServerCounts& counts, MetricSink& sink) {
  const auto counter = [&](absl::string_view name, absl::string_view help, MetricSink::Labels labels, int64_t value) {
    labels.insert(labels.begin(), {"listener", listener});
    sink.Counter(name, help, labels, static_cast<double>(value));
  };
  sink.Gauge("koord_queue_http_connections", "Connections that are open now.", {{"listener", listener}},
             static_cast<double>(counts.connections));
  constexpr char kOverLimit[] = "koord_queue_http_connections_over_limit_total";
  constexpr char kOverLimitHelp[] =
      "Connections over the limit, by what they got: the place of a quiet one, a 503, or the end at once.";
  counter(kOverLimit, kOverLimitHelp, {{"answer", "place"}}, counts.connections_evicted);
  counter(kOverLimit, kOverLimitHelp, {{"answer", "503"}}, counts.connections_refused);
  counter(kOverLimit, kOverLimitHelp, {{"answer", "none"}}, counts.connections_dropped);
  counter("koord_queue_http_tls_handshakes_failed_total",
          "TLS handshakes that failed: a certificate that is not accepted, or too slow.", {}, counts.handshakes_failed);
  constexpr char kCutOff[] = "koord_queue_http_answers_cut_off_total";
  constexpr char kCutOffHelp[] = "Answers that did not reach their client, by why: it did not read, or it has gone.";
  counter(kCutOff, kCutOffHelp, {{"reason", "slow"}}, counts.answers_timed_out);
  counter(kCutOff, kCutOffHelp, {{"reason", "gone"}}, counts.answers_broken_off);
  std::map<int, int64_t> refused = counts.refused;
  for (const int code : {400, 408, 413, 431}) refused.try_emplace(code, 0);  // rates begin at zero
  for (const auto& [code, times] : refused) {
    counter("koord_queue_http_requests_refused_total",
            "Requests that broke a limit or the protocol, by HTTP code (408 slow, 413 body, 431 header).",
            {{"code", absl::StrCat(code)}}, times);
  }
}

}  // namespace

std::vector<Route> MetricsRoutes(const MetricRegistry* registry) {
  return {{"GET", "/metrics", [registry](const HttpRequest&, const HttpPeer&, const PathCaptures&) {
             HttpResponse response;
             response.headers.Add("Content-Type", MetricRegistry::kContentType);
             response.body = registry->Text();
             return response;
           }}};
}

std::vector<Route> HealthRoutes(const Health* health) {
  const auto answer = [health](const HttpRequest& request, const HttpPeer&, const PathCaptures&) {
    return health->Answer(request.target).value_or(TextResponse(404));
  };
  return {{"GET", "/healthz", answer}, {"GET", "/livez", answer}, {"GET", "/readyz", answer}};
}

void AddHttpServerMetrics(MetricRegistry* registry, std::string listener, const HttpServer* server) {
  registry->AddCollector(
      [listener = std::move(listener), server](MetricSink& sink) { Collect(listener, server->counts(), sink); });
}

}  // namespace kq
