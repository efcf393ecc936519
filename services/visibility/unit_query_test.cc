#include "services/visibility/unit_query.h"

#include <catch2/catch.hpp>
#include <string>

namespace kq::visibility {
namespace {

TEST_CASE("without parameters everything is wanted") {
  const auto query = ParseUnitQuery("/x");
  REQUIRE(query.ok());
  CHECK(query->phase.empty());
  CHECK(query->queue.empty());
  CHECK(query->offset == 0);
  CHECK(query->limit == 0);
}

TEST_CASE("all four parameters, percent-encoded too, beside what any client may add") {
  const auto query = ParseUnitQuery(
      "/x?phase=Enqueued&queue=team%2Da&offset=2&limit=6&timeout=30s&timeout=10s&pretty=true"
      "&resourceVersion=0&watch=false");
  REQUIRE(query.ok());
  CHECK(query->phase == "Enqueued");
  CHECK(query->queue == "team-a");
  CHECK(query->offset == 2);
  CHECK(query->limit == 6);
}

TEST_CASE("bad values name their parameter") {
  struct Case {
    std::string target;
    std::string names;
  };
  const auto c = GENERATE(values<Case>({{"/x?limit=-1", "limit: must not be negative"},
                                        {"/x?limit=x", "limit: \"x\""},
                                        {"/x?limit=", "limit"},
                                        {"/x?limit=1.5", "limit"},
                                        {"/x?limit=99999999999999999999", "limit"},
                                        {"/x?offset=-2", "offset: must not be negative"},
                                        {"/x?offset=0x10", "offset"},
                                        {"/x?phase=Sleeping", "phase: \"Sleeping\" is not one of Enqueued"},
                                        {"/x?phase=enqueued", "phase"},
                                        {"/x?watch=true", "watch: these lists can't be watched"},
                                        {"/x?watch", "watch"},
                                        {"/x?limit=1&limit=2", "parameter \"limit\" is given twice"},
                                        {"/x?queue=a&phase=&queue=a", "parameter \"queue\" is given twice"},
                                        {"/x?limits=2", "parameter \"limits\" is not known here"},
                                        {"/x?labelSelector=a%3Db", "labelSelector"},
                                        {"/x?" + std::string(100, 'a'), std::string(64, 'a') + "\" is not known"}}));
  CAPTURE(c.target);
  const auto query = ParseUnitQuery(c.target);
  REQUIRE(absl::IsInvalidArgument(query.status()));
  CHECK_THAT(std::string(query.status().message()), Catch::Contains(c.names));
}

TEST_CASE("what is quoted of a long value is short") {
  const auto query = ParseUnitQuery("/x?limit=" + std::string(100'000, 'a'));
  CHECK(query.status().message().size() < 200);
}

}  // namespace
}  // namespace kq::visibility
