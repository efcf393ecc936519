#include "e2e/support/test_cluster.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "libs/common/clock.h"
#include "libs/kube/http_kube_api.h"
#include "libs/kube/kubeconfig.h"

namespace kq::e2e {

const KubeResource kUnits = {"scheduling.x-k8s.io", "v1alpha1", "queueunits"};
const KubeResource kQueues = {"scheduling.x-k8s.io", "v1alpha1", "queues"};
const KubeResource kQuotas = {"scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas"};
const KubeResource kJobs = {"batch", "v1", "jobs"};
const KubeResource kPods = {"", "v1", "pods"};
const KubeResource kEvents = {"", "v1", "events"};
const KubeResource kLeases = {"coordination.k8s.io", "v1", "leases"};
const KubeResource kNamespaces = {"", "v1", "namespaces"};

namespace {

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

template <typename T>
T OrFail(absl::StatusOr<T> value, const std::string& what) {
  if (!value.ok()) Fail(absl::StrCat(what, ": ", value.status().ToString()));
  return *std::move(value);
}

}  // namespace

std::string Run(const std::string& command) {
  FILE* pipe = popen(absl::StrCat(command, " 2>&1").c_str(), "r");
  if (pipe == nullptr) Fail(absl::StrCat(command, ": cannot be started"));
  std::string output;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, n);
  if (pclose(pipe) != 0) Fail(absl::StrCat(command, ":\n", output));
  return output;
}

bool Await(absl::Duration limit, const std::function<bool()>& done) {
  const Clock& clock = Clock::Real();
  const absl::Time give_up = clock.TimeNow() + limit;
  while (!done()) {
    if (clock.TimeNow() >= give_up) return false;
    clock.SleepFor(absl::Milliseconds(50));
  }
  return true;
}

int FreePort() {
  // Below the range from which the system takes ports for outgoing connections, of which a cluster makes many: such a
  // one could take the port before the process under test does.
  constexpr int kFirst = 10000, kCount = 8000, kAttempts = 200;
  static std::minstd_rand random(std::random_device{}());
  static std::set<int> given;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int port = kFirst + static_cast<int>(random() % kCount);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    const int probe = socket(AF_INET, SOCK_STREAM, 0);
    const bool free = probe >= 0 && bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    if (probe >= 0) close(probe);
    if (free && given.insert(port).second) return port;
  }
  Fail("no free port");
}

std::string DataFile(const std::string& path) { return path; }  // tests run in their runfiles

std::string LogFile(const std::string& name) {
  const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  if (folder == nullptr) folder = std::getenv("TEST_TMPDIR");
  return absl::StrCat(folder == nullptr ? "/tmp" : folder, "/", name);
}

std::string FileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

int CountOf(const std::string& text, const std::string& phrase) {
  int count = 0;
  for (size_t at = text.find(phrase); at != std::string::npos; at = text.find(phrase, at + phrase.size())) ++count;
  return count;
}

int FromEnvironment(const char* name, int fallback) {
  const char* text = std::getenv(name);
  int value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : fallback;
}

std::string EnvironmentKubeconfig() {
  const char* path = std::getenv("KUBECONFIG");
  if (path == nullptr) Fail("KUBECONFIG must name the kubeconfig of a test cluster");
  return path;
}

TestCluster::TestCluster(const std::string& kubeconfig, Definitions definitions) : kubeconfig_(kubeconfig) {
  HttpKubeApiOptions options;
  options.user_agent = "koord-queue-e2e";
  api_ = OrFail(NewHttpKubeApi(OrFail(LoadKubeconfig(kubeconfig), kubeconfig), options), "connect");
  if (definitions == Definitions::kInstall) InstallDefinitions();
}

void TestCluster::InstallDefinitions() {
  Kubectl("apply -f deploy/crds -f deploy/crds/optional");
  Kubectl(
      "wait --timeout=60s --for=condition=Established crd/queueunits.scheduling.x-k8s.io "
      "crd/queues.scheduling.x-k8s.io crd/elasticquotas.scheduling.sigs.k8s.io");
  const absl::StatusOr<Json> made = api_->Create(kNamespaces, "", {{"metadata", {{"name", "koord-queue"}}}});
  if (!made.ok() && !absl::IsAlreadyExists(made.status())) Fail(made.status().ToString());
}

std::string TestCluster::Kubectl(const std::string& arguments) const {
  return Run(absl::StrCat("kubectl --kubeconfig=", kubeconfig_, " ", arguments));
}

TestCluster::~TestCluster() {
  for (const std::string& ns : namespaces_) {
    // What is left of it is the cluster's to clean up.
    api_->Delete({.resource = kNamespaces, .key = {"", ns}}).IgnoreError();
  }
}

std::string TestCluster::MakeNamespace(const std::string& prefix) {
  const Json made =
      OrFail(api_->Create(kNamespaces, "", {{"metadata", {{"generateName", absl::StrCat(prefix, "-")}}}}), "namespace");
  std::string name = KeyOf(made).name;
  namespaces_.push_back(name);
  const bool ready = Await(absl::Seconds(60), [&] {
    return api_->Get({"", "v1", "serviceaccounts"}, {name, "default"}).ok();
  });
  if (!ready) Fail(absl::StrCat("namespace ", name, " gets no service account"));
  return name;
}

std::vector<Json> TestCluster::ListAll(const KubeResource& resource, const std::string& ns) {
  std::vector<Json> all;
  ListRequest request{.resource = resource, .ns = ns};
  do {
    ListPage page = OrFail(api_->List(request), absl::StrCat("list ", resource.ToString()));
    for (Json& item : page.items) all.push_back(std::move(item));
    request.continue_token = page.continue_token;
  } while (!request.continue_token.empty());
  return all;
}

Json TestCluster::Create(const KubeResource& resource, const std::string& ns, const Json& object) {
  return OrFail(api_->Create(resource, ns, object), absl::StrCat("create ", resource.ToString()));
}

void TestCluster::DeleteAll(const KubeResource& resource, const std::string& ns) {
  for (const Json& object : ListAll(resource, ns)) {
    const absl::Status status = api_->Delete({.resource = resource, .key = KeyOf(object)});
    if (!status.ok() && !absl::IsNotFound(status)) Fail(status.ToString());
  }
}

void TestCluster::DeleteQuotas(const std::string& ns, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const auto& [resource, where] : {std::pair(kQuotas, ns), std::pair(kQueues, std::string("koord-queue"))}) {
      const absl::Status status = api_->Delete({.resource = resource, .key = {where, name}});
      if (!status.ok() && !absl::IsNotFound(status)) Fail(status.ToString());
    }
  }
}

}  // namespace kq::e2e
