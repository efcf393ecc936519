#include "libs/kube/testing/selector.h"

#include <catch2/catch.hpp>
#include <string>

namespace kq {
namespace {

TEST_CASE("a selector matches as kubectl -l and --field-selector do") {
  const Json object =
      *ParseJson(R"({"metadata":{"name":"n","namespace":"ns","labels":{"app":"web","tier":"front","empty":""}},)"
                 R"("spec":{"node":"a","count":3,"on":true},"status":{"phase":"Running"}})");
  struct Case {
    std::string labels, fields;
    bool want;
  };
  const auto c = GENERATE(values<Case>({
      {"", "", true},
      {"app=web", "", true},
      {"app==web,tier=front", "", true},
      {"app=web,tier=back", "", false},
      {"app!=db", "", true},
      {"app!=web", "", false},
      {"missing!=x", "", true},
      {"app in (db, web)", "", true},
      {"app in (db)", "", false},
      {"app notin (db,cache), tier", "", true},
      {"missing notin (a)", "", true},
      {"app", "", true},
      {"!app", "", false},
      {"!missing", "", true},
      {"empty=", "", true},
      {"", "metadata.name=n", true},
      {"", "metadata.name=n,metadata.namespace!=ns", false},
      {"", "status.phase=Running", true},
      {"", "spec.node==a,spec.count=3,spec.on=true", true},
      {"", "spec.missing=", true},
      {"", "spec.missing=x", false},
      {"app=web", "spec.node=b", false},
  }));
  CAPTURE(c.labels, c.fields);
  const absl::StatusOr<Selector> selector = Selector::Parse(c.labels, c.fields);
  REQUIRE(selector.ok());
  CHECK(selector->Matches(object) == c.want);
}

TEST_CASE("a selector that cannot be read is an invalid argument") {
  struct Case {
    std::string labels, fields;
  };
  const auto c = GENERATE(values<Case>({{"a in b,c)", ""}, {"a of (b)", ""}, {"=x", ""}, {"a b", ""}, {"", "spec"}}));
  CAPTURE(c.labels, c.fields);
  CHECK(Selector::Parse(c.labels, c.fields).status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace kq
