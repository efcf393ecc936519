// What operators ask for with kubectl get --raw, through the real kube-aggregator:
// kubectl -> kube-apiserver -> koord-queue-visibility -> the scheduler's pictures.
#include <atomic>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "e2e/support/aggregation.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/objects.h"
#include "e2e/support/own_cluster.h"
#include "e2e/support/services.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/clock.h"
#include "libs/pki/certificate.h"
#include "libs/scheduler_client/testing/fake_scheduler.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);
const std::string kApi = "/apis/visibility.koord-queue.x-k8s.io/v1alpha1";
const std::string kApiService = "apiservice v1alpha1.visibility.koord-queue.x-k8s.io";

// A cluster with the processes, and the objects that lead the API server to them.
class World {
 public:
  explicit World(const std::string& max_picture_age = "3s")
      : cluster_(own_.kubeconfig()),
        accounts_(&cluster_, "koord-queue"),
        scheduler_({.accounts = &accounts_, .lease_namespace = "koord-queue"}),
        visibility_({.accounts = &accounts_,
                     .flags = {"--max-picture-age=" + max_picture_age, "--remember-reviews=1s", "-v=4"}},
                    scheduler_.grpc_address()) {
    RegisterVisibility(&cluster_, visibility_.port());
    cluster_.Create(kQuotas, kQuotaNamespace,
                    QuotaWith("team-a", "", {{"max", {{"cpu", "4"}, {"memory", "8Gi"}}}, {"min", {{"cpu", "4"}}}}));
    scheduler_.Start();
    visibility_.Start();
    CHECK(Await(kPatience, [&] { return Answers(kApi + "/queues/team-a/queueunits"); }));
  }

  const OwnCluster& own_cluster() const { return own_; }
  const ChartAccounts& accounts() const { return accounts_; }
  TestCluster& cluster() { return cluster_; }
  const TestCluster& cluster() const { return cluster_; }
  Scheduler& scheduler() { return scheduler_; }
  const Visibility& visibility() const { return visibility_; }

  // One admitted, four waiting, in this order.
  void AddUnits() {
    for (const char* name : {"u1", "u2", "u3", "u4", "u5"}) {
      Json unit = UnitObject(name, "team-a");
      unit.at("spec").as_object()["podSet"].as_array()[0].as_object()["count"] = 4;
      unit.at("spec").as_object()["request"] = {{"cpu", "4"}, {"memory", "8Gi"}};
      unit.at("spec").as_object()["resource"] = {{"cpu", "4"}, {"memory", "8Gi"}};
      cluster_.Create(kUnits, "default", unit);
      CHECK(Await(kPatience, [&] { return scheduler_.Explain("default", name).ok(); }));
    }
    CHECK(Await(kPatience, [&] { return Names("/queues/team-a/queueunits").size() == 4; }));
  }

  // What kubectl prints, on both streams; its exit code does not count.
  std::string Raw(const std::string& path, const std::string& more = "") const {
    return cluster_.Kubectl(absl::StrCat("get --raw '", path, "' ", more, " 2>&1 || true"));
  }
  bool Answers(const std::string& path) const { return absl::StartsWith(Raw(path), "{"); }
  Json Get(const std::string& path) const {
    absl::StatusOr<Json> json = ParseJson(Raw(kApi + path));
    if (!json.ok()) FAIL("no JSON at " << path << ": " << Raw(kApi + path));
    return *json;
  }
  std::vector<std::string> Names(const std::string& path) const {
    std::vector<std::string> names;
    const Json summary = Get(path);
    for (const Json& item : Find(summary, {"items"})->get_array())
      names.push_back(StringAt(item, {"metadata", "name"}));
    return names;
  }
  // The names that kqctl lists.
  std::vector<std::string> Listed(const std::string& flags) const {
    const std::string text =
        Run(absl::StrCat(DataFile("cli/kqctl/kqctl"), " units -o json --server=", scheduler_.grpc_address(), " ", flags,
                         " | jq -r '.units[].name'"));
    return absl::StrSplit(text, '\n', absl::SkipEmpty());
  }
  // The API server asked by curl, by an administrator: headers, an empty line, the body.
  std::string Curl(const std::string& path, const std::string& more = "") const {
    const std::string pki = own_.state() + "/pki";
    return Run(absl::StrCat("curl -s -i --http1.1 --cacert ", pki, "/ca.crt --cert ", pki, "/admin.crt --key ", pki,
                            "/admin.key ", more, " \"$(kubectl --kubeconfig=", cluster_.kubeconfig(),
                            " config view -o jsonpath='{.clusters[0].cluster.server}')", path, "\""));
  }
  // Asked without the API server in between: the code alone.
  std::string Direct(const std::string& path, const std::string& more = "") const {
    return Run(absl::StrCat("curl -sk -o /dev/null -w '%{http_code}' ", more,
                            " 'https://127.0.0.1:", visibility_.port(), path, "'"));
  }

 private:
  OwnCluster own_{"kwok kube-scheduler"};
  TestCluster cluster_;
  const ChartAccounts accounts_;
  Scheduler scheduler_;
  Visibility visibility_;
};

using Names = std::vector<std::string>;

// The document's own example: its keys and values, in its order.
void CheckDocumentedExample(const World& world) {
  const Json summary = world.Get("/queues/team-a/queueunits");
  CHECK(StringAt(summary, {"kind"}) == "QueueUnitsSummary");
  CHECK(StringAt(summary, {"apiVersion"}) == "visibility.koord-queue.x-k8s.io/v1alpha1");
  const JsonObject& item = Find(summary, {"items"})->get_array().at(0).get_object();
  std::vector<std::string> keys;
  for (const auto& entry : item) keys.emplace_back(entry.key());
  keys.resize(7);
  CHECK(keys == Names{"metadata", "quotaName", "queueName", "request", "resources", "phase", "podState"});
  CHECK(StringAt(item.at("metadata"), {"name"}) == "u2");
  CHECK(StringAt(item.at("metadata"), {"namespace"}) == "default");
  CHECK(item.at("quotaName") == "team-a");
  CHECK(item.at("queueName") == "team-a");
  CHECK(JsonText(item.at("request")) == R"({"cpu":"4","memory":"8Gi"})");
  CHECK(JsonText(item.at("resources")) == R"({"cpu":"4","memory":"8Gi"})");
  CHECK(item.at("phase") == "Enqueued");
  CHECK(JsonText(item.at("podState")) == R"({"pending":0,"running":0})");
  CHECK(world.cluster().Kubectl(absl::StrCat(
            "get --raw \"", kApi, "/elasticquotas/team-a/queueunits?phase=Enqueued\" | jq '.items | length'")) ==
        "4\n");
  CHECK(absl::StrContains(world.cluster().Kubectl("get " + kApiService), "True"));
}

void CheckPages(const World& world) {
  CHECK(world.Names("/queues/team-a/queueunits?limit=2&offset=2") == Names{"u4", "u5"});
  const Json page = world.Get("/queues/team-a/queueunits?limit=1");
  CHECK(Find(page, {"metadata", "remainingItemCount"})->to_number<int>() == 3);
  CHECK(Find(page, {"items"})->get_array()[0].at("position").to_number<int>() == 1);
  CHECK(world.Names("/elasticquotas/team-a/queueunits") == Names{"u2", "u3", "u4", "u5", "u1"});
  CHECK(world.Names("/elasticquotas/unknown/queueunits").empty());
}

// kqctl asks the scheduler, which makes its pages itself: they are the same.
void CheckSameAsKqctl(World& world) {
  Json inactive = UnitObject("z-inactive", "team-a");
  inactive.at("spec").as_object()["active"] = false;
  world.cluster().Create(kUnits, "default", inactive);
  CHECK(Await(kPatience, [&] { return world.Names("/elasticquotas/team-a/queueunits").size() == 6; }));
  for (const char* page : {"limit=0&offset=0", "limit=2&offset=0", "limit=2&offset=2", "limit=9&offset=4"}) {
    const std::string flags = absl::StrReplaceAll(page, {{"limit", "--limit"}, {"&offset", " --offset"}});
    CAPTURE(flags);
    CHECK(world.Names(absl::StrCat("/queues/team-a/queueunits?", page)) == world.Listed("--queue=team-a " + flags));
    CHECK(world.Names(absl::StrCat("/elasticquotas/team-a/queueunits?", page)) ==
          world.Listed("--quota=team-a " + flags));
  }
}

void CheckErrors(const World& world) {
  CHECK_THAT(world.Raw(kApi + "/queues/none/queueunits"),
             Catch::Contains(R"(NotFound): queue.scheduling.x-k8s.io "none" not found)"));
  CHECK_THAT(world.Raw(kApi + "/queues/team-a/queueunits?limit=-1"), Catch::Contains("(BadRequest): limit"));
  CHECK_THAT(world.Raw(kApi + "/queues/team-a/queueunits?offset=x"), Catch::Contains("(BadRequest): offset"));
  CHECK_THAT(world.Raw(kApi + "/queues/team-a/queueunits?phase=Asleep"), Catch::Contains("(BadRequest): phase"));
  for (const char* collection : {"/queues", "/elasticquotas"}) {
    CHECK_THAT(world.Raw(kApi + collection), Catch::Contains("(MethodNotAllowed)"));
  }
}

// What goes by the Accept header arrives through the API server, too.
void CheckForms(const World& world) {
  const std::string path = kApi + "/queues/team-a/queueunits?limit=2";
  const std::string refused = world.Curl(path, "-H 'Accept: text/html'");
  CHECK_THAT(refused, Catch::StartsWith("HTTP/1.1 406 ") && Catch::Contains(R"("kind":"Status")") &&
                          Catch::Contains(R"("reason":"NotAcceptable")"));
  const std::string table = world.Curl(path, "-H 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io'");
  CHECK_THAT(table, Catch::StartsWith("HTTP/1.1 200 ") && Catch::Contains(R"({"kind":"Table")") &&
                        Catch::Contains(R"("columnDefinitions":[{"name":"Name")") &&
                        Catch::Contains(R"("rows":[{"cells":["u2")"));
}

// What clients learn of the API, as the API server has put it together from what it asked us.
void CheckDescriptions(const World& world) {
  const std::string group = "visibility.koord-queue.x-k8s.io";
  for (const auto& [path, said] : std::vector<std::pair<std::string, std::string>>{
           {"/openapi/v2", R"("io.x-k8s.koord-queue.visibility.v1alpha1.QueueUnitsSummary":{)"},
           {"/openapi/v2", absl::StrCat("\"", kApi, "/queues/{name}/queueunits\":{")},
           {"/openapi/v3", absl::StrCat(R"("apis/)", group, R"(/v1alpha1":{)")},
           {"/openapi/v3" + kApi, R"("io.x-k8s.koord-queue.visibility.v1alpha1.QueueUnitsSummary":{)"}}) {
    CAPTURE(path, said);
    CHECK(Await(kPatience, [&, &where = path, &what = said] { return absl::StrContains(world.Raw(where), what); }));
  }
  const std::string ask = "-H 'Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'";
  CHECK(Await(kPatience, [&] {
    const std::string answer = world.Curl("/apis", ask);
    const absl::StatusOr<Json> list = ParseJson(answer.substr(answer.find("\r\n\r\n")));
    if (!list.ok() || StringAt(*list, {"kind"}) != "APIGroupDiscoveryList") return false;
    for (const Json& item : Find(*list, {"items"})->as_array()) {
      const Json& version = item.at("versions").as_array().at(0);
      if (StringAt(item, {"metadata", "name"}) == group && StringAt(version, {"freshness"}) == "Current")
        return version.at("resources").as_array().size() == 2;
    }
    return false;
  }));
  // Nobody was refused meanwhile: each of the API server's own users may ask.
  const std::string metrics = world.visibility().Metrics();
  CHECK(CountOf(metrics, R"(requests_total{code="200",what="discovery"})") == 1);
  CHECK(CountOf(metrics, R"(requests_total{code="403",what="discovery"})") == 0);
}

// With more units than a few clients can be sent at once: those that come too late are told to come again.
void CheckTooManyLongAnswers(const World& world) {
  constexpr int kUnitsInList = 20'000;
  queueing::v1::SnapshotChange picture;
  picture.mutable_id()->set_epoch("e");
  picture.set_whole(true);
  queueing::v1::QueueSnapshot* queue = picture.add_queues();
  queue->set_name("team-a");
  for (int i = 0; i < kUnitsInList; ++i) {
    queueing::v1::UnitSnapshot* unit = queue->add_waiting();
    unit->set_namespace_("default");
    unit->set_name(absl::StrCat("u", i));
    unit->set_queue("team-a");
    unit->set_phase("Enqueued");
    unit->mutable_refusal()->set_sentence(std::string(200, 'x'));
  }
  testing::FakeScheduler scheduler;
  scheduler.Send(picture);
  Visibility narrow(
      {.accounts = &world.accounts(), .flags = {"--long-answers=1", "--max-picture-age=1h"}, .log = "narrow.log"},
      scheduler.address());
  narrow.Start();
  CHECK(Await(kPatience, [&] { return narrow.Ready(); }));
  world.cluster().Kubectl(absl::StrCat("patch ", kApiService, " --type=merge -p '",
                                       JsonText(Json{{"spec", {{"service", {{"port", narrow.port()}}}}}}), "'"));
  const std::string units = kApi + "/queues/team-a/queueunits";
  CHECK(Await(kPatience, [&] { return absl::StrContains(world.Curl(units + "?limit=1"), "HTTP/1.1 200 "); }));
  std::string told;
  CHECK(Await(kPatience, [&] {
    std::vector<std::thread> readers;
    std::vector<std::string> answers(6);
    for (std::string& answer : answers) readers.emplace_back([&] { answer = world.Curl(units); });
    for (std::thread& reader : readers) reader.join();
    for (const std::string& answer : answers) {
      if (absl::StartsWith(answer, "HTTP/1.1 429 ")) told = answer;
    }
    return !told.empty();
  }));
  CHECK_THAT(told, Catch::Contains("\r\nRetry-After: 1\r\n", Catch::CaseSensitive::No) &&
                       Catch::Contains(R"("reason":"TooManyRequests")") &&
                       Catch::Contains("too many long answers are being sent"));
  CHECK(Await(kPatience, [&] { return CountOf(world.Curl(units), "\"metadata\":{\"name\":\"u") == kUnitsInList; }));
}

// An ordinary user may look once he was given the right.
void CheckUsers(const World& world) {
  const std::string units = kApi + "/queues/team-a/queueunits";
  CHECK_THAT(world.Raw(units, "--as=bob"), Catch::Contains("(Forbidden)"));
  CHECK_THAT(world.Raw(kApi + "/queues", "--as=bob"), Catch::Contains("(Forbidden)"));
  // Half of what the chart's role for users has.
  world.cluster().Kubectl(
      "create clusterrole viewer --verb=get --resource=queues.visibility.koord-queue.x-k8s.io/queueunits");
  world.cluster().Kubectl("create clusterrole lister --verb=list --resource=queues.visibility.koord-queue.x-k8s.io");
  world.cluster().Kubectl("create clusterrolebinding lister --clusterrole=lister --user=bob");
  world.cluster().Kubectl("create clusterrolebinding viewer --clusterrole=viewer --user=bob");
  CHECK(Await(kPatience, [&] { return absl::StartsWith(world.Raw(units, "--as=bob"), "{"); }));
  CHECK_THAT(world.Raw(kApi + "/elasticquotas/team-a/queueunits", "--as=bob"), Catch::Contains("(Forbidden)"));
  CHECK(Await(kPatience,
              [&] { return absl::StrContains(world.Raw(kApi + "/queues", "--as=bob"), "(MethodNotAllowed)"); }));
}

// Who does not come through the API server proves himself by a token, and by nothing
// else. REQUIRES: the role viewer is there.
void CheckDirectVisitors(const World& world) {
  const std::string path = kApi + "/queues/team-a/queueunits";
  CHECK(world.Direct(path) == "401");
  CHECK(world.Direct(path, "-H 'X-Remote-User: admin' -H 'X-Remote-Group: system:masters'") == "401");
  CHECK(world.Direct(path, "-H 'Authorization: Bearer very-secret-words'") == "401");
  CHECK(world.Direct(path, R"(-d '{"spec":{"token":"very-secret-words"}}')") == "401");
  CHECK(world.Direct("/version?access_token=very-secret-words") == "401");
  CHECK(world.Direct("/very-secret-words") == "401");
  CHECK(world.Direct("/readyz") == "200");
  world.cluster().Kubectl("create serviceaccount robot -n default");
  const std::string token = "-H \"Authorization: Bearer $(kubectl --kubeconfig=" + world.cluster().kubeconfig() +
                            " create token robot -n default)\"";
  CHECK(world.Direct(path, token) == "403");
  world.cluster().Kubectl("create clusterrolebinding robot --clusterrole=viewer --serviceaccount=default:robot");
  CHECK(Await(kPatience, [&] { return world.Direct(path, token) == "200"; }));
  CHECK(world.Direct(path + "?access_token=very-secret-words", token) == "400");
  CHECK(world.Direct(path, token + R"( -d '{"spec":{"token":"very-secret-words"}}')") == "403");  // no right to create
  // Requests and answers are in the log at this level, and no token.
  const std::string log = FileText(world.visibility().log());
  CHECK(CountOf(log, "very-secret-words") == 0);
  CHECK(CountOf(log, R"("Request refused" what="queues/queueunits" code=401)") > 0);
  CHECK(CountOf(log, absl::StrCat(R"("Request" method="GET" target=")", path, R"(")")) > 0);
  CHECK(CountOf(log, "QueueUnitsSummary") > 0);
}

// The API server is told to call us unverified, as the original's chart has it: not for long.
void CheckVerified(const World& world) {
  const auto spec = [&] {
    return world.cluster().Kubectl(absl::StrCat("get ", kApiService, " -o json | jq -c .spec"));
  };
  world.cluster().Kubectl(absl::StrCat(
      "patch ", kApiService, R"( --type=merge -p '{"spec":{"caBundle":null,"insecureSkipTLSVerify":true}}')"));
  CHECK(Await(kPatience, [&] { return absl::StrContains(spec(), "\"caBundle\""); }));
  CHECK_THAT(spec(), !Catch::Contains("insecureSkipTLSVerify"));
  CHECK(Await(kPatience, [&] { return world.Answers(kApi + "/queues/team-a/queueunits"); }));
}

// The API server comes back with a front proxy's certificate of a new authority.
void CheckNewFrontProxy(World& world) {
  const std::string key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes ";
  Run(absl::StrCat(
      "cd ", world.own_cluster().state(), "/pki && (openssl req -x509 -new ", key,
      "-days 30 -subj '/CN=new front proxy' -keyout front-proxy-ca.key -out front-proxy-ca.crt ",
      "-addext keyUsage=critical,keyCertSign,digitalSignature && openssl req -new ", key,
      "-keyout front-proxy-client.key -subj /CN=front-proxy-client -out new.csr && ",
      "echo extendedKeyUsage=clientAuth >new.ext && openssl x509 -req -in new.csr -CA front-proxy-ca.crt ",
      "-CAkey front-proxy-ca.key -set_serial 7 -days 30 -extfile new.ext -out front-proxy-client.crt) 2>&1"));
  world.own_cluster().KillApiServer();
  world.own_cluster().StartApiServer();
  CHECK(Await(kPatience, [&] {
    // Without an API server for longer than its lease lasts it ends, and is started again, as a Deployment would.
    if (!world.scheduler().Running()) world.scheduler().Start();
    return world.Answers(kApi + "/queues/team-a/queueunits");
  }));
  CHECK(world.Names("/queues/team-a/queueunits?limit=2&offset=2") == Names{"u4", "u5"});
}

TEST_CASE("the documented requests, through the API server", "[visibility]") {
  World world;
  world.AddUnits();
  CheckDocumentedExample(world);
  CheckPages(world);
  CheckSameAsKqctl(world);
  CheckErrors(world);
  CheckForms(world);
  CheckDescriptions(world);
  CheckUsers(world);
  CheckDirectVisitors(world);
  CheckVerified(world);
  CheckNewFrontProxy(world);
  CheckTooManyLongAnswers(world);
}

TEST_CASE("without a scheduler the data is refused as too old, and nothing else stops", "[visibility]") {
  World world;
  world.AddUnits();
  const std::string units = kApi + "/queues/team-a/queueunits";
  world.scheduler().Kill();
  CHECK(Await(kPatience, [&] { return absl::StrContains(world.Raw(units), "(ServiceUnavailable)"); }));
  // Users are told since when; why is for operators.
  CHECK_THAT(world.Raw(units), Catch::Contains("the newest snapshot of the scheduler is too old: it is of ") &&
                                   !Catch::Contains(world.scheduler().grpc_address()) && !Catch::Contains("refused"));
  CHECK_THAT(world.visibility().Readyz().second,
             Catch::Contains("[+]snapshot ok: ") && Catch::Contains(world.scheduler().grpc_address()));
  CHECK_THAT(FileText(world.visibility().log()),
             Catch::Contains("No leading scheduler is followed") && Catch::Contains(world.scheduler().grpc_address()));
  CHECK(world.Answers(kApi));
  CHECK(world.Answers("/apis/visibility.koord-queue.x-k8s.io"));
  // No deletion of a namespace hangs on us.
  world.cluster().Kubectl("create namespace short-lived");
  world.cluster().Kubectl("delete namespace short-lived --timeout=60s");
  world.scheduler().Start();
  CHECK(Await(kPatience, [&] { return world.Answers(units); }));
  CHECK(world.Names("/queues/team-a/queueunits") == Names{"u2", "u3", "u4", "u5"});
}

// What the API server trusts, as it lies in a file.
std::string BundleFile(const World& world, const std::string& name = "ca.crt") {
  std::string file = LogFile(name);
  Run(absl::StrCat("echo '",
                   world.cluster().Kubectl(absl::StrCat("get ", kApiService, " -o jsonpath='{.spec.caBundle}'")),
                   "' | base64 -d > ", file));
  return file;
}

// Whether whoever trusts the certificates of the file trusts who serves at the port.
bool Trusts(const std::string& file, int port) {
  const std::string host = absl::StrCat("koord-queue-visibility-server.koord-queue.svc:", port);
  return Run(absl::StrCat("curl -s -o /dev/null -w '%{http_code}' --cacert ", file, " --resolve ", host,
                          ":127.0.0.1 https://", host, "/readyz || true")) == "200";
}

// Asks all the time, until it is told to stop: the API server for a list, and the first replica as the API server does
// when it has no connection yet, by what the APIService says at that moment. Nothing but 200 is right: there is always
// somebody who serves.
class Asker {
 public:
  explicit Asker(const World& world)
      : thread_([this, &world] {
          for (; !stop_; ++asked_) Ask(world);
        }) {}
  ~Asker() { Stop(); }

  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Both once it has stopped: how often, and what was not right.
  int asked() const { return asked_; }
  const std::string& wrong() const { return wrong_; }

 private:
  void Ask(const World& world) {
    try {
      const std::string answer = world.Raw(kApi + "/queues/team-a/queueunits");
      if (!absl::StartsWith(answer, R"({"kind":"QueueUnitsSummary")")) absl::StrAppend(&wrong_, answer, "\n");
      const std::string bundle = BundleFile(world, "asker.crt");
      if (!Trusts(bundle, world.visibility().port())) absl::StrAppend(&wrong_, "a certificate that is not trusted\n");
    } catch (const std::exception& error) {
      absl::StrAppend(&wrong_, error.what(), "\n");
    }
  }

  std::atomic<bool> stop_ = false;
  int asked_ = 0;
  std::string wrong_;
  std::thread thread_;
};

// An authority that is due to be renewed: less than a third of its five years is left.
CertificateAndKey AuthorityNearItsEnd() {
  const absl::Time now = Clock::Real().TimeNow();
  absl::StatusOr<CertificateAndKey> made = MakeAuthority({.common_name = "near its end",
                                                          .organizations = {},
                                                          .names = {},
                                                          .not_before = now - absl::Hours(1),
                                                          .not_after = now + absl::Hours(24 * 365)});
  REQUIRE(made.ok());
  return *std::move(made);
}

TEST_CASE("replicas share an authority, and requests go on while it is renewed", "[visibility]") {
  World world("1m");
  Visibility second({.accounts = &world.accounts(), .log = "second.log"}, world.scheduler().grpc_address());
  std::string bundle = BundleFile(world);
  const std::string first = FileText(bundle);
  REQUIRE(SplitCertificates(first).size() == 1);
  second.Start();
  CHECK(Await(kPatience, [&] { return second.Ready(); }));
  bundle = BundleFile(world);
  CHECK(FileText(bundle) == first);
  CHECK(Trusts(bundle, world.visibility().port()));
  CHECK(Trusts(bundle, second.port()));

  // The newest one is near its end; the first replica shows a certificate of the one before.
  Asker asker(world);
  second.Kill();
  const CertificateAndKey old = AuthorityNearItsEnd();
  const Json data = {{"ca.crt", absl::Base64Escape(old.certificate_pem + first)},
                     {"ca.key", absl::Base64Escape(old.key_pem)}};
  world.cluster().Kubectl(
      absl::StrCat("-n koord-queue patch secret koord-queue-visibility-ca -p '", JsonText(Json{{"data", data}}), "'"));
  second.Start();
  CHECK(Await(kPatience, [&] {
    bundle = BundleFile(world);
    return SplitCertificates(FileText(bundle)).size() == 3;
  }));
  const std::string newest = LogFile("newest.crt");
  std::ofstream(newest) << SplitCertificates(FileText(bundle)).front();
  CHECK(Await(kPatience, [&] { return Trusts(newest, second.port()); }));
  CHECK(Await(kPatience, [&] { return Trusts(newest, world.visibility().port()); }));
  const std::string units = kApi + "/queues/team-a/queueunits";
  CHECK(world.Answers(units));
  asker.Stop();
  CHECK(asker.asked() > 0);
  CHECK(asker.wrong() == "");

  // Somebody puts the key of another authority in: all go on, and say so.
  const std::string trusted = FileText(bundle);
  const Json wrong = {{"ca.key", absl::Base64Escape(old.key_pem)}};
  world.cluster().Kubectl(
      absl::StrCat("-n koord-queue patch secret koord-queue-visibility-ca -p '", JsonText(Json{{"data", wrong}}), "'"));
  const std::string trouble = "the authority's key does not belong to its certificate";
  for (const Visibility* replica : {&world.visibility(), static_cast<const Visibility*>(&second)}) {
    CHECK(Await(kPatience, [&] {
      return absl::StrContains(replica->Metrics(), "koord_queue_visibility_in_order{part=\"certificate\"} 0");
    }));
    const auto [code, text] = replica->Readyz();
    CHECK(code == 200);
    CHECK_THAT(text, Catch::Contains("[+]certificate ok: the one in use is good until ") && Catch::Contains(trouble));
    CHECK_THAT(FileText(replica->log()),
               Catch::Contains("\"Not in order\" part=\"certificate\"") && Catch::Contains(trouble));
  }
  CHECK(FileText(BundleFile(world)) == trusted);
  CHECK(world.Answers(units));
}

}  // namespace
}  // namespace kq::e2e
