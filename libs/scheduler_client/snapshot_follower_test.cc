#include "libs/scheduler_client/snapshot_follower.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/clock.h"
#include "libs/common/simulated_clock.h"
#include "libs/http/testing/certificates.h"
#include "libs/scheduler_client/testing/fake_scheduler.h"

namespace kq {
namespace {

namespace v1 = queueing::v1;
using testing::FakeScheduler;

const absl::Time kStart = absl::UnixEpoch() + absl::Hours(24);

// True once `condition` is; false if it is not within a minute.
bool Await(const std::function<bool()>& condition) {
  const absl::Time deadline = Clock::Real().TimeNow() + absl::Minutes(1);
  while (!condition()) {
    if (Clock::Real().TimeNow() > deadline) return false;
    Clock::Real().SleepFor(absl::Milliseconds(2));
  }
  return true;
}

v1::SnapshotChange Change(const std::string& epoch, uint64_t revision) {
  v1::SnapshotChange change;
  change.mutable_id()->set_epoch(epoch);
  change.mutable_id()->set_revision(revision);
  return change;
}

v1::SnapshotChange Whole(const std::string& epoch, const std::string& queue) {
  v1::SnapshotChange change = Change(epoch, 1);
  change.set_whole(true);
  change.add_queues()->set_name(queue);
  return change;
}

// A follower with its thread.
class Followed {
 public:
  explicit Followed(std::vector<std::string> servers) : Followed(OptionsFor(std::move(servers))) {}
  explicit Followed(const SchedulerConnectionOptions& options)
      : follower_(options, &clock), thread_([this] { follower_.Run(); }) {}
  ~Followed() { Stop(); }

  void Stop() {
    follower_.Stop();
    if (thread_.joinable()) thread_.join();
  }
  Following Look() const { return follower_.Look(); }
  bool Sees(const std::string& epoch, uint64_t revision) const {
    const Following now = Look();
    return now.connection.ok() && now.picture != nullptr && now.picture->id.epoch() == epoch &&
           now.picture->id.revision() == revision;
  }

  SimulatedClock clock{kStart};

 private:
  static SchedulerConnectionOptions OptionsFor(std::vector<std::string> servers) {
    SchedulerConnectionOptions options;
    options.servers = std::move(servers);
    return options;
  }

  SnapshotFollower follower_;
  std::thread thread_;
};

TEST_CASE("a follower sees the whole picture and what changes", "[scheduler_client]") {
  FakeScheduler scheduler;
  scheduler.Send(Whole("e1", "a"));
  Followed followed({scheduler.address()});
  REQUIRE(Await([&] { return followed.Sees("e1", 1); }));
  const Following first = followed.Look();
  CHECK(first.server == scheduler.address());
  CHECK(first.heard == kStart);
  CHECK(first.picture->queues.count("a") == 1);

  v1::SnapshotChange change = Change("e1", 5);
  change.add_queues()->set_name("b");
  scheduler.Send(change);
  REQUIRE(Await([&] { return followed.Sees("e1", 5); }));
  const Following second = followed.Look();
  CHECK(second.picture->queues.size() == 2);
  CHECK(second.picture->queues.at("a") == first.picture->queues.at("a"));
}

TEST_CASE("a sign of life says that the picture still holds", "[scheduler_client]") {
  FakeScheduler scheduler;
  scheduler.Send(Whole("e1", "a"));
  Followed followed({scheduler.address()});
  REQUIRE(Await([&] { return followed.Sees("e1", 1); }));
  const auto picture = followed.Look().picture;

  followed.clock.Advance(absl::Seconds(2));
  CHECK(followed.Look().heard == kStart);
  scheduler.Send(Change("e1", 1));
  REQUIRE(Await([&] { return followed.Look().heard == kStart + absl::Seconds(2); }));
  CHECK(followed.Look().picture == picture);
}

TEST_CASE("before any scheduler is found there is no picture, and the reason is told", "[scheduler_client]") {
  std::string nobody;
  {
    FakeScheduler gone;
    nobody = gone.address();
  }
  Followed followed({nobody});
  REQUIRE(Await([&] { return followed.Look().connection.message() == nobody + ": connection refused"; }));
  CHECK(followed.Look().picture == nullptr);
  CHECK(followed.Look().heard == absl::InfinitePast());
  CHECK(followed.Look().server.empty());
}

// As behind a Service whose endpoint is on a node that is lost: until it has another, who calls gets no answer.
TEST_CASE("a server that takes a connection and says nothing is given up before long", "[scheduler_client]") {
  const int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(silent, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(silent, 5) == 0);
  REQUIRE(getsockname(silent, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const std::string server = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  const absl::Time begun = Clock::Real().TimeNow();
  Followed followed({server});
  CHECK(Await([&] { return absl::StartsWith(followed.Look().connection.message(), server); }));
  CHECK(Clock::Real().TimeNow() - begun < absl::Seconds(8));
  close(silent);
}

TEST_CASE("of several servers the one that leads is followed, and after it the next", "[scheduler_client]") {
  FakeScheduler one, two;
  one.StopLeading("two");
  two.Send(Whole("e2", "a"));
  Followed followed({one.address(), two.address()});
  REQUIRE(Await([&] { return followed.Sees("e2", 1); }));
  CHECK(followed.Look().server == two.address());

  one.Send(Whole("e3", "a"));
  one.Lead();
  const absl::Time moved = Clock::Real().TimeNow();
  two.StopLeading("one");
  REQUIRE(Await([&] { return followed.Sees("e3", 1); }));
  const absl::Duration took = Clock::Real().TimeNow() - moved;
  CHECK(followed.Look().server == one.address());
  // Field report 115 wants 2 s. Printed, for a busy machine is no fault of the follower; a
  // channel that keeps to its old address (30 s and more) fails.
  WARN("followed the new leader after " << absl::FormatDuration(took));
  CHECK(took < absl::Seconds(20));
}

TEST_CASE("the last picture is kept while nobody leads", "[scheduler_client]") {
  FakeScheduler scheduler;
  scheduler.Send(Whole("e1", "a"));
  Followed followed({scheduler.address()});
  REQUIRE(Await([&] { return followed.Sees("e1", 1); }));

  followed.clock.Advance(absl::Minutes(5));
  scheduler.StopLeading("somebody");
  const std::string reason = scheduler.address() + ": this replica does not lead; the leader is somebody";
  REQUIRE(Await([&] { return followed.Look().connection.message() == reason; }));
  const Following now = followed.Look();
  CHECK(now.picture->id.epoch() == "e1");
  CHECK(now.heard == kStart);
  CHECK(now.server == scheduler.address());
}

TEST_CASE("a scheduler that was away is followed again, with its new epoch", "[scheduler_client]") {
  auto scheduler = std::make_unique<FakeScheduler>();
  const int port = scheduler->port();
  scheduler->Send(Whole("e1", "a"));
  Followed followed({scheduler->address()});
  REQUIRE(Await([&] { return followed.Sees("e1", 1); }));

  scheduler = nullptr;
  REQUIRE(Await([&] { return !followed.Look().connection.ok(); }));
  scheduler = std::make_unique<FakeScheduler>(grpc::InsecureServerCredentials(), port);
  scheduler->Send(Whole("e2", "b"));
  REQUIRE(Await([&] { return followed.Sees("e2", 1); }));
  CHECK(followed.Look().picture->queues.count("a") == 0);
}

TEST_CASE("a stream that does not follow on the picture is begun anew", "[scheduler_client]") {
  FakeScheduler scheduler;
  scheduler.Send(Whole("e1", "a"));
  Followed followed({scheduler.address()});
  REQUIRE(Await([&] { return followed.Sees("e1", 1); }));

  scheduler.Send(Change("e9", 2));
  scheduler.ForgetSent();
  REQUIRE(Await([&] { return scheduler.watches() == 2; }));
  CHECK(followed.Look().picture->id.epoch() == "e1");
  scheduler.Send(Whole("e9", "a"));
  REQUIRE(Await([&] { return followed.Sees("e9", 1); }));
}

TEST_CASE("certificates are read anew at each connection", "[scheduler_client]") {
  const testing::TestFolder folder;
  const testing::TestAuthority authority, other;
  const auto own = testing::LocalhostCertificate(authority);
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = authority.certificate_pem();
  tls.pem_key_cert_pairs.push_back({own.key_pem, own.certificate_pem});
  FakeScheduler scheduler(grpc::SslServerCredentials(tls));
  scheduler.Send(Whole("e1", "a"));

  const auto write = [&](const testing::TestAuthority& by) {
    const auto client = by.IssueClient({.common_name = "debug-api", .names = {}, .organizations = {}});
    folder.Write("crt", client.certificate_pem);
    folder.Write("key", client.key_pem);
  };
  write(other);
  SchedulerConnectionOptions options;
  options.servers = {scheduler.address()};
  options.ca_file = folder.Write("ca", authority.certificate_pem());
  options.certificate_file = folder.Path("crt");
  options.key_file = folder.Path("key");
  Followed followed(options);
  REQUIRE(Await([&] { return absl::StrContains(followed.Look().connection.message(), "do the certificates fit?"); }));
  write(authority);
  REQUIRE(Await([&] { return followed.Sees("e1", 1); }));
}

TEST_CASE("a follower stops while it watches and while it waits", "[scheduler_client]") {
  FakeScheduler scheduler;
  scheduler.Send(Whole("e1", "a"));
  Followed watching({scheduler.address()});
  REQUIRE(Await([&] { return watching.Sees("e1", 1); }));
  watching.Stop();
  CHECK_FALSE(watching.Look().connection.ok());
  CHECK(watching.Look().picture != nullptr);

  scheduler.StopLeading("nobody");
  Followed waiting({scheduler.address()});
  REQUIRE(Await([&] { return waiting.Look().connection.message() != "no scheduler was asked yet"; }));
  waiting.Stop();
  CHECK(waiting.Look().picture == nullptr);
}

}  // namespace
}  // namespace kq
