#include "libs/kube/lease.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"

namespace kq {
namespace {

using Kind = FakeFault::Kind;
using Verb = FakeCall::Verb;
using Role = Lease::Role;

const KubeResource kLeases = {"coordination.k8s.io", "v1", "leases"};
const ObjectKey kKey = {"default", "example-lease"};

// One process: its own connection to the server, which can be made to fail.
struct Replica {
  Replica(FakeKubeApi* server, const Clock* clock, const std::string& name, LeaseOptions options) {
    api = server->Connect([this](const FakeCall& call) {
      if (call.verb != Verb::kGet) ++writes;
      return faults ? faults(call) : FakeFault{fault};
    });
    options.identity = name;
    REQUIRE(ValidateLeaseOptions(options).ok());
    lease = std::make_unique<Lease>(options, api.get(), clock);
    next = clock->TimeNow();
  }
  // Steps if its time has come.
  void Run(absl::Time now) {
    if (alive && now >= next) next = now + lease->Step();
  }

  Kind fault = Kind::kNone;
  FakeFaults faults;
  int writes = 0;
  bool alive = true;
  absl::Time next;
  std::unique_ptr<KubeApi> api;
  std::unique_ptr<Lease> lease;
};

struct World {
  World() { server.AddResource(kLeases, {.kind = "Lease"}); }

  Replica& Add(const std::string& name, const LeaseOptions& options = {}) {
    replicas.push_back(std::make_unique<Replica>(&server, &clock, name, options));
    return *replicas.back();
  }
  // Lets the time pass in small steps; returns how many replicas could write at
  // once at the worst moment.
  int Pass(absl::Duration duration) {
    int most = 0;
    for (const absl::Time end = clock.TimeNow() + duration; clock.TimeNow() < end;) {
      clock.Advance(absl::Milliseconds(100));
      for (const auto& replica : replicas) replica->Run(clock.TimeNow());
      int writers = 0;
      for (const auto& replica : replicas) writers += replica->lease->MayWrite() ? 1 : 0;
      most = std::max(most, writers);
    }
    return most;
  }
  // How long until the replica leads; at most `limit`.
  absl::Duration UntilLeader(const Replica& replica, absl::Duration limit) {
    const absl::Time begin = clock.TimeNow();
    while (replica.lease->role() != Role::kLeader && clock.TimeNow() < begin + limit) Pass(absl::Milliseconds(100));
    return clock.TimeNow() - begin;
  }
  Json Record(const ObjectKey& key = kKey) {
    const Json lease = server.Connect()->Get(kLeases, key).value();
    return *Find(lease, {"spec"});
  }
  // A lease that somebody else wrote.
  void Put(const std::string& holder, int64_t seconds) {
    const Json lease = {{"apiVersion", "coordination.k8s.io/v1"},
                        {"kind", "Lease"},
                        {"metadata", {{"name", kKey.name}}},
                        {"spec",
                         {{"holderIdentity", holder},
                          {"leaseDurationSeconds", seconds},
                          {"acquireTime", "2020-01-01T00:00:00.000000Z"},
                          {"renewTime", "2020-01-01T00:00:00.000000Z"},
                          {"leaseTransitions", 3}}}};
    REQUIRE(server.Connect()->Create(kLeases, kKey.ns, lease).ok());
  }

  SimulatedClock clock{absl::FromUnixSeconds(1700000000)};
  FakeKubeApi server{{.clock = &clock}};
  std::vector<std::unique_ptr<Replica>> replicas;
};

TEST_CASE("the first candidate creates the lease and leads") {
  World world;
  Replica& a = world.Add("a");
  CHECK(a.lease->role() == Role::kFollower);
  CHECK_FALSE(a.lease->Health().ok());
  CHECK(a.lease->LeaderSince() == absl::InfinitePast());
  CHECK(a.lease->Step() == absl::Seconds(2));
  CHECK(a.lease->role() == Role::kLeader);
  CHECK(a.lease->MayWrite());
  CHECK(a.lease->Holder() == "a");
  CHECK(a.lease->Health().ok());
  CHECK(a.lease->LeaderSince() == world.clock.TimeNow());
  CHECK(world.Record() == Json{{"holderIdentity", "a"},
                               {"leaseDurationSeconds", 15},
                               {"acquireTime", "2023-11-14T22:13:20.000000Z"},
                               {"renewTime", "2023-11-14T22:13:20.000000Z"},
                               {"leaseTransitions", 0}});
}

TEST_CASE("the holder renews and keeps when it acquired") {
  World world;
  Replica& a = world.Add("a");
  a.lease->Step();
  world.clock.Advance(absl::Milliseconds(2500));
  a.lease->Step();
  CHECK(world.server.Calls(Verb::kGet) == 1);  // a renewal is one call
  CHECK(StringAt(world.Record(), {"renewTime"}) == "2023-11-14T22:13:22.500000Z");
  CHECK(StringAt(world.Record(), {"acquireTime"}) == "2023-11-14T22:13:20.000000Z");
}

TEST_CASE("a released lease is taken without waiting") {
  World world;
  Replica& a = world.Add("a");
  Replica& b = world.Add("b");
  world.Pass(absl::Seconds(5));
  REQUIRE(a.lease->role() == Role::kLeader);
  CHECK(b.lease->Holder() == "a");
  CHECK(a.lease->Release().ok());
  CHECK(a.lease->role() == Role::kReleased);
  CHECK_FALSE(a.lease->MayWrite());
  CHECK(StringAt(world.Record(), {"holderIdentity"}).empty());
  CHECK(*Find(world.Record(), {"leaseDurationSeconds"}) == Json(1));
  CHECK(world.UntilLeader(b, absl::Seconds(30)) <= absl::Seconds(1));
  CHECK(*Find(world.Record(), {"leaseTransitions"}) == Json(1));
  world.Pass(absl::Seconds(20));
  CHECK(a.lease->role() == Role::kReleased);
}

TEST_CASE("a follower that releases leaves the lease alone") {
  World world;
  Replica& a = world.Add("a");
  Replica& b = world.Add("b");
  world.Pass(absl::Seconds(3));
  CHECK(b.lease->Release().ok());
  CHECK(b.writes == 0);
  CHECK(a.lease->MayWrite());
}

TEST_CASE("a release whose answer was lost or that met a foreign change is read and done again") {
  const Kind fault = GENERATE(Kind::kAnswerLost, Kind::kRequestLost, Kind::kConflict);
  World world;
  Replica& a = world.Add("a");
  a.lease->Step();
  a.faults = [fault, left = 1](const FakeCall& call) mutable {
    return FakeFault{call.verb == Verb::kUpdate && left-- > 0 ? fault : Kind::kNone};
  };
  CHECK(a.lease->Release().ok());
  CHECK(StringAt(world.Record(), {"holderIdentity"}).empty());
}

TEST_CASE("an acquisition whose answer was lost counts once it was read") {
  const Kind fault = GENERATE(Kind::kAnswerLost, Kind::kRequestLost);
  World world;
  Replica& a = world.Add("a");
  a.faults = [fault, left = 1](const FakeCall& call) mutable {
    return FakeFault{call.verb == Verb::kCreate && left-- > 0 ? fault : Kind::kNone};
  };
  a.lease->Step();
  CHECK(a.lease->role() == Role::kLeader);
  CHECK(a.lease->MayWrite());
  CHECK(StringAt(world.Record(), {"holderIdentity"}) == "a");
}

TEST_CASE("two candidates that meet a free lease: one leads") {
  World world;
  Replica& a = world.Add("a");
  Replica& b = world.Add("b");
  // While a creates, b is faster.
  a.faults = [&, left = 1](const FakeCall& call) mutable {
    if (call.verb == Verb::kCreate && left-- > 0) b.lease->Step();
    return FakeFault();
  };
  a.lease->Step();
  CHECK(b.lease->role() == Role::kLeader);
  CHECK(a.lease->role() == Role::kFollower);
  CHECK(a.lease->Holder() == "b");
  CHECK(a.lease->Health().ok());
}

TEST_CASE("a foreign change of the lease object does not cost the leadership") {
  World world;
  Replica& a = world.Add("a");
  a.lease->Step();
  const Json patch = {{"metadata", {{"labels", {{"touched", "yes"}}}}}};
  REQUIRE(world.server.Connect()->Patch({kLeases, kKey, Subresource::kNone, PatchType::kMerge, patch}).ok());
  a.lease->Step();
  CHECK(a.lease->MayWrite());
  CHECK(a.lease->Health().ok());
  const Json lease = world.server.Connect()->Get(kLeases, kKey).value();
  CHECK(StringAt(lease, {"metadata", "labels", "touched"}) == "yes");
}

TEST_CASE("a holder that sees another one has lost for good") {
  World world;
  Replica& a = world.Add("a");
  a.lease->Step();
  const Json patch = {{"spec", {{"holderIdentity", "thief"}}}};
  REQUIRE(world.server.Connect()->Patch({kLeases, kKey, Subresource::kNone, PatchType::kMerge, patch}).ok());
  a.lease->Step();
  CHECK(a.lease->role() == Role::kLost);
  CHECK_FALSE(a.lease->MayWrite());
  CHECK(a.lease->Holder() == "thief");
  CHECK(absl::StrContains(a.lease->Health().message(), "thief"));
  const int writes = a.writes;
  world.Pass(absl::Minutes(1));
  CHECK(a.lease->role() == Role::kLost);
  CHECK(a.writes == writes);
}

TEST_CASE("a lease that was deleted is created again by its holder") {
  World world;
  Replica& a = world.Add("a");
  a.lease->Step();
  DeleteRequest request;
  request.resource = kLeases;
  request.key = kKey;
  REQUIRE(world.server.Connect()->Delete(request).ok());
  a.lease->Step();
  CHECK(a.lease->MayWrite());
  CHECK(StringAt(world.Record(), {"holderIdentity"}) == "a");
}

TEST_CASE("a clock that is set back stops the writes until the next renewal") {
  World world;
  Replica& a = world.Add("a");
  a.lease->Step();
  world.clock.Advance(-absl::Hours(1));
  CHECK_FALSE(a.lease->MayWrite());
  CHECK(a.lease->role() == Role::kLeader);
  a.lease->Step();
  CHECK(a.lease->MayWrite());
}

TEST_CASE("a candidate whose clock is set back waits its time out and no longer") {
  World world;
  world.Put("dead", 15);
  Replica& a = world.Add("a");
  world.Pass(absl::Seconds(5));
  world.clock.Advance(-absl::Hours(1));
  a.next = world.clock.TimeNow();
  const absl::Duration waited = world.UntilLeader(a, absl::Minutes(2));
  CHECK(waited >= absl::Seconds(10));
  CHECK(waited <= absl::Seconds(12));
}

TEST_CASE("a leader that was stopped and finds nobody else goes on, and writes only after it has renewed") {
  World world;
  Replica& a = world.Add("a");
  a.lease->Step();
  world.clock.Advance(absl::Minutes(1));
  CHECK_FALSE(a.lease->MayWrite());
  a.lease->Step();
  CHECK(a.lease->MayWrite());
}

TEST_CASE("a server that cannot be reached is told and tried again") {
  World world;
  Replica& a = world.Add("a");
  a.fault = Kind::kRefused;
  CHECK(a.lease->Step() == absl::Seconds(1));
  CHECK(a.lease->role() == Role::kFollower);
  CHECK(a.lease->Health().message() == "read lease: connect: connection refused");
  a.fault = Kind::kNone;
  a.lease->Step();
  CHECK(a.lease->role() == Role::kLeader);
}

// Rows of the field reports.

TEST_CASE("row 106: of two replicas only the holder writes, for as long as both run") {
  World world;
  Replica& a = world.Add("a");
  Replica& b = world.Add("b");
  CHECK(world.Pass(absl::Seconds(60)) == 1);
  CHECK(a.lease->MayWrite());
  CHECK(b.lease->role() == Role::kFollower);
  CHECK(b.lease->LeaderSince() == absl::InfinitePast());
  CHECK(b.writes == 0);
}

TEST_CASE("row 107: a second installation with a lease in another namespace leads beside the first") {
  World world;
  LeaseOptions other;
  other.key = {"second", "example-lease"};
  Replica& a = world.Add("a");
  Replica& b = world.Add("b", other);
  world.Pass(absl::Seconds(30));
  CHECK(a.lease->MayWrite());
  CHECK(b.lease->MayWrite());
}

TEST_CASE("row 107: a lease that another component holds is waited for, and its holder is named") {
  World world;
  world.Put("kube-controller-manager-x", 3600);
  Replica& a = world.Add("a");
  world.Pass(absl::Minutes(5));
  CHECK(a.lease->role() == Role::kFollower);
  CHECK(a.lease->Health().ok());
  CHECK(a.lease->Holder() == "kube-controller-manager-x");
  CHECK_FALSE(LooksLikeOurs(a.lease->Holder()));
}

TEST_CASE("row 110: cut off, the leader stops writing at its renew deadline, before the standby takes over") {
  const Kind fault = GENERATE(Kind::kRefused, Kind::kRequestLost, Kind::kTooManyRequests, Kind::kInternal);
  World world;
  Replica& a = world.Add("a");
  Replica& b = world.Add("b");
  world.Pass(absl::Seconds(20));
  REQUIRE(a.lease->MayWrite());

  a.fault = fault;
  const absl::Time cut = world.clock.TimeNow();
  int most = 0;
  while (a.lease->MayWrite()) most = std::max(most, world.Pass(absl::Milliseconds(100)));
  CHECK(world.clock.TimeNow() - cut <= absl::Seconds(10));
  CHECK(world.clock.TimeNow() - cut >= absl::Seconds(7));
  most = std::max(most, world.Pass(absl::Seconds(1)));
  CHECK(a.lease->role() == Role::kLost);
  CHECK(b.lease->role() == Role::kFollower);
  while (b.lease->role() != Role::kLeader) most = std::max(most, world.Pass(absl::Milliseconds(100)));
  CHECK(world.clock.TimeNow() - cut >= absl::Seconds(12));
  CHECK(world.clock.TimeNow() - cut <= absl::Seconds(16));
  CHECK(most == 1);

  a.fault = Kind::kNone;  // too late
  CHECK(world.Pass(absl::Seconds(30)) == 1);
  CHECK(a.lease->role() == Role::kLost);
}

TEST_CASE("row 112: a standby waits a full lease after its own first sight of a dead holder") {
  World world;
  world.Put("dead", 15);  // its renewTime lies years back: that says nothing to another clock
  Replica& a = world.Add("a");
  const absl::Duration waited = world.UntilLeader(a, absl::Minutes(2));
  CHECK(waited >= absl::Seconds(15));
  CHECK(waited <= absl::Seconds(15) + absl::Milliseconds(300));
  CHECK(*Find(world.Record(), {"leaseTransitions"}) == Json(4));
}

TEST_CASE("row 112: every sign of life of the holder begins the wait anew") {
  World world;
  Replica& a = world.Add("a");
  Replica& b = world.Add("b");
  world.Pass(absl::Minutes(2));
  REQUIRE(a.lease->role() == Role::kLeader);
  a.alive = false;
  const absl::Duration waited = world.UntilLeader(b, absl::Minutes(1));
  CHECK(waited >= absl::Seconds(13));  // it died up to a retry period after its last renewal
  CHECK(waited <= absl::Seconds(16));
}

TEST_CASE("row 113: the duration that counts is the record's, not the candidate's") {
  World world;
  LeaseOptions slow;
  slow.duration = absl::Seconds(60);
  Replica& a = world.Add("a", slow);
  world.Pass(absl::Seconds(1));
  a.alive = false;
  Replica& b = world.Add("b");
  const absl::Duration waited = world.UntilLeader(b, absl::Minutes(3));
  CHECK(waited >= absl::Seconds(60));
  CHECK(waited <= absl::Seconds(61));
  CHECK(*Find(world.Record(), {"leaseDurationSeconds"}) == Json(15));
}

TEST_CASE("all options that do not fit are told at once") {
  LeaseOptions options;
  options.identity = "a";
  CHECK(ValidateLeaseOptions(options).ok());
  options.identity.clear();
  options.duration = absl::Seconds(5);
  options.retry_period = absl::Seconds(9);
  const absl::Status status = ValidateLeaseOptions(options);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message() ==
        "lease identity must be set; lease duration 5s must be longer than renew deadline 10s; "
        "renew deadline 10s must be longer than 1.2 times retry period 9s");
}

TEST_CASE("identities are unique and known again") {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string identity = NewLeaseIdentity("host-1");
    CHECK(LooksLikeOurs(identity));
    CHECK(identity.rfind("host-1_", 0) == 0);
    CHECK(identity[7 + 14] == '4');
    seen.insert(identity);
  }
  CHECK(seen.size() == 100);
}

TEST_CASE("which holders look like ours") {
  CHECK(LooksLikeOurs("0f332618-4ba1-4d82-891f-eab5a7000000"));
  CHECK(LooksLikeOurs("pod_with_underscores_0f332618-4ba1-4d82-891f-eab5a7000000"));
  for (const char* other : {"", "host", "_0f332618-4ba1-4d82-891f-eab5a7000000", "host_0f332618",
                            "0f332618-4ba1-4d82-891f-eab5a700000g", "0f332618x4ba1-4d82-891f-eab5a7000000"}) {
    CAPTURE(other);
    CHECK_FALSE(LooksLikeOurs(other));
  }
}

}  // namespace
}  // namespace kq
