#include "e2e/support/proxy.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "e2e/support/account_kubeconfig.h"
#include "libs/kube/kubeconfig.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(10);

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(absl::StrCat("fault proxy: ", what)); }

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) Fail(absl::StrCat("cannot write ", path));
}

}  // namespace

Proxy::Proxy(const TestCluster& cluster, const std::string& ns, const std::string& rules) {
  std::string folder = (std::filesystem::temp_directory_path() / "fault-proxy-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) Fail(absl::StrCat("cannot make ", folder));
  folder_ = folder;
  const std::string direct = folder_ + "/proxied";
  WriteAccountKubeconfig(cluster, {ns, "default"}, cluster.kubeconfig(), direct);
  WriteText(folder_ + "/rules.yaml", rules);
  kubeconfig_ = folder_ + "/through/proxied";
  auto child = ChildProcess::Start(
      {DataFile("e2e/fault_proxy/fault_proxy"), absl::StrCat("--kubeconfig=", direct),
       absl::StrCat("--folder=", folder_, "/through"), absl::StrCat("--rules=", folder_, "/rules.yaml")},
      LogFile(absl::StrCat("fault-proxy-", getpid(), ".log")));
  if (!child.ok()) Fail(child.status().ToString());
  child_ = std::make_unique<ChildProcess>(*std::move(child));
  if (!Await(absl::Seconds(30), [&] { return std::filesystem::exists(kubeconfig_) || !child_->Running(); }) ||
      !child_->Running()) {
    Fail("does not start; see its log");
  }
  const absl::StatusOr<KubeConnection> connection = LoadKubeconfig(kubeconfig_);
  if (!connection.ok()) Fail(connection.status().ToString());
  HttpClientOptions options;
  options.url = connection->server;
  options.ca_pem = connection->ca_pem;
  auto http = NewHttpClient(std::move(options));
  if (!http.ok()) Fail(http.status().ToString());
  http_ = *std::move(http);
}

Proxy::~Proxy() {
  child_ = nullptr;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Proxy::Call(const std::string& method, const std::string& path, const std::string& body) {
  HttpRequest request;
  request.method = method;
  request.target = path;
  request.body = body;
  const absl::StatusOr<HttpResponse> answer = http_->Call(request, kCallTimeout);
  if (!answer.ok()) Fail(absl::StrCat(path, ": ", answer.status().ToString()));
  if (answer->code != 200) Fail(absl::StrCat(path, ": ", answer->code, " ", answer->body));
  return answer->body;
}

void Proxy::SetRules(const std::string& rules) { Call("PUT", "/fault-proxy/rules", rules); }

Json Proxy::Stats() {
  absl::StatusOr<Json> stats = ParseJson(Call("GET", "/fault-proxy/stats", ""));
  if (!stats.ok()) Fail(stats.status().ToString());
  return *std::move(stats);
}

int64_t Proxy::Struck(const std::string& rule) {
  const Json stats = Stats();
  for (const Json& one : stats.at("rules").as_array()) {
    if (StringAt(one, {"name"}) == rule) return one.at("struck").to_number<int64_t>();
  }
  Fail(absl::StrCat("no rule \"", rule, "\""));
}

std::string Proxy::Idle() {
  std::string idle;
  const Json stats = Stats();
  for (const Json& one : stats.at("rules").as_array()) {
    if (one.at("struck").to_number<int64_t>() == 0) absl::StrAppend(&idle, StringAt(one, {"name"}), "\n");
  }
  return idle;
}

}  // namespace kq::e2e
