#include "services/debug-api/comparison.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kq::debug_api {
namespace {

namespace v1 = queueing::v1;

void Set(google::protobuf::RepeatedPtrField<v1::Amount>* amounts, int64_t cpu) {
  amounts->Clear();
  v1::Amount* amount = amounts->Add();
  amount->set_resource("cpu");
  amount->set_amount(cpu);
}

v1::UnitSnapshot Unit(const std::string& name, const std::string& phase, v1::Place place, int64_t charged) {
  v1::UnitSnapshot unit;
  unit.set_namespace_("n");
  unit.set_name(name);
  unit.set_uid(name + "-uid");
  unit.set_quota("team");
  unit.set_phase(phase);
  unit.set_place(place);
  if (charged > 0) Set(unit.mutable_charged(), charged);
  return unit;
}

// parent <- team, which has one unit that runs (3 cores) and one that waits.
struct World {
  World() {
    parent.set_namespace_("kube-system");
    parent.set_name("parent");
    parent.set_parent("koordinator-root-quota");
    parent.set_lends(true);
    Set(parent.mutable_used(), 3000);
    team = parent;
    team.set_name("team");
    team.set_parent("parent");
    Set(team.mutable_max_amounts(), 4000);
    Set(team.mutable_self_used(), 3000);
    *team.add_charged() = Unit("runs", "Dequeued", v1::ADMITTED, 3000);
    queue.set_name("team");
    *queue.add_waiting() = Unit("waits", "Enqueued", v1::PARKED, 0);

    server.quotas[{"kube-system", "parent"}].parent = "koordinator-root-quota";
    Quota& limits = server.quotas[{"kube-system", "team"}];
    limits.parent = "parent";
    limits.max = {{"cpu", 4000}};
    server.units[{"n", "runs"}] = {"runs-uid", "team", "Dequeued", false, {{"cpu", 3000}}};
    server.units[{"n", "waits"}] = {"waits-uid", "team", "Enqueued", false, {{"cpu", 0}}};
  }
  ServerUnit& At(const std::string& name) { return server.units.at({"n", name}); }

  Comparison Result() const {
    Picture picture;
    picture.quotas["kube-system/parent"] = std::make_shared<const v1::QuotaSnapshot>(parent);
    picture.quotas["kube-system/team"] = std::make_shared<const v1::QuotaSnapshot>(team);
    picture.queues["team"] = std::make_shared<const v1::QueueSnapshot>(queue);
    return Compare(picture, server);
  }
  std::vector<std::string> Found() const {
    std::vector<std::string> found;
    for (const Difference& d : Result().differences) {
      found.push_back(d.object + " " + d.field + ": " + d.books + " | " + d.server);
    }
    return found;
  }

  v1::QuotaSnapshot parent, team;
  v1::QueueSnapshot queue;
  ServerObjects server;
};

using Found = std::vector<std::string>;

TEST_CASE("books that agree with the objects do not differ; an absent amount is 0", "[debug-api]") {
  CHECK(World().Found() == Found{});
}

TEST_CASE("what the books and the objects may differ in", "[debug-api]") {
  struct Case {
    std::string name;
    void (*change)(World*);
    Found want;
  };
  const auto c = GENERATE(values<Case>({
      {"a phase", [](World* w) { w->At("waits").phase = "Reserved"; }, {"n/waits Phase: Enqueued | Reserved"}},
      {"an identity", [](World* w) { w->At("waits").uid = "new"; }, {"n/waits UID: waits-uid | new"}},
      {"a unit that is finished on the server",
       [](World* w) {
         w->At("runs") = {"runs-uid", "team", "Succeed", true, {}};
       },
       {"kube-system/parent Used: cpu=3000 | (nothing)", "kube-system/team SelfUsed: cpu=3000 | (nothing)",
        "kube-system/team Used: cpu=3000 | (nothing)", "n/runs Charged: cpu=3000 | (nothing)",
        "n/runs Phase: Dequeued | Succeed"}},
      {"a unit that the books do not have",
       [](World* w) {
         w->server.units[{"n", "new"}] = {"x", "team", "Enqueued", false, {}};
       },
       {"n/new Exists: not there | there"}},
      {"a finished unit that the books have forgotten",
       [](World* w) {
         w->server.units[{"n", "old"}] = {"x", "team", "Succeed", true, {}};
       },
       {}},
      {"a unit that is gone from the server",
       [](World* w) {
         w->server.units.erase({"n", "waits"});
       },
       {"n/waits Exists: there | not there"}},
      {"the amount of a unit",
       [](World* w) {
         w->At("runs").held = {{"cpu", 2000}};
       },
       {"kube-system/parent Used: cpu=3000 | cpu=2000", "kube-system/team SelfUsed: cpu=3000 | cpu=2000",
        "kube-system/team Used: cpu=3000 | cpu=2000", "n/runs Charged: cpu=3000 | cpu=2000"}},
      {"the quota of a unit", [](World* w) { w->At("waits").quota = "parent"; }, {"n/waits Quota: team | parent"}},
      {"a limit",
       [](World* w) {
         w->server.quotas.at({"kube-system", "team"}).max = {{"cpu", 5000}};
       },
       {"kube-system/team Max: cpu=4000 | cpu=5000"}},
      {"a limit of 0 against none",
       [](World* w) {
         w->server.quotas.at({"kube-system", "parent"}).max = {{"cpu", 0}};
       },
       {"kube-system/parent Max: (nothing) | cpu=0"}},
      {"a minimum",
       [](World* w) {
         w->server.quotas.at({"kube-system", "team"}).min = {{"cpu", 1000}};
       },
       {"kube-system/team Min: (nothing) | cpu=1000"}},
      {"a parent",
       [](World* w) {
         w->server.quotas.at({"kube-system", "team"}).parent = "other";
       },
       {"kube-system/team Parent: parent | other"}},
      {"whether it lends",
       [](World* w) {
         w->server.quotas.at({"kube-system", "team"}).lends = false;
       },
       {"kube-system/team Lends: true | false"}},
      {"a quota that the books do not have",
       [](World* w) {
         w->server.quotas[{"n", "new"}].parent = "x";
       },
       {"n/new Exists: not there | there"}},
      {"a quota that is gone",
       [](World* w) {
         w->server.quotas.erase({"kube-system", "parent"});
       },
       {"kube-system/parent Exists: there | not there"}},
      {"a sum that does not follow from the units",
       [](World* w) { Set(w->parent.mutable_used(), 9000); },
       {"kube-system/parent Used: cpu=9000 | cpu=3000"}},
  }));
  CAPTURE(c.name);
  World world;
  c.change(&world);
  CHECK(world.Found() == c.want);
}

TEST_CASE("an admission that is being written is counted and no difference", "[debug-api]") {
  World world;
  *world.team.add_charged() = Unit("next", "Enqueued", v1::ASSUMED, 1000);
  Set(world.team.mutable_self_used(), 4000);
  Set(world.team.mutable_used(), 4000);
  Set(world.parent.mutable_used(), 4000);
  world.server.units[{"n", "next"}] = {"next-uid", "team", "Enqueued", false, {}};
  CHECK(world.Found() == Found{});
  CHECK(world.Result().on_their_way == 1);
  // Nor once the server has it.
  world.At("next") = {"next-uid", "team", "Dequeued", false, {{"cpu", 1000}}};
  CHECK(world.Found() == Found{});
}

TEST_CASE("a quota out of force has no books to compare", "[debug-api]") {
  World world;
  world.parent.set_shadowed_by("a/parent");
  world.parent.clear_used();
  CHECK(world.Found() == Found{});
}

TEST_CASE("quotas in a cycle are summed once", "[debug-api]") {
  World world;
  world.parent.set_parent("team");
  world.server.quotas.at({"kube-system", "parent"}).parent = "team";
  CHECK(world.Found() == Found{});
}

TEST_CASE("what differs from one picture and not from the next was on its way", "[debug-api]") {
  const Difference phase{"QueueUnit", "n/a", "Phase", "Enqueued", "Dequeued"};
  const Difference later{"QueueUnit", "n/a", "Phase", "Reserved", "Dequeued"};
  const Difference other{"QueueUnit", "n/b", "Phase", "Enqueued", "Dequeued"};
  CHECK(InBoth({phase, other}, {later}) == std::vector<Difference>{phase});
  CHECK(InBoth({phase}, {other}).empty());
  CHECK(InBoth({}, {other}).empty());
}

}  // namespace
}  // namespace kq::debug_api
