// What operators see of the running system in Prometheus: all processes, with Jobs that wait, run and are refused, an
// API server that fails now and then, a leader that dies. Every family of docs/operations.md comes by, and no other;
// the numbers are those of the APIs; dashboards and alerts find what they ask for.
#include <signal.h>

#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "e2e/metrics/metric_list.h"
#include "e2e/metrics/prometheus_server.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/objects.h"
#include "e2e/support/proxy.h"
#include "e2e/support/services.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"
#include "libs/http/testing/certificates.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);
constexpr int kJobsBefore = 24, kJobsAfter = 12;  // the leader dies
constexpr absl::Duration kBetweenJobs = absl::Milliseconds(250);
const std::string kVisibilityApi = "/apis/visibility.koord-queue.x-k8s.io/v1alpha1";
// A kind of job that nobody would think of.
const std::string kOddKind = "a \"quoted\" \\kind\nof 队列 jöbs";

// All classes of answers, early, and often enough to be rated.
constexpr char kFaults[] = R"(
rules:
- {name: redirected, verbs: [get, update], resource: leases.*, object: koord-queue, every: 4, limit: 6, fault: answer, code: 307}
- {name: unavailable, verbs: [patch], resource: queueunits.*, every: 6, fault: answer, code: 503}
- {name: error, verbs: [create], resource: queueunits.*, every: 7, fault: answer, code: 500}
- {name: conflict, verbs: [patch], resource: "(jobs|queueunits).*", every: 5, fault: answer, code: 409}
- {name: lost, verbs: [patch], resource: queueunits.*, every: 10, fault: lose-answer}
)";

// As the chart's Secret has them.
class GrpcCertificates {
 public:
  GrpcCertificates() {
    const testing::TestAuthority authority("grpc");
    folder_.Write("ca.crt", authority.certificate_pem());
    Write("server", testing::LocalhostCertificate(authority));
    Write("client", authority.IssueClient({.common_name = "client", .names = {}, .organizations = {}}));
  }
  std::string path() const { return folder_.Path("."); }

 private:
  void Write(const std::string& name, const testing::TestCertificate& certificate) const {
    folder_.Write(name + ".crt", certificate.certificate_pem);
    folder_.Write(name + ".key", certificate.key_pem);
  }

  const testing::TestFolder folder_;
};

// All processes, their Prometheus, and what they work on.
class World {
 public:
  World() {
    // Before the first scheduler, something else holds its lease.
    const std::string now = absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", Clock::Real().TimeNow(), absl::UTCTimeZone());
    cluster.Create(kLeases, ns,
                   {{"apiVersion", "coordination.k8s.io/v1"},
                    {"kind", "Lease"},
                    {"metadata", {{"name", "koord-queue"}}},
                    {"spec", {{"holderIdentity", "other-operator"}, {"leaseDurationSeconds", 6}, {"renewTime", now}}}});
    cluster.Create(kQuotas, kQuotaNamespace,
                   QuotaWith(team, "", {{"max", {{"cpu", "3"}, {"memory", "4Gi"}}}, {"min", {{"cpu", "1"}}}}));
    cluster.Create(kQuotas, kQuotaNamespace, QuotaWith(still, "", {{"max", {{"cpu", "2"}}}}));
    cluster.Kubectl(absl::StrCat("create clusterrolebinding ", ns,
                                 "-visitor --clusterrole=cluster-admin --serviceaccount=", ns, ":default"));
    std::filesystem::create_directories(decision_log);
    leader.Start();
    controllers.Start();
    visibility.Start();
    debug_api.Start();
  }
  ~World() {
    // Quotas and Queues are not in the namespaces that go.
    cluster.DeleteQuotas(kQuotaNamespace, {team, still});
    const KubeResource bindings = {"rbac.authorization.k8s.io", "v1", "clusterrolebindings"};
    cluster.api().Delete({.resource = bindings, .key = {"", ns + "-visitor"}}).IgnoreError();
    std::error_code ignored;
    std::filesystem::remove_all(decision_log, ignored);
  }

  // A Job of one core and half a GiB that runs for a second; `cpu` other than "1" is refused.
  void CreateJob(const std::string& name, const std::string& cpu) {
    Json job = JobObject(name, team, "1s");
    Json& container = job.at("spec").at("template").at("spec").as_object()["containers"].as_array()[0];
    container.at("resources").as_object()["requests"] = {{"cpu", cpu}, {"memory", "512Mi"}};
    cluster.Create(kJobs, ns, job);
  }
  // Of somebody who may see everything.
  std::string Token() {
    std::string token = cluster.Kubectl(absl::StrCat("create token default --namespace=", ns));
    token.erase(token.find_last_not_of('\n') + 1);
    return token;
  }
  // Of the visibility API; curl's other arguments are `more`.
  std::string AskVisibility(const std::string& path, const std::string& more) const {
    return Run(absl::StrCat("curl -sk ", more, " 'https://127.0.0.1:", visibility.port(), path, "'"));
  }

  const absl::Time began = Clock::Real().TimeNow();
  TestCluster cluster;
  const std::string ns = cluster.MakeNamespace("metrics"), quiet = cluster.MakeNamespace("metrics-quiet");
  const std::string team = ns + "-team", still = ns + "-still";
  Proxy proxy{cluster, ns, kFaults};
  const std::string decision_log = (std::filesystem::temp_directory_path() / (ns + "-decisions")).string();
  const GrpcCertificates grpc_tls;
  const ChartAccounts accounts{&cluster, ns};
  Scheduler leader{{.accounts = &accounts,
                    .through = proxy.kubeconfig(),
                    .lease_namespace = ns,
                    .flags = {absl::StrCat("--decision-log-dir=", decision_log)},
                    .log = "leader.log",
                    .grpc_tls = grpc_tls.path()}};
  Scheduler follower{
      {.accounts = &accounts, .lease_namespace = ns, .log = "follower.log", .grpc_tls = grpc_tls.path()}};
  const std::string schedulers = absl::StrCat(leader.grpc_address(), ",", follower.grpc_address());
  Controllers controllers{{.accounts = &accounts, .through = proxy.kubeconfig(), .lease_namespace = ns}};
  Visibility visibility{{.accounts = &accounts,
                         .flags = {"--apiservice=", absl::StrCat("--service-namespace=", ns)},
                         .grpc_tls = grpc_tls.path()},
                        schedulers};
  DebugApi debug_api{{.accounts = &accounts, .grpc_tls = grpc_tls.path()}, schedulers};
  PrometheusServer prometheus{{{"127.0.0.1:10259", {leader.metrics_port(), follower.metrics_port()}},
                               {"127.0.0.1:8080", {controllers.metrics_port()}},
                               {"127.0.0.1:8083", {visibility.metrics_port()}},
                               {"127.0.0.1:19876", {debug_api.metrics_port()}}}};
};

const std::map<std::string, std::string>& JobOfProcess() {
  static const auto* const jobs =
      new std::map<std::string, std::string>{{"koord-queue", "koord-queue-exporter"},
                                             {"koord-queue-controllers", "koord-queue-controllers"},
                                             {"koord-queue-visibility", "koord-queue-visibility"},
                                             {"koord-queue-debug-api", "koord-queue-debug-api"}};
  return *jobs;
}

// What Prometheus was told of each process: Prometheus forgets a family that is not shown any more.
class Families {
 public:
  void Collect(const PrometheusServer& prometheus) {
    const Json told = prometheus.Ask("targets/metadata");
    for (const Json& one : told.as_array()) {
      const std::string job = StringAt(one, {"target", "job"}), metric = StringAt(one, {"metric"});
      types_[job][metric] = StringAt(one, {"type"});
      if (StringAt(one, {"help"}).empty()) without_help_.insert(metric);
    }
  }
  const std::set<std::string>& without_help() const { return without_help_; }

  // As the list has them, with the labels of their series.
  MetricList OfJob(const PrometheusServer& prometheus, const std::string& job) const {
    MetricList list;
    for (const auto& [metric, type] : types_.at(job)) {
      const std::string sample = type == "histogram" ? metric + "_count" : metric;
      ListedMetric seen{type, {}};
      for (const JsonObject& series : prometheus.Series(absl::StrCat(sample, "{job=\"", job, "\"}"))) {
        for (const auto& label : series) seen.labels.emplace(label.key());
      }
      for (const char* ours : {"__name__", "job", "instance"}) seen.labels.erase(ours);
      list[metric] = seen;
    }
    return list;
  }

 private:
  std::map<std::string, std::map<std::string, std::string>> types_;
  std::set<std::string> without_help_;
};

std::string InQuotes(const std::string& label, const std::string& value) {
  return absl::StrCat(label, "=\"", value, "\"");
}

// As the contract has it of a replica that does not lead, and of one that has just started.
void CheckNoQueues(const Scheduler& scheduler) {
  const std::string text = scheduler.Metrics();
  CHECK(absl::StrContains(text, "job_scheduling_algorithm_latency_count 0\n"));
  CHECK(absl::StrContains(text, "rest_client_requests_total{"));
  CHECK(absl::StrContains(text, "process_resident_memory_bytes "));
  for (const char* absent : {"\ndequeued_quota_usage", "\njob_schedule_attempts", "\nqueueunits_"}) {
    CAPTURE(absent);
    CHECK_FALSE(absl::StrContains(text, absent));
  }
}

void CheckBeforeLeadership(const World& world, Families* families) {
  const PrometheusServer& prometheus = world.prometheus;
  CHECK(Await(kPatience, [&] {
    return !prometheus.Series("koord_queue_lease_unknown_holder{holder=\"other-operator\"}").empty();
  }));
  families->Collect(prometheus);
  CheckNoQueues(world.leader);
}

// Two units hold the quota, three wait, and nothing ever moves.
void AddWhatStands(World* world) {
  for (int i = 0; i < 5; ++i)
    world->cluster.Create(kUnits, world->quiet, UnitObject(absl::StrCat("u", i), world->still));
  Json odd = UnitObject("odd", world->still);
  odd.at("spec").as_object()["consumerRef"] = {
      {"apiVersion", "v1"}, {"kind", kOddKind}, {"name", "x"}, {"namespace", world->quiet}};
  odd.at("spec").as_object()["active"] = false;
  world->cluster.Create(kUnits, world->quiet, odd);
}

// Jobs come, some too large for their quota; people look. `first` numbers them.
void Work(World* world, int first, int count, Families* families) {
  const std::string token = "-H 'Authorization: Bearer " + world->Token() + "'";
  const std::string queues = kVisibilityApi + "/queues/";
  for (int i = first; i < first + count; ++i) {
    world->CreateJob(absl::StrCat("job-", i), i % 10 == 9 ? "100" : "1");
    Clock::Real().SleepFor(kBetweenJobs);
    if (i % 4 != 0) continue;
    world->AskVisibility(absl::StrCat(queues, world->still, "/queueunits"), token);
    world->AskVisibility(absl::StrCat(queues, "nobody/queueunits"), token);
    world->AskVisibility(absl::StrCat(kVisibilityApi, "/elasticquotas/", world->team, "/queueunits"), token);
    world->AskVisibility(kVisibilityApi, token);
    world->AskVisibility("/apis", "");
    for (const char* page : {"/apis/v1/queue", "/apis/v1/elasticquota", "/units/nobody/none", "/compare"}) {
      world->debug_api.Fetch(world->debug_api.metrics_port(), page);
    }
    families->Collect(world->prometheus);
  }
}

// The same numbers in metrics, snapshot, visibility and debug API, at whoever leads.
void CheckNumbersAgree(World* world, const Scheduler& leading) {
  const std::string queue = InQuotes("queue", world->still), quota = InQuotes("quota", world->still);
  const std::string in_quiet = InQuotes("namespace", world->quiet);
  CHECK(Await(kPatience, [&] { return leading.Metric("queueunits_in_active_queue{" + queue + "}") == 3; }));
  CHECK(leading.Metric("koord_queue_queue_waiting_units{" + queue + ",reason=\"OverMax\"}") == 3);
  CHECK(leading.Metric("koord_queue_queue_waiting_resources{" + queue + ",resource=\"cpu\"}") == 3);
  CHECK(leading.Metric("dequeued_quota_usage_by_quota{" + quota + ",resource=\"cpu\"}") == 2000);
  CHECK(leading.Metric("dequeued_quota_usage_by_namespace{" + in_quiet + ",resource=\"cpu\"}") == 2);
  CHECK(leading.Metric("koord_queue_quota_max{" + quota + ",resource=\"cpu\"}") == 2);
  CHECK(leading.Books()[world->still] == 2000);

  const std::string token = "-H 'Authorization: Bearer " + world->Token() + "'";
  size_t items = 0;
  CHECK(Await(kPatience, [&] {
    const auto summary =
        ParseJson(world->AskVisibility(kVisibilityApi + "/queues/" + world->still + "/queueunits", token));
    if (!summary.ok() || Find(*summary, {"items"}) == nullptr) return false;
    items = Find(*summary, {"items"})->as_array().size();
    return items == 3;
  }));
  CHECK(items == 3);
  const auto books = ParseJson(world->debug_api.Fetch(world->debug_api.metrics_port(), "/apis/v1/elasticquota").second);
  REQUIRE(books.ok());
  const Json* used = Find(*books, {world->still, "Used", "cpu"});
  REQUIRE(used != nullptr);
  CHECK(*used == 2000);
  // Each unit counts once, over all replicas.
  CHECK(
      Await(kPatience, [&] { return world->prometheus.Value("sum(queueunits_by_job_type{" + in_quiet + "})") == 6; }));
}

// The line of the contract, with another port.
void CheckDocumentedCommand(const Scheduler& leading) {
  const std::string shown =
      Run(absl::StrCat("curl -s http://127.0.0.1:", leading.metrics_port(), "/metrics | grep -E '^queueunits_|^job_'"));
  for (const char* family :
       {"job_scheduling_algorithm_latency_bucket{le=\"0.01\"} ", "job_scheduling_e2e_latency_bucket{le=\"1\"} ",
        "job_schedule_attempts{queue=", "queueunits_by_job_type{namespace=", "queueunits_in_active_queue{queue=",
        "queueunits_in_backoff_queue{queue=", "queueunits_coming_rate_by_job_type{namespace="}) {
    CAPTURE(family);
    CHECK(absl::StrContains(shown, family));
  }
}

// Quotes, newlines and letters of all the world come through as they are.
void CheckOddLabels(const World& world) {
  const Json kinds = world.prometheus.Ask("label/type/values");
  CHECK(std::count(kinds.as_array().begin(), kinds.as_array().end(), Json(kOddKind)) == 1);
}

void CheckLeaderChange(World* world) {
  CheckNoQueues(world->follower);
  world->leader.Kill();
  REQUIRE(Await(kPatience, [&] { return world->follower.Metric("koord_queue_leader") == 1; }));
  CheckNumbersAgree(world, world->follower);
  CHECK(world->prometheus.Value("sum(koord_queue_leader)") == 1);
  world->leader.Start();
  REQUIRE(Await(kPatience, [&] { return world->leader.Ready(); }));
  CheckNoQueues(world->leader);
}

// A line for each difference.
std::string Differences(const MetricList& listed, const MetricList& seen) {
  std::string text;
  const auto show = [](const ListedMetric& metric) {
    return absl::StrCat(metric.type, " {", absl::StrJoin(metric.labels, ","), "}");
  };
  for (const auto& [name, metric] : seen) {
    const auto at = listed.find(name);
    if (at == listed.end()) {
      absl::StrAppend(&text, name, ": not in docs/operations.md: ", show(metric), "\n");
    } else if (!(at->second == metric)) {
      absl::StrAppend(&text, name, ": listed as ", show(at->second), ", seen as ", show(metric), "\n");
    }
  }
  for (const auto& [name, metric] : listed) {
    if (!seen.contains(name)) absl::StrAppend(&text, name, ": in docs/operations.md, and never seen\n");
  }
  return text;
}

void CheckList(const World& world, const Families& families) {
  const auto lists = ListedMetrics(FileText("docs/operations.md"));
  CHECK(families.without_help() == std::set<std::string>{});
  REQUIRE(lists.size() == JobOfProcess().size());
  for (const auto& [process, job] : JobOfProcess()) {
    CAPTURE(process);
    CHECK(Differences(lists.at(process), families.OfJob(world.prometheus, job)) == "");
  }
}

// Prometheus' own linter: nothing but the names of the original, which would not be chosen today.
void CheckLint(const World& world) {
  const std::set<std::string> kept = {"job_schedule_attempts", "queueunits_coming_rate_by_job_type"};
  for (const int port : {world.follower.metrics_port(), world.controllers.metrics_port(),
                         world.visibility.metrics_port(), world.debug_api.metrics_port()}) {
    const std::string said =
        Run(absl::StrCat("{ curl -s http://127.0.0.1:", port, "/metrics | promtool check metrics || test $? = 3; }"));
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(said, '\n', absl::SkipEmpty()))) {
      CAPTURE(line);
      CHECK(kept.contains(line.substr(0, line.find(' '))));
    }
  }
}

// Whether the metric's row in docs/operations.md has the word, for what need not come by in a run.
bool IsTold(const std::string& metric, absl::string_view word) {
  const std::string text = FileText("docs/operations.md");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, "| `") || !absl::StrContains(line, absl::StrCat("`", metric, "`"))) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" ,;:`"));
    if (std::count(words.begin(), words.end(), word) > 0) return true;
  }
  return false;
}

// The matchers of a query that nothing can match: no series of the metric has the label, or none the value or one of
// its alternatives, and the list does not tell of it either. What is excluded need not be there.
std::string Unmatched(const PrometheusServer& prometheus, const std::string& query) {
  static const std::regex kSelector(R"re((\w+)\{([^}]*)\})re"), kMatcher(R"re((\w+)(=~|!=|!~|=)"([^"]*)")re");
  std::string text;
  for (std::sregex_iterator selector(query.begin(), query.end(), kSelector), end; selector != end; ++selector) {
    const std::string metric = (*selector)[1], matchers = (*selector)[2];
    for (std::sregex_iterator matcher(matchers.begin(), matchers.end(), kMatcher); matcher != end; ++matcher) {
      const std::string label = (*matcher)[1], sign = (*matcher)[2], values = (*matcher)[3];
      const auto seen = [&](const std::string& other_sign, absl::string_view value) {
        return !prometheus.Series(absl::StrCat(metric, "{", label, other_sign, "\"", value, "\"}")).empty();
      };
      if (!seen("!=", "")) absl::StrAppend(&text, metric, ": no label ", label, "\n");
      if (absl::StartsWith(sign, "!")) continue;
      for (const absl::string_view value : absl::StrSplit(values, sign == "=" ? "\n" : "|")) {
        if (!seen(sign, value) && !IsTold(metric, value))
          absl::StrAppend(&text, metric, ": no ", label, sign, value, "\n");
      }
    }
  }
  return text;
}

// The rules were evaluated without an error on real data, and ask for nothing that is not there or not listed.
void CheckAlerts(const World& world) {
  std::set<std::string> known = {"up"};
  for (const auto& [process, list] : ListedMetrics(FileText("docs/operations.md"))) {
    for (const auto& [name, metric] : list) known.insert(name);
  }
  const Json rules = world.prometheus.Ask("rules");
  int count = 0;
  for (const Json& group : rules.at("groups").as_array()) {
    for (const Json& rule : group.at("rules").as_array()) {
      ++count;
      const std::string query = StringAt(rule, {"query"});
      CAPTURE(query, StringAt(rule, {"lastError"}));
      CHECK(StringAt(rule, {"health"}) == "ok");
      CHECK(Unmatched(world.prometheus, query) == "");
      // A name is followed by its selector or its range; in these rules each has one, or stands before an operator.
      std::string word;
      for (const char c : query + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
          word += c;
        } else {
          const bool metric = absl::StrContains(word, "_") && word.find("_over_time") == std::string::npos;
          if (metric) CHECK(known.contains(word));
          word.clear();
        }
      }
    }
  }
  CHECK(count > 20);
  CHECK(Unmatched(world.prometheus, R"(a > rate(koord_queue_writes_total{outcome=~"made|fialed",kind!="x"}[5m]))") ==
        "koord_queue_writes_total: no outcome=~fialed\nkoord_queue_writes_total: no label kind\n");
}

// What is gone is not shown any more.
void CheckVanishing(World* world) {
  CHECK(absl::StrContains(world->follower.Metrics(), InQuotes("quota", world->still)));
  world->cluster.DeleteAll(kUnits, world->quiet);
  world->cluster.DeleteQuotas(kQuotaNamespace, {world->still});
  std::string left;
  CHECK(Await(kPatience, [&] {
    left.clear();
    const std::vector<std::string> lines = absl::StrSplit(world->follower.Metrics(), '\n');
    for (const std::string& line : lines) {
      const bool counts_for_an_hour = absl::StartsWith(line, "queueunits_coming_rate_by_job_type");
      if (counts_for_an_hour) continue;
      if (absl::StrContains(line, world->still) || absl::StrContains(line, world->quiet))
        absl::StrAppend(&left, line, "\n");
    }
    return left.empty();
  }));
  CHECK(left == "");
}

// The pictures of both boards; fails on a panel without data, or a selector that matches nothing.
void CheckBoards(const World& world) {
  const std::string out = LogFile("dashboards");
  const int64_t age = absl::ToInt64Seconds(Clock::Real().TimeNow() - world.began) + 1;
  Run(absl::StrCat("python3 deploy/dashboards/render.py --prometheus ", world.prometheus.url(), " --out ", out,
                   " --range ", age, "s --var interval=1m --var Resource=cpu --var Quota=", world.team,
                   " --var Namespace=", world.ns));
  for (const char* board : {"koord-queue", "operations"}) {
    CHECK(std::filesystem::file_size(absl::StrCat(out, "/", board, ".svg")) > 10'000);
    CHECK(std::filesystem::file_size(absl::StrCat(out, "/", board, ".png")) > 10'000);
  }
}

TEST_CASE("what is scraped is what is listed, true, and what dashboards and alerts ask for", "[e2e]") {
  World world;
  Families families;
  CheckBeforeLeadership(world, &families);
  REQUIRE(Await(kPatience, [&] { return world.leader.Metric("koord_queue_leader") == 1; }));
  world.follower.Start();
  AddWhatStands(&world);
  Work(&world, 0, kJobsBefore, &families);
  CheckNumbersAgree(&world, world.leader);
  CheckDocumentedCommand(world.leader);
  CheckOddLabels(world);
  CHECK(world.proxy.Idle() == "");
  CheckLeaderChange(&world);
  Work(&world, kJobsBefore, kJobsAfter, &families);
  families.Collect(world.prometheus);
  CheckList(world, families);
  CheckLint(world);
  CheckAlerts(world);
  CheckBoards(world);
  CheckVanishing(&world);
}

}  // namespace
}  // namespace kq::e2e
