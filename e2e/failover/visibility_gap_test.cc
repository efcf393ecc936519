// Two schedulers in the chart's pods and under its account, and a visibility, also
// with the chart's rights and no others, that follows whichever leads by the one
// address of Service koord-queue. The leader is killed with -9 again and again, while
// units come, are admitted and go, and somebody asks through the API server all the
// while: every answer is a state that was true, not older than it says, or a proper
// 503. Prints how long the newest picture was missing, and how long after the Service
// has another endpoint. VISIBILITY_GAP_KILLS=20 for the long form.
#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "e2e/chart/pod_process.h"
#include "e2e/support/chart_release.h"
#include "e2e/support/objects.h"
#include "e2e/support/own_cluster.h"
#include "e2e/support/service_address.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/common/stop_signal.h"
#include "libs/http/http_client.h"
#include "libs/kube/kubeconfig.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);
// What the machine may add to the age that an answer tells: the watch, a busy core.
constexpr absl::Duration kSlack = absl::Seconds(3);
constexpr absl::Duration kBetweenQuestions = absl::Milliseconds(40);
constexpr absl::Duration kBetweenCommands = absl::Seconds(1);  // kubectl costs much more than a question
constexpr int kWaiting = 8;
const std::string kPath = "/apis/visibility.koord-queue.x-k8s.io/v1alpha1/queues/gap/queueunits";

absl::Time Now() { return Clock::Real().TimeNow(); }

// Units u-00000, u-00001, ... of a quota with room for one: the oldest is admitted,
// the others wait in this order. Once it is admitted it is deleted, and the next one
// follows; new ones come behind. So who waits is at any time a row of numbers, whose
// ends only grow. Works in a thread of its own while it lives.
class Row {
 public:
  struct Ends {
    int first = 0;  // the first that may wait
    int last = 0;   // the last one that exists
  };

  explicit Row(TestCluster* cluster) : cluster_(cluster), thread_([this] { Work(); }) {}
  ~Row() {
    stopped_ = true;
    thread_.join();
  }

  static std::string Name(int number) { return absl::StrFormat("u-%05d", number); }

  // How far the row had certainly come by `time`, and how far it can have come by then.
  Ends AtLeast(absl::Time time) const { return Newest(done_, time); }
  Ends AtMost(absl::Time time) const { return Newest(begun_, time); }
  int admitted() const {
    const MutexLock lock(&mu_);
    return now_.first;
  }
  std::string trouble() const {
    const MutexLock lock(&mu_);
    return trouble_;
  }

 private:
  using History = std::vector<std::pair<absl::Time, Ends>>;

  void Work() {
    try {
      while (!stopped_) {
        while (!stopped_ && now_.last < now_.first + kWaiting) Add();
        if (!MoveOn()) Clock::Real().SleepFor(absl::Milliseconds(50));
      }
    } catch (const std::exception& failure) {
      const MutexLock lock(&mu_);
      trouble_ = failure.what();
    }
  }
  void Add() {
    Ends ends = Ends{now_.first, now_.last + 1};
    Note(&begun_, {begun_.empty() ? ends.first : begun_.back().second.first, ends.last});
    cluster_->Create(kUnits, "default", UnitObject(Name(ends.last - 1), "gap"));
    Note(&done_, ends);
  }
  // The admitted unit goes; false while none is.
  bool MoveOn() {
    const std::string holder = Name(now_.first);
    const absl::StatusOr<Json> unit = cluster_->api().Get(kUnits, {"default", holder});
    if (!unit.ok() || StringAt(*unit, {"status", "phase"}) != "Dequeued") return false;
    // It waits no more; when it has gone the next one may be admitted at any moment.
    Note(&done_, {now_.first + 1, now_.last});
    Note(&begun_, {now_.first + 1, now_.last});
    const absl::Status deleted = cluster_->api().Delete({.resource = kUnits, .key = {"default", holder}});
    return deleted.ok();
  }
  void Note(History* history, Ends ends) {
    const MutexLock lock(&mu_);
    history->emplace_back(Now(), ends);
    if (history == &done_) now_ = ends;
  }
  Ends Newest(const History& history, absl::Time time) const {
    const MutexLock lock(&mu_);
    const auto later = std::upper_bound(history.begin(), history.end(), time,
                                        [](absl::Time at, const auto& entry) { return at < entry.first; });
    return later == history.begin() ? Ends() : std::prev(later)->second;
  }

  TestCluster* const cluster_;
  std::atomic<bool> stopped_ = false;
  mutable Mutex mu_;
  History done_, begun_;  // appended to by the thread, under mu_
  Ends now_;
  std::string trouble_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

// One answer, as it came.
struct Answer {
  absl::Time asked, answered;
  int code = 0;
  absl::Duration age;  // as it says; zero where kubectl shows no headers
  Json body;
};

// Asks all the while, and judges every answer. The document's own command has a
// thread of its own: kubectl comes again by itself when it is told to (Retry-After).
class Asker {
 public:
  Asker(const TestCluster* cluster, const Row* row)
      : cluster_(cluster),
        row_(row),
        http_(Connected(cluster->kubeconfig())),
        questions_([this] {
          while (stop_.WaitFor(kBetweenQuestions)) Ask();
        }),
        commands_([this] {
          while (stop_.WaitFor(kBetweenCommands)) AskByKubectl();
        }) {}
  ~Asker() {
    stop_.Stop();
    questions_.join();
    commands_.join();
  }

  // Of the picture that was shown last, and when one of its epoch was shown first;
  // empty before the first.
  std::string epoch() const {
    const MutexLock lock(&mu_);
    return epoch_;
  }
  absl::Time epoch_since() const {
    const MutexLock lock(&mu_);
    return epoch_since_;
  }
  std::vector<std::string> wrong() const {
    const MutexLock lock(&mu_);
    return wrong_;
  }
  // Time without data that ends at `until`, at its longest.
  absl::Duration LongestWithoutData() const {
    const MutexLock lock(&mu_);
    return longest_without_;
  }
  int answers() const { return answers_; }
  int refusals() const { return refusals_; }
  int by_kubectl() const { return by_kubectl_; }

 private:
  static std::unique_ptr<HttpClient> Connected(const std::string& kubeconfig) {
    const auto connection = LoadKubeconfig(kubeconfig);
    if (!connection.ok()) throw std::runtime_error(connection.status().ToString());
    HttpClientOptions options;
    options.url = connection->server;
    options.ca_pem = connection->ca_pem;
    options.client_certificate_pem = connection->client_certificate_pem;
    options.client_key_pem = connection->client_key_pem;
    auto client = NewHttpClient(options);
    if (!client.ok()) throw std::runtime_error(client.status().ToString());
    return *std::move(client);
  }

  void Ask() {
    HttpRequest request;
    request.target = kPath;
    Answer answer;
    answer.asked = Now();
    const absl::StatusOr<HttpResponse> response = http_->Call(request, absl::Seconds(30));
    answer.answered = Now();
    if (!response.ok()) return Wrong(absl::StrCat("no answer: ", response.status().ToString()));
    answer.code = response->code;
    const std::string* age = response->headers.Find("X-Koord-Queue-Snapshot-Age");
    double seconds = 0;
    if (answer.code == 200 && (age == nullptr || !absl::SimpleAtod(*age, &seconds))) return Wrong("200 without an age");
    if (answer.code == 503 && response->headers.Find("Retry-After") == nullptr) Wrong("503 without Retry-After");
    answer.age = absl::Seconds(seconds);
    absl::StatusOr<Json> body = ParseJson(response->body);
    if (!body.ok()) return Wrong(absl::StrCat(answer.code, " without JSON: ", response->body));
    answer.body = *std::move(body);
    Judge(answer);
    if (answer.code == 200) Note(answer);
  }
  // The command of the document.
  void AskByKubectl() {
    Answer answer;
    answer.asked = Now();
    const std::string text = cluster_->Kubectl(absl::StrCat("get --raw \"", kPath, "\" 2>&1 || true"));
    answer.answered = Now();
    ++by_kubectl_;
    if (absl::StrContains(text, "(ServiceUnavailable): ")) {
      ++answers_;
      ++refusals_;
      return;
    }
    const absl::StatusOr<Json> body = ParseJson(text);
    if (!body.ok()) return Wrong(absl::StrCat("kubectl: ", text));
    answer.code = 200;
    answer.age = kOldest;
    answer.body = *body;
    Judge(answer);
  }
  void Judge(const Answer& answer) {
    ++answers_;
    if (answer.code == 503) {
      ++refusals_;
      if (StringAt(answer.body, {"kind"}) != "Status" || StringAt(answer.body, {"reason"}) != "ServiceUnavailable")
        Wrong(absl::StrCat("503 in another form: ", JsonText(answer.body)));
      return;
    }
    if (answer.code != 200) return Wrong(absl::StrCat(answer.code, ": ", JsonText(answer.body)));
    const std::string problem = ProblemOf(answer);
    if (!problem.empty()) Wrong(absl::StrCat(problem, ": ", JsonText(answer.body)));
  }
  // Which picture it was: never one before the last.
  void Note(const Answer& answer) {
    const std::vector<std::string> version =
        absl::StrSplit(StringAt(answer.body, {"metadata", "resourceVersion"}), absl::MaxSplits('.', 1));
    uint64_t revision = 0;
    if (version.size() != 2 || !absl::SimpleAtoi(version[1], &revision)) return Wrong("no resourceVersion");
    bool older = false;
    {
      const MutexLock lock(&mu_);
      const bool again = version[0] != epoch_ && std::count(epochs_.begin(), epochs_.end(), version[0]) > 0;
      older = again || (version[0] == epoch_ && revision < revision_);
      if (version[0] != epoch_) {
        epochs_.push_back(version[0]);
        epoch_since_ = answer.answered;
      }
      epoch_ = version[0];
      revision_ = revision;
      longest_without_ = std::max(longest_without_, answer.answered - last_data_);
      last_data_ = answer.answered;
    }
    if (older) Wrong(absl::StrCat("an older picture after a newer one: ", JsonText(answer.body)));
  }
  // Empty if the list is a state that was true.
  std::string ProblemOf(const Answer& answer) const {
    const JsonArray& items = Find(answer.body, {"items"})->get_array();
    int first = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string name = StringAt(items[i], {"metadata", "name"});
      if (i == 0 && !absl::SimpleAtoi(name.substr(2), &first)) return "a unit that nobody made";
      if (name != Row::Name(first + static_cast<int>(i))) return "units are missing, or out of order";
      if (StringAt(items[i], {"phase"}) != "Enqueued" || StringAt(items[i], {"queueName"}) != "gap")
        return "not waiting";
      if (items[i].at("position").to_number<size_t>() != i + 1) return "a wrong position";
    }
    const int end = first + static_cast<int>(items.size());
    const Row::Ends least = row_->AtLeast(answer.asked - answer.age - kSlack);
    const Row::Ends most = row_->AtMost(answer.answered);
    // Behind the one that holds the quota; it may still be shown while it is being admitted.
    if (!items.empty() && (first < least.first || first > most.first + 1))
      return absl::StrFormat("begins with %d, and it was from %d to %d", first, least.first, most.first + 1);
    if (end < least.last && !items.empty()) return absl::StrFormat("ends before %d, and %d was there", end, least.last);
    if (end > most.last) return absl::StrFormat("ends before %d, and only %d were there", end, most.last);
    if (items.empty() && least.last > most.first + 2) return "nobody waits";
    return "";
  }
  void Wrong(const std::string& what) {
    const MutexLock lock(&mu_);
    wrong_.push_back(what.substr(0, 2000));
  }

  static constexpr absl::Duration kOldest = absl::Seconds(2);  // --max-picture-age, rounded up

  const TestCluster* const cluster_;
  const Row* const row_;
  const std::unique_ptr<HttpClient> http_;
  StopSignal stop_;
  std::atomic<int> answers_ = 0, refusals_ = 0, by_kubectl_ = 0;
  mutable Mutex mu_;
  std::string epoch_ ABSL_GUARDED_BY(mu_);
  absl::Time epoch_since_ ABSL_GUARDED_BY(mu_);
  uint64_t revision_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<std::string> epochs_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> wrong_ ABSL_GUARDED_BY(mu_);
  absl::Time last_data_ ABSL_GUARDED_BY(mu_) = Now();
  absl::Duration longest_without_ ABSL_GUARDED_BY(mu_);
  std::thread questions_, commands_;
};

// The chart's values for a test that need not wait for the lease's own 15 s.
std::string Values(int visibility_port) {
  const std::string lease = "controller.leaderElection.";
  return absl::StrCat("controller.replicas=2,", lease, "leaseDuration=2s,", lease, "renewDeadline=1500ms,", lease,
                      "retryPeriod=250ms,controller.enableVisibilityServer=true,",
                      "visibility.service.externalName=localhost,visibility.service.port=", visibility_port);
}

// The chart, with the processes of three of its pods: two schedulers, and a visibility beside the API server.
class World {
 public:
  World()
      : port_(FreePort()),
        release_(own_.kubeconfig(), Values(port_)),
        cluster_(own_.kubeconfig(), TestCluster::Definitions::kLeaveOut) {
    cluster_.Create(kQuotas, kQuotaNamespace, QuotaObject("gap", "", 1));
    REQUIRE(Await(kPatience, [&] { return ChartRelease::ReadyPods(&cluster_, "koord-queue").size() == 2; }));
    REQUIRE(Await(kPatience, [&] { return ChartRelease::ReadyPods(&cluster_, "koord-queue-visibility").size() == 1; }));
    pods_ = ChartRelease::ReadyPods(&cluster_, "koord-queue");
    for (const auto& [pod, address] : pods_) {
      replicas_.push_back(
          std::make_unique<PodProcess>(&cluster_, PodProcessOptions{.deployment = "koord-queue",
                                                                    .container = "controller",
                                                                    .program = "services/scheduler/koord-queue",
                                                                    .pod = pod,
                                                                    .flags = {"--check-invariants"}}));
      replicas_.back()->Start();
    }
    service_ = std::make_unique<ServiceAddress>([this] { return PortBehindService(); });
    visibility_ = std::make_unique<PodProcess>(
        &cluster_, PodProcessOptions{.deployment = "koord-queue-visibility",
                                     .container = "visibility",
                                     .program = "services/visibility/koord-queue-visibility",
                                     .scheduler = service_->address(),
                                     .ports = {{"bind-address", port_}},
                                     .flags = {"--max-picture-age=1500ms"}});
    visibility_->Start();
  }

  TestCluster& cluster() { return cluster_; }
  const ServiceAddress& service() const { return *service_; }
  PodProcess& replica(size_t i) { return *replicas_[i]; }
  // Waits for one that leads.
  size_t Leader() {
    size_t leader = replicas_.size();
    const bool found = Await(kPatience, [&] {
      for (size_t i = 0; i < replicas_.size(); ++i) {
        if (replicas_[i]->Running() && replicas_[i]->Leads()) leader = i;
      }
      return leader < replicas_.size();
    });
    REQUIRE(found);
    return leader;
  }
  // Whether the Service of the schedulers leads to this one, and to no other.
  bool Alone(size_t i) { return service_->target() == replicas_[i]->Port("grpc-bind-address"); }

 private:
  // Of the process in the one pod that the EndpointSlices name; 0: none, or more than one.
  int PortBehindService() {
    const std::vector<std::string> addresses = ChartRelease::Endpoints(&cluster_, "koord-queue");
    for (size_t i = 0; i < pods_.size(); ++i) {
      if (addresses == std::vector<std::string>{pods_[i].second}) return replicas_[i]->Port("grpc-bind-address");
    }
    return 0;
  }

  OwnCluster own_;
  const int port_;
  ChartRelease release_;
  TestCluster cluster_;
  std::vector<std::pair<std::string, std::string>> pods_;
  std::vector<std::unique_ptr<PodProcess>> replicas_;
  std::unique_ptr<ServiceAddress> service_;
  std::unique_ptr<PodProcess> visibility_;
};

std::string Times(std::vector<absl::Duration> times) {
  std::sort(times.begin(), times.end());
  return absl::StrFormat("median %s, max %s", absl::FormatDuration(times[times.size() / 2]),
                         absl::FormatDuration(times.back()));
}

TEST_CASE("while leaders are killed, who asks gets what was true, or is told to come again", "[e2e]") {
  const int kills = FromEnvironment("VISIBILITY_GAP_KILLS", 3);
  World world;
  Row row(&world.cluster());
  REQUIRE(Await(kPatience, [&] {
    return absl::StartsWith(world.cluster().Kubectl(absl::StrCat("get --raw ", kPath, " 2>&1 || true")), "{");
  }));
  std::vector<absl::Duration> without_leader, to_endpoints, to_follow;
  Asker asker(&world.cluster(), &row);
  for (int kill = 0; kill < kills; ++kill) {
    CAPTURE(kill);
    const size_t leader = world.Leader(), other = 1 - leader;
    REQUIRE(Await(kPatience, [&] { return world.replica(other).Ready() && !asker.epoch().empty(); }));
    CHECK(Await(kPatience, [&] { return world.Alone(leader); }));
    const int admitted = row.admitted();
    REQUIRE(Await(kPatience, [&] { return row.admitted() > admitted; }));
    const std::string epoch = asker.epoch();
    world.replica(leader).Kill();
    const absl::Time killed = Now();
    REQUIRE(Await(kPatience, [&] { return asker.epoch() != epoch; }));
    without_leader.push_back(asker.epoch_since() - killed);
    CHECK(Await(kPatience, [&] { return world.Alone(other); }));
    to_endpoints.push_back(world.service().switched() - killed);
    to_follow.push_back(asker.epoch_since() - world.service().switched());
    world.replica(leader).Start();
  }
  const std::vector<std::string> wrong = asker.wrong();
  for (const std::string& answer : wrong) UNSCOPED_INFO(answer);
  CHECK(wrong.empty());
  CHECK(row.trouble().empty());
  CHECK(asker.by_kubectl() > 0);
  WARN(kills << " leaders killed, lease 2s: the next one's picture after " << Times(without_leader)
             << "; the Service's only endpoint after " << Times(to_endpoints) << ", and its first picture "
             << Times(to_follow) << " later; " << asker.answers() << " answers, " << asker.by_kubectl()
             << " of them by kubectl, " << asker.refusals()
             << " of them 503 (pictures older than 1.5s); without data for "
             << absl::FormatDuration(asker.LongestWithoutData()) << " at most; " << row.admitted()
             << " units admitted");
}

}  // namespace
}  // namespace kq::e2e
