#include "cli/kqctl/app.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/kqctl/testing/canned_scheduler.h"
#include "cli/kqctl/testing/pictures.h"
#include "libs/common/json.h"
#include "libs/common/mutex.h"
#include "libs/common/simulated_clock.h"
#include "libs/common/yaml.h"
#include "libs/http/testing/certificates.h"

namespace kq::kqctl {
namespace {

using testing::CannedScheduler;
using testing::CheckGolden;

struct Ran {
  int code = 0;
  std::string out, err;
};

// Runs a command line; single spaces part the words.
Ran Run(const std::string& line) {
  std::ostringstream out, err;
  const SimulatedClock clock(testing::kNow);
  Console console;
  console.out = &out;
  console.err = &err;
  console.clock = &clock;
  Ran ran;
  ran.code = RunKqctl(absl::StrSplit(line, ' ', absl::SkipEmpty()), console);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

Ran RunAt(const CannedScheduler& scheduler, const std::string& line) {
  return Run(absl::StrCat(line, " --server=", scheduler.address()));
}

// What a command prints, which must end well and without complaints.
std::string Output(const CannedScheduler& scheduler, const std::string& line) {
  const Ran ran = RunAt(scheduler, line);
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  return ran.out;
}

TEST_CASE("every command prints its table", "[kqctl]") {
  const CannedScheduler scheduler;
  CheckGolden("queues.txt", Output(scheduler, "queues"));
  CheckGolden("units.txt", Output(scheduler, "units"));
  CheckGolden("quotas.txt", Output(scheduler, "quotas"));
  CheckGolden("explain.txt", Output(scheduler, "explain default/train-big"));
  CheckGolden("snapshot.txt", Output(scheduler, "snapshot"));
  const Ran decisions = RunAt(scheduler, "decisions");
  CheckGolden("decisions.txt", decisions.out);
  CHECK(decisions.err == "16 older decisions are no longer kept in memory\n");
}

TEST_CASE("every command prints JSON and YAML that can be read", "[kqctl]") {
  const CannedScheduler scheduler;
  for (const std::string command : {"queues", "units", "quotas", "explain train-big", "snapshot", "decisions"}) {
    CAPTURE(command);
    const absl::StatusOr<Json> json = ParseJson(Output(scheduler, command + " -o json"));
    REQUIRE(json.ok());
    const absl::StatusOr<Json> yaml = ParseYaml(Output(scheduler, command + " --output=yaml"));
    REQUIRE(yaml.ok());
    CHECK(*json == *yaml);
    CHECK(StringAt(*json, {"id", "epoch"}) == "koord-queue-0_7f3a");
  }
  CheckGolden("units.json", Output(scheduler, "units -o json"));
  CheckGolden("quotas.yaml", Output(scheduler, "quotas -o yaml"));
}

TEST_CASE("the flags of units reach the server", "[kqctl]") {
  const CannedScheduler scheduler;
  Output(scheduler, "units -q team-a -n default --phase Enqueued --limit 10 --offset=20");
  const auto request = scheduler.last_list();
  CHECK(request.queue() == "team-a");
  CHECK(request.namespace_() == "default");
  CHECK(request.phase() == "Enqueued");
  CHECK(request.limit() == 10);
  CHECK(request.offset() == 20);
  Output(scheduler, "units --quota=team-b");
  CHECK(scheduler.last_list().quota() == "team-b");
  CHECK(scheduler.last_list().below());
  CHECK(scheduler.last_list().limit() == 0);
}

TEST_CASE("flags may stand before the command as well", "[kqctl]") {
  const CannedScheduler scheduler;
  const Ran ran = Run(absl::StrCat("--server=", scheduler.address(), " -n default -o json units --phase=Enqueued"));
  CHECK(ran.err.empty());
  CHECK(ran.code == 0);
  CHECK(scheduler.last_list().namespace_() == "default");
  CHECK(scheduler.last_list().phase() == "Enqueued");
  CHECK(ParseJson(ran.out).ok());
}

TEST_CASE("a connection's flags before the command do not get in the way of what needs no scheduler", "[kqctl]") {
  const std::string help = Run("--help").out;
  for (const std::string before : {"--server=a:1 ", "--server a:1 --timeout=1s ", "-server=nonsense "}) {
    CAPTURE(before);
    for (const std::string line : {"--help", "-h", "help"}) CHECK(Run(before + line).out == help);
    CHECK(Run("--help " + before).out == help);
    for (const std::string line : {"version", "version -o json", "--version", "--version -o json", "completion bash",
                                   "completion zsh", "units --help", "version --help", "completion --help"}) {
      CAPTURE(line);
      const Ran ran = Run(before + line);
      CHECK(ran.code == 0);
      CHECK(ran.err.empty());
      CHECK_FALSE(ran.out.empty());
      CHECK(ran.out == Run(line).out);
    }
  }
  CHECK(Run("--server=a:1 --help units").out == Run("units --help").out);
}

TEST_CASE("of several --server the last one is asked, and it alone", "[kqctl]") {
  CannedScheduler follower;
  const CannedScheduler leader;
  follower.StopLeading("pod-2");
  const Ran last = Run(absl::StrCat("--server=", leader.address(), " queues --server=", follower.address()));
  CHECK(last.code == 3);
  CHECK(last.err == "kqctl: " + follower.address() + ": this replica does not lead; the leader is pod-2\n");
  CHECK(Run(absl::StrCat("--server=nowhere queues --server=", follower.address(), ",", leader.address())).code == 0);
}

TEST_CASE("decisions and snapshot ask for what their flags say", "[kqctl]") {
  const CannedScheduler scheduler;
  RunAt(scheduler, "decisions train-big -n team --limit=5");
  CHECK(scheduler.last_decisions().namespace_() == "team");
  CHECK(scheduler.last_decisions().name() == "train-big");
  CHECK(scheduler.last_decisions().limit() == 5);
  Output(scheduler, "snapshot -o json");
  CHECK_FALSE(scheduler.last_snapshot().without_units());
  Output(scheduler, "snapshot -o json --without-units");
  CHECK(scheduler.last_snapshot().without_units());
}

TEST_CASE("a page says where the next one begins", "[kqctl]") {
  CannedScheduler scheduler;
  auto page = testing::Units();
  page.set_total(104);
  page.set_remaining(90);
  scheduler.SetUnits(page);
  CHECK(RunAt(scheduler, "units --limit=4 --offset=10").err == "4 of 104 units; the next ones: --offset=14\n");
}

TEST_CASE("what the server does not know is exit code 1", "[kqctl]") {
  const CannedScheduler scheduler;
  const Ran unit = RunAt(scheduler, "explain default/nobody");
  CHECK(unit.code == 1);
  CHECK(unit.out == "");
  CHECK(unit.err ==
        "kqctl: no unfinished queue unit default/nobody. It may have finished: kubectl get queueunit nobody -n default "
        "-o wide shows its phase, kqctl decisions default/nobody what was decided; see also kubectl -n default get "
        "events --field-selector involvedObject.name=nobody; or the Job is not suspended, or has no label "
        "quota.scheduling.koordinator.sh/name: kubectl -n default get job nobody --show-labels\n");
  const Ran queue = RunAt(scheduler, "units -q nowhere");
  CHECK(queue.code == 1);
  CHECK(queue.err == "kqctl: queue nowhere not found\n");
  const Ran quota = RunAt(scheduler, "units --quota nowhere");
  CHECK(quota.code == 1);
  CHECK(quota.out == "");
  CHECK(quota.err == "kqctl: quota nowhere not found\n");
}

TEST_CASE("where a unit without a namespace was looked for is told when it is not there", "[kqctl]") {
  CannedScheduler scheduler;
  const std::string guess = "; looked in namespace default: give NAMESPACE/NAME or -n NAMESPACE";
  CHECK_THAT(RunAt(scheduler, "explain nobody").err, Catch::Contains("queue unit default/nobody" + guess + ". It may"));
  CHECK_THAT(RunAt(scheduler, "explain nobody -n team").err, Catch::Contains("queue unit team/nobody. It may"));
  CHECK_THAT(RunAt(scheduler, "explain default/nobody").err, !Catch::Contains("looked in"));

  scheduler.ForgetDecisions();
  CHECK(RunAt(scheduler, "decisions nobody").err ==
        "no decisions about default/nobody are kept in memory" + guess + "\n");
  CHECK(RunAt(scheduler, "decisions team/nobody").err == "no decisions about team/nobody are kept in memory\n");
  CHECK(RunAt(scheduler, "decisions").err == "no decisions are kept in memory\n");
}

TEST_CASE("a command or flag that is nearly right is answered with the right one", "[kqctl]") {
  CHECK(Run("qoutas").err == "kqctl: unknown command \"qoutas\"; did you mean quotas?\nSee kqctl --help\n");
  CHECK(Run("unit -w").err == "kqctl: unknown command \"unit\"; did you mean units?\nSee kqctl --help\n");
  CHECK(Run("get units").err == "kqctl: unknown command \"get\"\nSee kqctl --help\n");
  CHECK_THAT(Run("units --ouptut=json").err, Catch::Contains("unknown flag --ouptut; did you mean --output?\n"));
  CHECK_THAT(Run("units -x").err, Catch::StartsWith("kqctl units: unknown flag -x\n"));
}

TEST_CASE("wrong use is exit code 2 and says what is wrong", "[kqctl]") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"frobnicate", "kqctl: unknown command \"frobnicate\""},
      {"--server=a:1", "kqctl: the command is missing"},
      {"--server --help", "kqctl: the command is missing"},
      {"--server=a:1 completion", "kqctl completion: bash|zsh|fish is missing"},
      {"--server= queues", "--server: at least one is needed"},
      {"queues --server=a:1 --server=", "--server: at least one is needed"},
      {"queues --server=a:1,nowhere", "\"nowhere\" is not HOST:PORT"},
      {"--server a:1 frobnicate", "kqctl: unknown command \"frobnicate\""},
      {"--frobnicate queues", "frobnicate"},
      {"units --queue=a --quota=b", "at most one of the two"},
      {"units --limit=-1", "--limit"},
      {"units --phase=Running,", "is not one of Enqueued, "},
      {"units --nonsense", "nonsense"},
      {"units extra", "extra"},
      {"queues -o xml", "kqctl queues: flag -o: \"xml\" is not table, json or yaml\n"},
      {"explain", "kqctl explain: NAMESPACE/NAME is missing"},
      {"explain a b", "kqctl explain: unexpected word \"b\""},
      {"explain a/b/c", "\"a/b/c\" is not NAMESPACE/NAME"},
      {"explain /b", "\"/b\" is not NAMESPACE/NAME"},
      {"queues --server=nowhere", "\"nowhere\" is not HOST:PORT"},
      {"queues --server=a:99999", "\"a:99999\" is not HOST:PORT"},
      {"queues --cert-file=x", "--cert-file and --key-file go together"},
      {"queues --server-name=x", "--server-name needs TLS"},
      {"queues --ca-file=/does/not/exist", "/does/not/exist is empty or cannot be read"},
      {"queues --server=https://a:10260", "\"https://a:10260\" begins with a scheme: give HOST:PORT; --ca-file"},
      {"queues --server=a:1,http://b", "\"http://b\" begins with a scheme"},
      {"queues --timeout=0s", "--timeout: must be at least 1ms"},
      {"queues --timeout=1ns", "--timeout: must be at least 1ms"},
      {"completion tcsh", "\"tcsh\" is not bash, zsh or fish"},
  };
  for (const auto& [line, told] : cases) {
    CAPTURE(line);
    const Ran ran = Run(line);
    CHECK(ran.code == 2);
    CHECK(ran.out == "");
    CHECK_THAT(ran.err, Catch::Contains(told));
    CHECK_THAT(ran.err, Catch::Contains("--help\n"));
  }
  CHECK(Run("").code == 2);
}

TEST_CASE("help is there for all and for each command", "[kqctl]") {
  for (const std::string line : {"--help", "-h", "help"}) {
    const Ran ran = Run(line);
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("explain     Explains why") && Catch::Contains("Exit codes:"));
  }
  for (const std::string command :
       {"queues", "units", "quotas", "explain", "decisions", "snapshot", "version", "completion"}) {
    const Ran ran = Run(command + " --help");
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::StartsWith("Usage: kqctl " + command));
  }
  CheckGolden("units_help.txt", Run("units --help").out);
}

TEST_CASE("the version, for people and scripts", "[kqctl]") {
  CHECK_THAT(Run("version").out, Catch::StartsWith("kqctl "));
  CHECK(Run("--version").out == Run("version").out);
  CHECK(StringAt(*ParseJson(Run("version -o json").out), {"version"}) != "");
}

TEST_CASE("a server that is not there is exit code 3", "[kqctl]") {
  std::string address;
  {
    const CannedScheduler gone;
    address = gone.address();
  }
  const Ran ran = Run("queues --server=" + address);
  CHECK(ran.code == 3);
  CHECK(ran.err == "kqctl: " + address +
                       ": connection refused\n"
                       "A scheduler that the chart installed is reached so, with the files that `helm -n koord-queue "
                       "get notes\nkoord-queue` tells how to get:\n"
                       "  kubectl -n koord-queue port-forward service/koord-queue 10260 &\n"
                       "  kqctl queues --ca-file=ca.crt --cert-file=client.crt --key-file=client.key\n");
}

// Listens and never says a word.
class SilentServer {
 public:
  SilentServer() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(socket_, 8) == 0);
    REQUIRE(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  ~SilentServer() { close(socket_); }
  const std::string& address() const { return address_; }

 private:
  const int socket_;
  std::string address_;
};

TEST_CASE("a server that does not answer is waited for as long as --timeout says", "[kqctl]") {
  const SilentServer silent;
  const Ran ran = Run(absl::StrCat("queues --timeout=200ms --server=", silent.address()));
  CHECK(ran.code == 3);
  CHECK(ran.err == absl::StrCat("kqctl: ", silent.address(), ": no answer within 200ms\n"));
}

TEST_CASE("of several servers the one that leads answers", "[kqctl]") {
  CannedScheduler follower;
  const CannedScheduler leader;
  const SilentServer silent;
  follower.StopLeading("pod-2");
  const std::string all = absl::StrCat(follower.address(), ",", silent.address(), ",", leader.address());
  // The silent one would need the whole timeout.
  const Ran ran = Run("queues --timeout=60s --server=" + all);
  CHECK(ran.code == 0);
  CheckGolden("queues.txt", ran.out);
}

TEST_CASE("without a leader each server is told with its reason", "[kqctl]") {
  CannedScheduler follower;
  follower.StopLeading("pod-2");
  const SilentServer silent;
  const Ran one = RunAt(follower, "queues");
  CHECK(one.code == 3);
  CHECK(one.err == "kqctl: " + follower.address() + ": this replica does not lead; the leader is pod-2\n");
  const Ran two = Run(absl::StrCat("queues --timeout=300ms --server=", follower.address(), ",", silent.address()));
  CHECK(two.code == 3);
  CHECK(two.err == absl::StrCat("kqctl: none of the servers leads: ", follower.address(),
                                ": this replica does not lead; the leader is pod-2; ", silent.address(),
                                ": no answer within 300ms\n"));
}

TEST_CASE("TLS with client certificates", "[kqctl]") {
  const kq::testing::TestFolder folder;
  const kq::testing::TestAuthority authority;
  const auto own =
      authority.IssueServer({.common_name = "scheduler", .names = {"scheduler.example"}, .organizations = {}});
  const auto client = authority.IssueClient({.common_name = "operator", .names = {}, .organizations = {}});
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = authority.certificate_pem();
  tls.pem_key_cert_pairs.push_back({own.key_pem, own.certificate_pem});
  const CannedScheduler scheduler(grpc::SslServerCredentials(tls));

  const std::string files = absl::StrCat(" --ca-file=", folder.Write("ca", authority.certificate_pem()),
                                         " --cert-file=", folder.Write("crt", client.certificate_pem),
                                         " --key-file=", folder.Write("key", client.key_pem));
  CheckGolden("queues.txt", Output(scheduler, absl::StrCat("queues", files, " --server-name=scheduler.example")));

  const Ran wrong_name = RunAt(scheduler, absl::StrCat("queues", files));
  CHECK(wrong_name.code == 3);
  CHECK_THAT(wrong_name.err, Catch::Contains("do the certificates fit?"));
  const Ran plain = RunAt(scheduler, "queues");
  CHECK(plain.code == 3);
  CHECK_THAT(plain.err, Catch::Contains("TLS needs --ca-file") && Catch::Contains("  kqctl queues --ca-file=ca.crt "));
}

TEST_CASE("completion scripts know every command and flag", "[kqctl]") {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    const Ran ran = Run("completion " + shell);
    CHECK(ran.code == 0);
    for (const std::string word : {"queues", "units", "quotas", "explain", "decisions", "snapshot", "version",
                                   "completion", "server", "offset", "without-units", "zsh"}) {
      CAPTURE(word);
      CHECK_THAT(ran.out, Catch::Contains(word));
    }
  }
}

// A text that one thread writes and another waits for.
class SharedText : public std::streambuf {
 public:
  std::string Await(const std::function<bool(const std::string&)>& done) {
    MutexLock lock(&mu_);
    while (!done(text_)) written_.WaitFor(&mu_, absl::InfiniteDuration());
    return text_;
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    MutexLock lock(&mu_);
    text_.append(text, static_cast<size_t>(size));
    written_.SignalAll();
    return size;
  }
  int overflow(int c) override {
    const char one = static_cast<char>(c);
    xsputn(&one, 1);
    return c;
  }

 private:
  Mutex mu_;
  CondVar written_;
  std::string text_ ABSL_GUARDED_BY(mu_);
};

// A kqctl that runs until no server is left.
class Watching {
 public:
  Watching(const CannedScheduler& scheduler, const std::string& line) : out_(&out), err_(&err) {
    Console console;
    console.out = &out_;
    console.err = &err_;
    console.clock = &Clock::Real();
    const std::string words = absl::StrCat(line, " --timeout=200ms --server=", scheduler.address());
    thread_ = std::thread([this, console, words] { code_ = RunKqctl(absl::StrSplit(words, ' '), console); });
  }
  int Code() {
    thread_.join();
    return code_;
  }

  SharedText out, err;

 private:
  std::ostream out_, err_;
  int code_ = -1;
  std::thread thread_;
};

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("watching units appends what changed, until no leader is left", "[kqctl]") {
  CannedScheduler scheduler;
  Watching kqctl(scheduler, "units -w");
  kqctl.out.Await([](const std::string& text) { return Has(text, "train-small"); });

  auto units = testing::Units();
  units.mutable_units()->DeleteSubrange(2, 2);
  units.mutable_units(1)->set_place(queueing::v1::READY);
  units.mutable_units(1)->clear_refusal();
  scheduler.SetUnits(units);
  const std::string text = kqctl.out.Await([](const std::string& t) { return Has(t, "gone"); });
  // The header once, the unit that did not change once.
  CHECK(text.find("NAMESPACE") == text.rfind("NAMESPACE"));
  CHECK(text.find("train-big") == text.rfind("train-big"));
  CHECK(text.find("train-small") != text.rfind("train-small"));

  scheduler.Stop();
  CHECK(kqctl.Code() == 3);
  const std::string complaints = kqctl.err.Await([](const std::string& t) { return Has(t, "kqctl: "); });
  CHECK_THAT(complaints, Catch::Contains(scheduler.address() + ": "));
}

TEST_CASE("watching for scripts writes a line of JSON per change", "[kqctl]") {
  CannedScheduler scheduler;
  Watching kqctl(scheduler, "units -w -o json");
  kqctl.out.Await([](const std::string& text) { return Has(text, "\n"); });
  auto units = testing::Units();
  units.mutable_units()->DeleteSubrange(0, 3);
  scheduler.SetUnits(units);
  const std::string text = kqctl.out.Await([](const std::string& t) { return t.find('\n') != t.rfind('\n'); });
  scheduler.Stop();
  CHECK(kqctl.Code() == 3);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  REQUIRE(lines.size() == 2);
  CHECK(ParseJson(lines[0])->at("units").as_array().size() == 4);
  CHECK(ParseJson(lines[1])->at("units").as_array().size() == 1);
}

TEST_CASE("a watch that the server refuses ends at once", "[kqctl]") {
  const CannedScheduler scheduler;
  const Ran ran = RunAt(scheduler, "units -w -q nowhere");
  CHECK(ran.code == 1);
  CHECK(ran.err == "kqctl: queue nowhere not found\n");
}

}  // namespace
}  // namespace kq::kqctl
