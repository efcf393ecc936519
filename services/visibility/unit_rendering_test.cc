#include "services/visibility/unit_rendering.h"

#include <catch2/catch.hpp>
#include <string>

#include "services/visibility/testing/pictures.h"

namespace kq::visibility {
namespace {

std::string WholeBody(const HttpResponse& response) {
  std::string body = response.body;
  while (response.more) {
    const std::optional<std::string> piece = response.more();
    if (!piece.has_value()) break;
    body += *piece;
  }
  return body;
}

Json Parsed(const HttpResponse& response) {
  const absl::StatusOr<Json> json = ParseJson(WholeBody(response));
  REQUIRE(json.ok());
  return *json;
}

TEST_CASE("an item has the documented fields in the documented order, and then ours") {
  CHECK(JsonText(UnitItem(WaitingUnit("my-job-blocked", "team-a", 1))) ==
        R"({"metadata":{"name":"my-job-blocked","namespace":"default","uid":"uid-my-job-blocked"},)"
        R"("quotaName":"team-a","queueName":"team-a","request":{"cpu":"4","memory":"8Gi"},)"
        R"("resources":{"cpu":"4","memory":"8Gi"},"phase":"Enqueued","podState":{"pending":0,"running":0},)"
        R"("position":1,"priority":0,"attempts":0})");
}

TEST_CASE("running and pending pods are the right way round") {
  queueing::v1::UnitSnapshot unit = RunningUnit("a", "team-a");
  unit.set_pods_running(3);
  unit.set_pods_pending(1);
  CHECK(JsonText(*Find(UnitItem(unit), {"podState"})) == R"({"pending":1,"running":3})");
}

TEST_CASE("a refused unit says why") {
  queueing::v1::UnitSnapshot unit = WaitingUnit("a", "team-a", 1);
  unit.mutable_refusal()->set_sentence("limited \"q\"\n");
  CHECK(StringAt(UnitItem(unit), {"message"}) == "limited \"q\"\n");
}

TEST_CASE("a summary says which picture it is of, and what it left out") {
  UnitQuery query;
  query.limit = 2;
  const Json summary = Parsed(SummaryAnswer(*UnitsOfQueue(TeamPicture(5), "team-a", query)));
  CHECK(StringAt(summary, {"kind"}) == "QueueUnitsSummary");
  CHECK(StringAt(summary, {"apiVersion"}) == "visibility.koord-queue.x-k8s.io/v1alpha1");
  CHECK(JsonText(*Find(summary, {"metadata"})) ==
        R"({"resourceVersion":"e.7","remainingItemCount":3,"totalItemCount":5})");
  CHECK(Find(summary, {"items"})->get_array().size() == 2);
}

TEST_CASE("an empty list is a list") {
  const Json summary = Parsed(SummaryAnswer(*UnitsOfQueue(TeamPicture(0), "team-a", {})));
  CHECK(Find(summary, {"items"})->get_array().empty());
}

TEST_CASE("a long answer comes in pieces that make one document, a short one in one") {
  HttpResponse small = SummaryAnswer(*UnitsOfQueue(TeamPicture(500), "team-a", {}));
  CHECK_FALSE(small.more);
  CHECK(Find(Parsed(small), {"items"})->get_array().size() == 500);
  HttpResponse large = SummaryAnswer(*UnitsOfQueue(TeamPicture(1201), "team-a", {}));
  REQUIRE(large.more);
  const Json whole = Parsed(large);
  const JsonArray& items = Find(whole, {"items"})->get_array();
  REQUIRE(items.size() == 1201);
  for (size_t i = 0; i < items.size(); ++i) {
    if (StringAt(items[i], {"metadata", "name"}) != absl::StrCat("w-", i + 1)) FAIL("out of order at " << i);
  }
}

TEST_CASE("the units of a long answer stay, whatever becomes of the picture") {
  std::shared_ptr<const Picture> picture = TeamPicture(1000);
  HttpResponse response = SummaryAnswer(*UnitsOfQueue(picture, "team-a", {}));
  picture.reset();
  CHECK(Find(Parsed(response), {"items"})->get_array().size() == 1000);
}

TEST_CASE("a table has a cell for each column") {
  const absl::Time now = absl::FromUnixSeconds(1'000'000);
  auto picture = std::make_shared<Picture>(*TeamPicture(1));
  auto queue = std::make_shared<queueing::v1::QueueSnapshot>(*picture->queues["team-a"]);
  queue->mutable_waiting(0)->mutable_created()->set_seconds(1'000'000 - 3 * 3600);
  picture->queues["team-a"] = queue;
  const Json table = Parsed(TableAnswer(*UnitsOfQueue(picture, "team-a", {}), now));
  CHECK(StringAt(table, {"kind"}) == "Table");
  const JsonArray& columns = Find(table, {"columnDefinitions"})->get_array();
  const Json& row = Find(table, {"rows"})->get_array().at(0);
  const JsonArray& cells = Find(row, {"cells"})->get_array();
  CHECK(cells.size() == columns.size());
  CHECK(JsonText(*Find(row, {"cells"})) == R"(["w-1","default","team-a","team-a","Enqueued",1,0,"3h",""])");
  CHECK(StringAt(row, {"object", "metadata", "name"}) == "w-1");
}

}  // namespace
}  // namespace kq::visibility
