// The contract of libs/kube/testing/kube_api_contract.h, and what is particular
// to HTTP, on the real API server that KUBECONFIG names (a cluster admin's). Makes
// namespaces "kube-contract-..." and the CRD of the contract, and removes them.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"
#include "libs/http/testing/certificates.h"
#include "libs/kube/http_kube_api.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/kubeconfig.h"
#include "libs/kube/testing/kube_api_contract.h"

namespace kq {
namespace {

const KubeResource kNamespaces = {"", "v1", "namespaces"};
const KubeResource kConfigMaps = {"", "v1", "configmaps"};
const KubeResource kJobs = {"batch", "v1", "jobs"};
const KubeResource kCrds = {"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr absl::Duration kPause = absl::Milliseconds(50);

KubeConnection RealConnection() {
  const char* const path = std::getenv("KUBECONFIG");
  INFO("KUBECONFIG names the kubeconfig of a cluster to test on");
  REQUIRE(path != nullptr);
  const absl::StatusOr<KubeConnection> connection = LoadKubeconfig(path);
  INFO(connection.status().ToString());
  REQUIRE(connection.ok());
  return *connection;
}

std::unique_ptr<KubeApi> ApiOf(const KubeConnection& connection) {
  HttpKubeApiOptions options;
  options.user_agent = "kube-contract";
  auto api = NewHttpKubeApi(connection, options);
  INFO(api.status().ToString());
  REQUIRE(api.ok());
  return *std::move(api);
}

// Asks again until `done`; whether that came within a minute.
template <typename Done>
bool Await(Done done) {
  const absl::Time end = Clock::Real().TimeNow() + kPatience;
  while (!done()) {
    if (Clock::Real().TimeNow() > end) return false;
    Clock::Real().SleepFor(kPause);
  }
  return true;
}

// A namespace of one test on the real server, and the contract's CRD.
class RealWorld {
 public:
  RealWorld() : api_(ApiOf(RealConnection())) {
    const std::string random = absl::StrCat(getpid(), "-", absl::ToUnixMicros(Clock::Real().TimeNow()));
    ns_ = absl::StrCat("kube-contract-", random);
    const Json object = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns_}}}};
    const absl::Status made = api_->Create(kNamespaces, "", object).status();
    INFO(made.ToString());
    REQUIRE(made.ok());
  }
  ~RealWorld() {
    // In vain only if the server is gone, which the test has then said already.
    (void)api_->Delete({kNamespaces, {"", ns_}, "", 0, Propagation::kBackground});
  }

  void AwaitCrd() {
    const absl::Status made = api_->Create(kCrds, "", ContractCrd()).status();
    INFO(made.ToString());
    REQUIRE((made.ok() || absl::IsAlreadyExists(made)));
    REQUIRE(Await([this] { return api_->List({ContractResource(), ns_, "", "", 1, ""}).ok(); }));
  }
  void RemoveCrd() {
    CHECK(api_->Delete({kCrds, KeyOf(ContractCrd()), "", 0, Propagation::kBackground}).ok());
    CHECK(Await([this] { return absl::IsNotFound(api_->Get(kCrds, KeyOf(ContractCrd())).status()); }));
  }

  KubeApi& api() { return *api_; }
  const std::string& ns() const { return ns_; }

 private:
  const std::unique_ptr<KubeApi> api_;
  std::string ns_;
};

Json ConfigMap(const std::string& name, const std::string& text) {
  return {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}, {"data", {{"text", text}}}};
}

TEST_CASE("the real API server keeps the contract") {
  const std::vector<ContractCase> cases = KubeApiContract();
  const size_t index = GENERATE_COPY(range(size_t{0}, cases.size()));
  CAPTURE(cases[index].name);
  RealWorld real;
  real.AwaitCrd();
  ContractWorld world;
  world.api = &real.api();
  world.ns = real.ns();
  cases[index].run(world);
  if (index + 1 == cases.size()) real.RemoveCrd();
}

TEST_CASE("one object that nests too deeply hides no other and is named") {
  RealWorld real;
  real.AwaitCrd();
  Json deep = JsonObject();
  for (int i = 0; i < 100; ++i) deep = JsonObject{{"a", std::move(deep)}};
  const auto widget = [](const char* name, Json spec) {
    return Json{{"apiVersion", "example.com/v1"},
                {"kind", "Widget"},
                {"metadata", {{"name", name}}},
                {"spec", std::move(spec)}};
  };
  const absl::StatusOr<ListPage> before = real.api().List({ContractResource(), real.ns(), "", "", 500, ""});
  REQUIRE(before.ok());
  // It takes effect, but the answer is as deep as the object.
  CHECK(OutcomeUnknown(real.api().Create(ContractResource(), real.ns(), widget("deep", deep)).status()));
  REQUIRE(real.api().Create(ContractResource(), real.ns(), widget("flat", JsonObject())).ok());

  const absl::StatusOr<ListPage> page = real.api().List({ContractResource(), real.ns(), "", "", 500, ""});
  REQUIRE(page.ok());
  REQUIRE(page->items.size() == 1);
  CHECK(KeyOf(page->items[0]).name == "flat");
  REQUIRE(page->broken.size() == 1);
  CHECK(page->broken[0].key == ObjectKey{real.ns(), "deep"});

  const auto watch = real.api().Watch({ContractResource(), real.ns(), "", "", before->version});
  REQUIRE(watch.ok());
  const absl::Status undecoded = (*watch)->Next(kPatience).status();
  CHECK(absl::IsInvalidArgument(undecoded));
  CHECK(absl::StartsWith(undecoded.message(), absl::StrCat("event of ", real.ns(), "/deep: ")));
  const auto event = (*watch)->Next(kPatience);
  REQUIRE(event.ok());
  REQUIRE(event->has_value());
  CHECK(KeyOf((*event)->object).name == "flat");
  real.RemoveCrd();
}

TEST_CASE("an invalid Job is refused with the paths of its fields") {
  RealWorld real;
  const Json job = {{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"metadata", {{"name", "invalid"}}},
                    {"spec", {{"parallelism", -1}, {"template", {{"spec", {{"containers", JsonArray()}}}}}}}};
  const absl::Status refused = real.api().Create(kJobs, real.ns(), job).status();
  INFO(refused.ToString());
  CHECK(absl::IsInvalidArgument(refused));
  CHECK(absl::StrContains(refused.message(), "spec.parallelism"));
  CHECK(absl::StrContains(refused.message(), "spec.template.spec.containers"));
}

TEST_CASE("a suspended Job is released by a strategic merge patch of its spec") {
  RealWorld real;
  const absl::StatusOr<Json> job = ParseJson(R"({
    "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "waiting"},
    "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never",
      "containers": [{"name": "main", "image": "example.com/sleep"}]}}}})");
  REQUIRE(real.api().Create(kJobs, real.ns(), *job).ok());
  const Json patch = {{"spec", {{"suspend", false}}}};
  const absl::StatusOr<Json> released =
      real.api().Patch({kJobs, {real.ns(), "waiting"}, Subresource::kNone, PatchType::kStrategicMerge, patch});
  INFO(released.status().ToString());
  REQUIRE(released.ok());
  CHECK_FALSE(Find(*released, {"spec", "suspend"})->as_bool());
  CHECK(real.api().Delete({kJobs, {real.ns(), "waiting"}, UidOf(*released), 0, Propagation::kForeground}).ok());
}

TEST_CASE("big objects pass whole, by get, list and watch") {
  RealWorld real;
  const std::string text(900 << 10, 'x');
  const absl::StatusOr<ListPage> before = real.api().List({kConfigMaps, real.ns(), "", "", 500, ""});
  REQUIRE(before.ok());
  const auto watch = real.api().Watch({kConfigMaps, real.ns(), "", "metadata.name!=kube-root-ca.crt", before->version});
  REQUIRE(watch.ok());
  for (const char* name : {"big-1", "big-2", "big-3"}) {
    REQUIRE(real.api().Create(kConfigMaps, real.ns(), ConfigMap(name, text)).ok());
    const auto event = (*watch)->Next(kPatience);
    REQUIRE(event.ok());
    REQUIRE(event->has_value());
    CHECK(KeyOf((*event)->object).name == name);
    CHECK(StringAt((*event)->object, {"data", "text"}) == text);
  }
  const absl::StatusOr<ListPage> page =
      real.api().List({kConfigMaps, real.ns(), "", "metadata.name!=kube-root-ca.crt", 500, ""});
  REQUIRE(page.ok());
  REQUIRE(page->items.size() == 3);
  CHECK(StringAt(page->items[2], {"data", "text"}) == text);
}

TEST_CASE("an object that is too large is refused for good") {
  RealWorld real;
  const absl::Status refused =
      real.api().Create(kConfigMaps, real.ns(), ConfigMap("too-big", std::string(4 << 20, 'x'))).status();
  INFO(refused.ToString());
  CHECK(absl::IsInvalidArgument(refused));
}

TEST_CASE("who is not known and who may not are told apart") {
  KubeConnection connection = RealConnection();
  connection.client_certificate_pem.clear();
  connection.client_key_pem.clear();
  connection.token_file.clear();
  connection.token = "nonsense";
  const ObjectKey key = {"default", "x"};
  CHECK(absl::IsUnauthenticated(ApiOf(connection)->Get(kConfigMaps, key).status()));
  connection.token.clear();
  const absl::Status anonymous = ApiOf(connection)->Get(kConfigMaps, key).status();
  INFO(anonymous.ToString());
  CHECK(absl::IsPermissionDenied(anonymous));
}

TEST_CASE("a server that is not to be trusted is sent nothing") {
  KubeConnection connection = RealConnection();
  connection.ca_pem = testing::TestAuthority("another").certificate_pem();
  const absl::Status untrusted =
      ApiOf(connection)->Create(kConfigMaps, "default", ConfigMap("untrusted", "x")).status();
  INFO(untrusted.ToString());
  CHECK(absl::IsUnavailable(untrusted));
  connection = RealConnection();
  connection.server_name = "another.example.com";
  CHECK(absl::IsUnavailable(ApiOf(connection)->Get(kConfigMaps, {"default", "x"}).status()));
}

}  // namespace
}  // namespace kq
