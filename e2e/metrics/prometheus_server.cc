#include "e2e/metrics/prometheus_server.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "e2e/support/test_cluster.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(20);
constexpr absl::Duration kStartPatience = absl::Minutes(1);
constexpr char kShipped[] = "deploy/prometheus";

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(absl::StrCat("prometheus: ", what)); }

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) Fail(absl::StrCat("cannot write ", path));
}

// The shipped configuration with other ports and a test's patience.
std::string Configuration(const std::vector<ScrapeTarget>& targets) {
  std::string text = FileText(absl::StrCat(kShipped, "/prometheus.yaml"));
  for (const ScrapeTarget& target : targets) {
    const std::string from = absl::StrCat("'", target.shipped, "'");
    if (CountOf(text, from) != 1) Fail(absl::StrCat("the configuration does not name ", target.shipped, " once"));
    const std::string to = absl::StrJoin(
        target.ports, ", ", [](std::string* out, int port) { absl::StrAppend(out, "'127.0.0.1:", port, "'"); });
    text = absl::StrReplaceAll(text, {{from, to}});
  }
  return absl::StrReplaceAll(text, {{"_interval: 15s", "_interval: 1s"}});
}

}  // namespace

PrometheusServer::PrometheusServer(const std::vector<ScrapeTarget>& targets) : port_(FreePort()) {
  std::string folder = (std::filesystem::temp_directory_path() / "prometheus-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) Fail(absl::StrCat("cannot make ", folder));
  folder_ = folder;
  WriteText(folder_ + "/prometheus.yaml", Configuration(targets));
  WriteText(folder_ + "/alerts.yaml", FileText(absl::StrCat(kShipped, "/alerts.yaml")));
  auto child = ChildProcess::Start({"/usr/bin/prometheus", absl::StrCat("--config.file=", folder_, "/prometheus.yaml"),
                                    absl::StrCat("--storage.tsdb.path=", folder_, "/data"),
                                    absl::StrCat("--web.listen-address=127.0.0.1:", port_), "--log.level=warn"},
                                   LogFile(absl::StrCat("prometheus-", getpid(), ".log")));
  if (!child.ok()) Fail(child.status().ToString());
  child_ = std::make_unique<ChildProcess>(*std::move(child));
  HttpClientOptions options;
  options.url = url();
  auto http = NewHttpClient(std::move(options));
  if (!http.ok()) Fail(http.status().ToString());
  http_ = *std::move(http);
  HttpRequest ready;
  ready.target = "/-/ready";
  const bool started = Await(kStartPatience, [&] {
    const absl::StatusOr<HttpResponse> answer = http_->Call(ready, kCallTimeout);
    return !child_->Running() || (answer.ok() && answer->code == 200);
  });
  if (!started || !child_->Running()) Fail("does not start; see its log");
}

PrometheusServer::~PrometheusServer() {
  child_ = nullptr;
  std::error_code ignored;  // it lies among the temporary files
  std::filesystem::remove_all(folder_, ignored);
}

std::string PrometheusServer::url() const { return absl::StrCat("http://127.0.0.1:", port_); }

Json PrometheusServer::Ask(const std::string& path) const {
  HttpRequest request;
  request.target = absl::StrCat("/api/v1/", path);
  const absl::StatusOr<HttpResponse> answer = http_->Call(request, kCallTimeout);
  if (!answer.ok()) Fail(absl::StrCat(path, ": ", answer.status().ToString()));
  const absl::StatusOr<Json> json = ParseJson(answer->body);
  if (answer->code != 200 || !json.ok()) Fail(absl::StrCat(path, ": ", answer->code, " ", answer->body));
  const Json* data = Find(*json, {"data"});
  if (data == nullptr) Fail(absl::StrCat(path, ": no data"));
  return *data;
}

std::vector<JsonObject> PrometheusServer::Series(const std::string& selector) const {
  std::vector<JsonObject> series;
  const Json found = Ask(absl::StrCat("series?match[]=", PercentEncode(selector)));
  for (const Json& one : found.as_array()) series.push_back(one.as_object());
  return series;
}

double PrometheusServer::Value(const std::string& query) const {
  const Json data = Ask(absl::StrCat("query?query=", PercentEncode(query)));
  const Json* result = Find(data, {"result"});
  if (result == nullptr || result->as_array().size() != 1) return std::nan("");
  const Json& pair = result->as_array()[0].as_object().at("value");
  double value = 0;
  const std::string text(pair.as_array()[1].as_string().c_str());
  return absl::SimpleAtod(text, &value) ? value : std::nan("");
}

}  // namespace kq::e2e
