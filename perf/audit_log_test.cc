#include "perf/audit_log.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kq::perf {
namespace {

struct Line {
  std::string verb, resource, subresource, name;
  int code = 200;
  std::string agent = "koord-queue/0.1.0";
  std::string stage = "ResponseComplete";
};

std::string Text(const Line& line) {
  return absl::StrCat(R"({"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a-1","stage":")", line.stage,
                      R"(","verb":")", line.verb, R"(","userAgent":")", line.agent, R"x( (linux)","objectRef":{)x",
                      R"("resource":")", line.resource, R"(","namespace":"ns","name":")", line.name,
                      R"(","subresource":")", line.subresource, R"("},"responseStatus":{"code":)", line.code,
                      R"(},"requestReceivedTimestamp":"2026-01-02T03:04:05.100000Z",)",
                      R"("stageTimestamp":"2026-01-02T03:04:05.103500Z"})");
}

AuditedCall Call(const Line& line) {
  const auto call = ParseAuditLine(Text(line));
  REQUIRE(call.ok());
  REQUIRE(call->has_value());
  return **call;
}

TEST_CASE("a line says who wrote what, when and with what result", "[perf]") {
  const AuditedCall call = Call({"patch", "queueunits", "status", "u-1"});
  CHECK(call.agent == "koord-queue");
  CHECK(call.verb == "patch");
  CHECK(call.resource == "queueunits/status");
  CHECK(call.object == "ns/u-1");
  CHECK(call.code == 200);
  CHECK(call.answered - call.received == absl::Microseconds(3500));
  CHECK(call.IsWrite());
  CHECK(call.Succeeded());
}

TEST_CASE("reads are no writes, refusals no successes", "[perf]") {
  CHECK_FALSE(Call({"list", "queueunits", "", ""}).IsWrite());
  CHECK_FALSE(Call({"watch", "queueunits", "", ""}).IsWrite());
  CHECK_FALSE(Call({"get", "jobs", "", "j"}).IsWrite());
  CHECK(Call({"delete", "jobs", "", "j"}).IsWrite());
  CHECK_FALSE(Call({"patch", "jobs", "", "j", 409}).Succeeded());
}

TEST_CASE("a request that is not over, or is about no object, is left out", "[perf]") {
  Line begins = {"watch", "queueunits", "", ""};
  begins.stage = "ResponseStarted";
  CHECK_FALSE(ParseAuditLine(Text(begins))->has_value());
  CHECK_FALSE(ParseAuditLine(Text({"get", "", "", ""}))->has_value());
}

TEST_CASE("what is no line of an audit log is an error", "[perf]") {
  for (const char* text : {"", "{bad", "[]", "{}", R"({"kind":"Pod"})"}) {
    CAPTURE(text);
    CHECK(absl::IsInvalidArgument(ParseAuditLine(text).status()));
  }
}

TEST_CASE("calls are counted by agent, verb and resource, and an object written twice shows", "[perf]") {
  CallTally tally;
  for (const char* name : {"u-1", "u-2", "u-2"}) tally.Add(Call({"patch", "queueunits", "status", name}));
  tally.Add(Call({"patch", "queueunits", "status", "u-3", 409}));
  tally.Add(Call({"patch", "queueunits", "status", "u-3", 409}));
  tally.Add(Call({"create", "queueunits", "", "u-1", 201, "koord-queue-controllers/0.1.0"}));
  tally.Add(Call({"list", "queueunits", "", ""}));

  const std::vector<CallTally::Row> rows = tally.Rows();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].verb == "list");
  CHECK(rows[0].calls == 1);
  CHECK(rows[0].objects == 0);
  CHECK(rows[1].verb == "patch");
  CHECK(rows[1].calls == 3);
  CHECK(rows[1].objects == 2);
  CHECK(rows[1].most == 2);
  CHECK(rows[1].example == "ns/u-2");
  CHECK(rows[1].refused == 2);
  CHECK(rows[1].refusals == std::map<int, int64_t>{{409, 2}});
  CHECK(rows[2].agent == "koord-queue-controllers");

  CHECK(tally.Writes("koord-queue", "queueunits/status") == 3);
  CHECK(tally.Writes("koord-queue", "queueunits/status", "update") == 0);
  CHECK(tally.Writes("koord-queue", "queueunits") == 0);
  CHECK(tally.Writes("koord-queue-controllers", "queueunits", "create") == 1);
}

TEST_CASE("a log is read from a place to its end, and bad lines are counted", "[perf]") {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = absl::StrCat(folder == nullptr ? "/tmp" : folder, "/audit.log");
  const std::string first = Text({"create", "queueunits", "", "u-1", 201}) + "\n";
  std::ofstream(path) << first << Text({"patch", "queueunits", "status", "u-1"}) << "\n{bad\n";

  int64_t bad = 0;
  const auto all = ReadAuditLog(path, 0, &bad);
  REQUIRE(all.ok());
  CHECK(all->size() == 2);
  CHECK(bad == 1);
  bad = 0;
  const auto rest = ReadAuditLog(path, static_cast<int64_t>(first.size()), &bad);
  REQUIRE(rest.ok());
  REQUIRE(rest->size() == 1);
  CHECK(rest->front().verb == "patch");
  CHECK(SizeOf(path) > static_cast<int64_t>(first.size()));
  CHECK(SizeOf(path + ".not-there") == 0);
  CHECK(absl::IsUnavailable(ReadAuditLog(path + ".not-there", 0, &bad).status()));
}

}  // namespace
}  // namespace kq::perf
