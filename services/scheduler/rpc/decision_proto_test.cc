#include "services/scheduler/rpc/decision_proto.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kq::scheduler {
namespace {

namespace v1 = queueing::v1;

Dequeue Admit(const std::string& name) {
  Dequeue decision;
  decision.unit = {"ns", name};
  decision.uid = "u";
  decision.version = 7;
  decision.admissions = {{"worker", 2, {}, 0, {}}, {"ps", 1, {}, 0, {}}};
  return decision;
}

Requeue Refuse(const std::string& name) {
  Requeue decision;
  decision.unit = {"ns", name};
  decision.why.refusal = Refusal::kQuotaEmpty;
  decision.why.quota = "q";
  return decision;
}

std::vector<DecidedTurn> Turns() {
  return {{5, absl::FromUnixSeconds(1),
           std::make_shared<std::vector<Decision>>(std::vector<Decision>{Admit("a"), Refuse("b")})},
          {7, absl::FromUnixSeconds(2), nullptr},
          {7, absl::FromUnixSeconds(3), std::make_shared<std::vector<Decision>>(std::vector<Decision>{Refuse("a")})}};
}

// "5 Dequeue a, 6 Requeue b, 7 Requeue a"
std::string Selected(int64_t limit, const std::string& ns = "", const std::string& name = "") {
  v1::DecisionsRequest request;
  request.set_limit(limit);
  request.set_namespace_(ns);
  request.set_name(name);
  v1::DecisionsResponse response;
  const absl::Status status = SelectDecisions(Turns(), request, &response);
  if (!status.ok()) return std::string(status.message());
  CHECK(response.dropped() == 4);
  std::string text;
  for (const v1::DecisionRecord& record : response.decisions()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", record.sequence(), " ", record.kind(), " ", record.name());
  }
  return text;
}

TEST_CASE("every kind of decision says what it is about", "[decision_proto]") {
  const v1::DecisionRecord dequeue = ToProto(Decision(Admit("a")));
  CHECK(dequeue.kind() == "Dequeue");
  CHECK(dequeue.namespace_() == "ns");
  CHECK(dequeue.name() == "a");
  CHECK(dequeue.uid() == "u");
  CHECK(dequeue.version() == 7);
  CHECK(dequeue.detail() == "admitted worker=2 ps=1");
  CHECK_FALSE(dequeue.has_refusal());

  const v1::DecisionRecord requeue = ToProto(Decision(Refuse("b")));
  CHECK(requeue.kind() == "Requeue");
  CHECK(requeue.refusal().reason() == v1::QUOTA_EMPTY);
  CHECK(requeue.detail() == requeue.refusal().sentence());

  CreateQueue create;
  create.queue.key = {"koord-queue", "q"};
  create.queue.policy = "Block";
  create.queue.priority = 1000;
  CHECK(ToProto(Decision(create)).kind() == "CreateQueue");
  CHECK(ToProto(Decision(create)).detail() == "policy Block, priority 1000");

  UpdateQueue update;
  update.queue = {"koord-queue", "q"};
  update.policy = "Priority";
  CHECK(ToProto(Decision(update)).kind() == "UpdateQueue");
  CHECK(ToProto(Decision(update)).detail() == "policy Priority");

  DeleteQueue remove;
  remove.queue = {"koord-queue", "q"};
  CHECK(ToProto(Decision(remove)).kind() == "DeleteQueue");
  CHECK(ToProto(Decision(remove)).name() == "q");

  Notify notify;
  notify.object = {"ns", "a"};
  notify.reason = "QueueNotFound";
  notify.message = "no queue";
  CHECK(ToProto(Decision(notify)).kind() == "Notify");
  CHECK(ToProto(Decision(notify)).detail() == "QueueNotFound: no queue");
}

TEST_CASE("decisions come oldest first, and a limit keeps the newest", "[decision_proto]") {
  CHECK(Selected(0) == "5 Dequeue a, 6 Requeue b, 7 Requeue a");
  CHECK(Selected(2) == "6 Requeue b, 7 Requeue a");
  CHECK(Selected(100) == Selected(0));
}

TEST_CASE("decisions about one unit", "[decision_proto]") {
  CHECK(Selected(0, "ns", "a") == "5 Dequeue a, 7 Requeue a");
  CHECK(Selected(1, "ns", "a") == "7 Requeue a");
  CHECK(Selected(0, "other", "a") == "");
}

TEST_CASE("a queue of the same name is not the unit", "[decision_proto]") {
  DeleteQueue remove;
  remove.queue = {"ns", "a"};
  Notify notify;
  notify.kind = Notify::Kind::kQueue;
  notify.object = {"ns", "a"};
  v1::DecisionsRequest request;
  request.set_namespace_("ns");
  request.set_name("a");
  v1::DecisionsResponse response;
  const auto decisions = std::make_shared<std::vector<Decision>>(std::vector<Decision>{remove, notify, Refuse("a")});
  REQUIRE(SelectDecisions({{1, absl::UnixEpoch(), decisions}}, request, &response).ok());
  REQUIRE(response.decisions_size() == 1);
  CHECK(response.decisions(0).kind() == "Requeue");
  CHECK(response.decisions(0).sequence() == 3);
  CHECK(response.dropped() == 0);
}

TEST_CASE("times are those of the turns", "[decision_proto]") {
  v1::DecisionsResponse response;
  REQUIRE(SelectDecisions(Turns(), {}, &response).ok());
  CHECK(response.decisions(0).time().seconds() == 1);
  CHECK(response.decisions(2).time().seconds() == 3);
}

TEST_CASE("requests that make no sense are refused", "[decision_proto]") {
  CHECK(Selected(-1) == "limit: -1 is negative");
  CHECK_THAT(Selected(0, "ns", ""), Catch::StartsWith("namespace and name"));
  CHECK_THAT(Selected(0, "", "a"), Catch::StartsWith("namespace and name"));
}

TEST_CASE("before the first decision there is nothing to tell", "[decision_proto]") {
  v1::DecisionsResponse response;
  REQUIRE(SelectDecisions({}, {}, &response).ok());
  CHECK(response.decisions_size() == 0);
  CHECK(response.dropped() == 0);
}

}  // namespace
}  // namespace kq::scheduler
