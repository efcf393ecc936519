#include "services/scheduler/runtime/decision_ring.h"

#include <catch2/catch.hpp>
#include <vector>

namespace kq::scheduler {
namespace {

Turn TurnOf(int decisions) {
  Turn turn;
  turn.events = std::make_shared<const std::vector<Event>>();
  turn.now = absl::FromUnixSeconds(decisions);
  turn.decisions = std::make_shared<const std::vector<Decision>>(decisions, Decision(Notify{}));
  return turn;
}

TEST_CASE("decisions are numbered from 1 and kept turn by turn, oldest first") {
  DecisionRing ring(10);
  ring.Record(TurnOf(2));
  ring.Record(TurnOf(0));
  ring.Record(TurnOf(3));
  const std::vector<DecisionRing::Entry> entries = ring.Entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].first == 1);
  CHECK(entries[0].decisions->size() == 2);
  CHECK(entries[1].first == 3);
  CHECK(entries[1].now == absl::FromUnixSeconds(3));
}

TEST_CASE("as few turns are kept as hold the limit") {
  DecisionRing ring(4);
  for (int i = 0; i < 5; ++i) ring.Record(TurnOf(2));
  const std::vector<DecisionRing::Entry> entries = ring.Entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].first == 7);
  ring.Record(TurnOf(100));
  CHECK(ring.Entries().size() == 1);
  CHECK(ring.Entries()[0].first == 11);
}

TEST_CASE("a turn without a cycle is left out") {
  DecisionRing ring(0);
  Turn turn;
  turn.events = std::make_shared<const std::vector<Event>>();
  ring.Record(turn);
  CHECK(ring.Entries().empty());
  ring.Record(TurnOf(1));
  CHECK(ring.Entries().size() == 1);
}

}  // namespace
}  // namespace kq::scheduler
