#include "cli/kqctl/views.h"

#include <catch2/catch.hpp>
#include <string>

#include "cli/kqctl/testing/pictures.h"

namespace kq::kqctl {
namespace {

namespace v1 = queueing::v1;
using testing::CheckGolden;
using testing::kNow;

TEST_CASE("tables and texts as they are printed", "[views]") {
  CheckGolden("queues.txt", QueuesTable(testing::Picture()).Text());
  CheckGolden("units.txt", UnitsTable(testing::Units().units(), kNow).Text());
  CheckGolden("explain.txt", ExplanationText(testing::Explained(), kNow));
  CheckGolden("decisions.txt", DecisionsTable(testing::Decided()).Text());
  CheckGolden("summary.txt", SnapshotSummary(testing::Picture(), kNow));
}

TEST_CASE("an empty world", "[views]") {
  CHECK(QueuesTable({}).rows() == 0);
  CHECK(UnitsTable({}, kNow).rows() == 0);
  CHECK_THAT(SnapshotSummary({}, kNow), Catch::Contains("Complete:   no, "));
  // A unit of which nothing is known does no harm.
  CHECK_THAT(ExplanationText({}, kNow), Catch::Contains("no job"));
}

TEST_CASE("of ElasticQuotas with one name the one in force is told from the others", "[views]") {
  v1::Explanation explanation = testing::Explained();
  explanation.set_quota_namespace("prod");
  CHECK_THAT(ExplanationText(explanation, kNow), Catch::Contains("Quota:      team-a\n"));
  explanation.add_shadowed_quotas("dup/team-a");
  CHECK_THAT(ExplanationText(explanation, kNow),
             Catch::Contains("Quota:      prod/team-a (dup/team-a is not in force)\n"));
  explanation.add_shadowed_quotas("test/team-a");
  CHECK_THAT(ExplanationText(explanation, kNow),
             Catch::Contains("Quota:      prod/team-a (dup/team-a, test/team-a are not in force)\n"));
}

TEST_CASE("every reason has words, also one of a later server", "[views]") {
  v1::UnitSnapshot unit;
  CHECK(ShortReason(unit) == "");
  unit.set_invalid(true);
  CHECK(ShortReason(unit) == "the object could not be understood");
  v1::Refusal* why = unit.mutable_refusal();
  why->set_quota("q");
  why->set_resource("cpu");
  why->set_short_by(500);
  why->set_sentence("a sentence");
  for (int reason = v1::NO_QUOTA_LABEL; reason <= v1::RefusalReason_MAX; ++reason) {
    CAPTURE(reason);
    why->set_reason(static_cast<v1::RefusalReason>(reason));
    CHECK(ShortReason(unit) != "");
    CHECK(ShortReason(unit) != "a sentence");
  }
  why->set_reason(v1::OVER_MAX);
  CHECK(ShortReason(unit) == "q: 0.5 cpu short");
  why->set_reason(static_cast<v1::RefusalReason>(999));
  CHECK(ShortReason(unit) == "a sentence");
}

TEST_CASE("texts of users cannot play tricks on the terminal", "[views]") {
  v1::Explanation explanation;
  explanation.mutable_unit()->set_message("\x1b]0;title\x07\nQuota: mine");
  CHECK(ExplanationText(explanation, kNow).find('\x1b') == std::string::npos);
  CHECK_THAT(ExplanationText(explanation, kNow), Catch::Contains("Message:     ]0;title  Quota: mine\n"));
}

}  // namespace
}  // namespace kq::kqctl
