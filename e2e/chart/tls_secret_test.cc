// visibility.tls: a certificate that somebody else issues, as the chart mounts it. The
// API server calls koord-queue-visibility by the caBundle of the values alone.
#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "e2e/chart/pod_process.h"
#include "e2e/support/helm.h"
#include "e2e/support/own_cluster.h"
#include "e2e/support/test_cluster.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr char kApiService[] = "apiservice v1alpha1.visibility.koord-queue.x-k8s.io";
constexpr char kHost[] = "koord-queue-visibility-server.koord-queue.svc";
constexpr char kNewKey[] = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

// Issues certificates, as cert-manager or a company does.
class Authority {
 public:
  explicit Authority(const std::string& name) : files_(LogFile(name)) {
    Run(absl::StrCat("openssl req -x509 ", kNewKey, " -days 30 -subj '/CN=", name, "' -keyout ", files_, ".key -out ",
                     files_, ".crt 2>&1"));
  }
  // The names of two files, as flags of "kubectl create secret tls".
  std::string IssueServer(int serial) const {
    const std::string server = absl::StrCat(files_, "-server-", serial);
    Run(absl::StrCat("{ openssl req -new ", kNewKey, " -subj /CN=server -keyout ", server, ".key -out ", server,
                     ".csr && echo subjectAltName=DNS:", kHost, " >", server, ".ext && openssl x509 -req -days 30 -in ",
                     server, ".csr -extfile ", server, ".ext -CA ", files_, ".crt -CAkey ", files_, ".key -set_serial ",
                     serial, " -out ", server, ".crt; } 2>&1"));
    return absl::StrCat("--cert=", server, ".crt --key=", server, ".key");
  }
  std::string pem() const { return FileText(files_ + ".crt"); }

 private:
  const std::string files_;  // without ".crt" and ".key"
};

class World {
 public:
  World() : cluster_(own_.kubeconfig(), TestCluster::Definitions::kLeaveOut), helm_(own_.kubeconfig()) {
    cluster_.Kubectl("create namespace koord-queue");
  }

  void PutSecret(const std::string& files) const {
    cluster_.Kubectl(absl::StrCat("create secret tls mine -n koord-queue ", files,
                                  " --dry-run=client -o yaml | kubectl ", "--kubeconfig=", cluster_.kubeconfig(),
                                  " apply --server-side -f -"));
  }
  // Installs, or upgrades, with these authorities as caBundle.
  void Trust(const std::string& pem) const {
    helm_.Call(absl::StrCat("upgrade --install koord-queue ", helm_.chart(), " --namespace koord-queue ",
                            "--set controller.enableVisibilityServer=true,visibility.service.externalName=localhost,",
                            "visibility.service.port=", port_,
                            ",visibility.tls.secretName=mine,visibility.tls.caBundle=", absl::Base64Escape(pem)));
  }
  // REQUIRES: the chart is installed.
  PodProcess Scheduler() {
    return PodProcess(&cluster_, {.deployment = "koord-queue",
                                  .container = "controller",
                                  .program = "services/scheduler/koord-queue",
                                  .ports = {{"grpc-bind-address", grpc_port_}}});
  }
  PodProcess Visibility() {
    return PodProcess(&cluster_, {.deployment = "koord-queue-visibility",
                                  .container = "visibility",
                                  .program = "services/visibility/koord-queue-visibility",
                                  .scheduler = absl::StrCat("127.0.0.1:", grpc_port_),
                                  .ports = {{"bind-address", port_}}});
  }

  // What the API server thinks of koord-queue-visibility.
  std::string Condition(const std::string& field) const {
    return cluster_.Kubectl(
        absl::StrCat("get ", kApiService, " -o jsonpath='{.status.conditions[?(@.type==\"Available\")].", field, "}'"));
  }
  bool Answers() const {
    return absl::StartsWith(cluster_.Kubectl("get --raw /apis/visibility.koord-queue.x-k8s.io/v1alpha1/"
                                             "elasticquotas/any/queueunits 2>&1 || true"),
                            "{\"kind\":\"QueueUnitsSummary\"");
  }
  // Of the certificate that is shown to a new client: "serial=07".
  std::string Serial() const {
    return Run(absl::StrCat("openssl s_client -connect 127.0.0.1:", port_,
                            " </dev/null 2>/dev/null | openssl x509 -noout -serial 2>&1 || true"));
  }
  void Rollout() const {
    cluster_.Kubectl("rollout status deployment koord-queue -n koord-queue --timeout=60s");
    cluster_.Kubectl("rollout status deployment koord-queue-visibility -n koord-queue --timeout=60s");
  }

 private:
  const int port_ = FreePort(), grpc_port_ = FreePort();
  OwnCluster own_;
  TestCluster cluster_;
  Helm helm_;
};

TEST_CASE("a certificate from a Secret is served to the API server, and its successors without a restart", "[chart]") {
  const Authority first("first"), second("second");
  World world;
  world.PutSecret(first.IssueServer(7));
  world.Trust(second.pem());
  world.Rollout();
  PodProcess scheduler = world.Scheduler();
  PodProcess visibility = world.Visibility();
  scheduler.Start();
  visibility.Start();

  // The wrong authority: nobody is believed without the right one.
  CHECK(Await(kPatience, [&] { return absl::StrContains(world.Condition("message"), "x509"); }));
  CHECK(world.Condition("status") == "False");
  world.Trust(first.pem());
  CHECK(Await(kPatience, [&] { return world.Condition("status") == "True" && world.Answers(); }));
  CHECK(world.Serial() == "serial=07\n");

  // Renewed.
  world.PutSecret(first.IssueServer(8));
  visibility.RefreshVolumes();
  CHECK(world.Serial() == "serial=08\n");
  CHECK(world.Answers());

  // And once more, by another authority, which is trusted beside the old one first.
  world.Trust(first.pem() + second.pem());
  world.PutSecret(second.IssueServer(9));
  visibility.RefreshVolumes();
  CHECK(world.Serial() == "serial=09\n");
  world.Trust(second.pem());
  CHECK(Await(kPatience, [&] { return world.Condition("status") == "True" && world.Answers(); }));
  CHECK(visibility.Stop().value_or(-1) == 0);  // the one that was started first
  CHECK(scheduler.Stop().value_or(-1) == 0);
}

}  // namespace
}  // namespace kq::e2e
