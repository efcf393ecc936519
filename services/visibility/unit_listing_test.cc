#include "services/visibility/unit_listing.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "services/visibility/testing/pictures.h"

namespace kq::visibility {
namespace {

using Names = std::vector<std::string>;

Names NamesOf(const UnitPage& page) {
  Names names;
  for (const auto* unit : page.units) names.push_back(unit->name());
  return names;
}

TEST_CASE("a queue shows who waits, in order, page by page") {
  struct Case {
    int64_t offset, limit;
    Names names;
    int64_t remaining;
  };
  const auto c = GENERATE(values<Case>({{0, 0, {"w-1", "w-2", "w-3", "w-4", "w-5"}, 0},
                                        {2, 2, {"w-3", "w-4"}, 1},
                                        {4, 2, {"w-5"}, 0},
                                        {5, 2, {}, 0},
                                        {99, 0, {}, 0},
                                        {0, 99, {"w-1", "w-2", "w-3", "w-4", "w-5"}, 0},
                                        {INT64_MAX, INT64_MAX, {}, 0}}));
  CAPTURE(c.offset, c.limit);
  UnitQuery query;
  query.offset = c.offset;
  query.limit = c.limit;
  const auto page = UnitsOfQueue(TeamPicture(5), "team-a", query);
  REQUIRE(page.has_value());
  CHECK(NamesOf(*page) == c.names);
  CHECK(page->total == 5);
  CHECK(page->remaining == c.remaining);
}

TEST_CASE("filters come before offset and limit") {
  UnitQuery query;
  query.phase = "Running";
  CHECK(UnitsOfQueue(TeamPicture(3), "team-a", query)->total == 0);
  query.phase = "Enqueued";
  query.offset = 1;
  CHECK(NamesOf(*UnitsOfQueue(TeamPicture(3), "team-a", query)) == Names{"w-2", "w-3"});
  query.queue = "another";
  CHECK(UnitsOfQueue(TeamPicture(3), "team-a", query)->total == 0);
}

TEST_CASE("a queue that is not there is no empty queue") {
  CHECK_FALSE(UnitsOfQueue(TeamPicture(1), "team-b", {}).has_value());
  CHECK(UnitsOfQueue(TeamPicture(0), "team-a", {})->total == 0);
}

TEST_CASE("a quota shows its waiting units first, then the others by key") {
  CHECK(NamesOf(UnitsOfQuota(TeamPicture(2), "team-a", {})) == Names{"w-1", "w-2", "a", "b"});
  UnitQuery running;
  running.phase = "Running";
  running.limit = 1;
  const UnitPage page = UnitsOfQuota(TeamPicture(2), "team-a", running);
  CHECK(NamesOf(page) == Names{"a"});
  CHECK(page.total == 2);
  CHECK(page.remaining == 1);
}

TEST_CASE("a quota that is not there has no units") { CHECK(UnitsOfQuota(TeamPicture(2), "team-b", {}).total == 0); }

TEST_CASE("units in no queue are their quota's too, and finished ones are nobody's") {
  auto picture = std::make_shared<Picture>(*TeamPicture(1));
  std::vector<queueing::v1::UnitSnapshot> unplaced = {
      WaitingUnit("lost", "team-a", 0), WaitingUnit("other", "team-b", 0), WaitingUnit("over", "team-a", 0)};
  unplaced[2].set_place(queueing::v1::FINISHED);
  unplaced[2].set_phase("Succeed");
  picture->unplaced = std::make_shared<const std::vector<queueing::v1::UnitSnapshot>>(unplaced);
  CHECK(NamesOf(UnitsOfQuota(picture, "team-a", {})) == Names{"w-1", "lost", "a", "b"});
  UnitQuery succeeded;
  succeeded.phase = "Succeed";
  CHECK(UnitsOfQuota(picture, "team-a", succeeded).total == 0);
}

TEST_CASE("a unit that holds a part and waits for the rest is shown once, where it waits") {
  auto picture = std::make_shared<Picture>(*TeamPicture(1));
  auto queue = std::make_shared<queueing::v1::QueueSnapshot>(*picture->queues["team-a"]);
  queue->mutable_waiting(0)->add_charged()->set_amount(1);
  picture->queues["team-a"] = queue;
  auto quota = std::make_shared<queueing::v1::QuotaSnapshot>(*picture->quotas["kube-system/team-a"]);
  *quota->add_charged() = queue->waiting(0);
  picture->quotas["kube-system/team-a"] = quota;
  CHECK(NamesOf(UnitsOfQuota(picture, "team-a", {})) == Names{"w-1", "a", "b"});
}

}  // namespace
}  // namespace kq::visibility
