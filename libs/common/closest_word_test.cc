#include "libs/common/closest_word.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace kq {
namespace {

const std::vector<std::string> kKnown = {"queues", "units", "quotas", "explain", "decisions", "snapshot", "version"};

TEST_CASE("a word with few slips is recognised", "[closest_word]") {
  struct Row {
    std::string typed, meant;
  };
  const std::vector<Row> rows = {{"queue", "queues"},
                                 {"unit", "units"},
                                 {"quota", "quotas"},
                                 {"qoutas", "quotas"},
                                 {"explian", "explain"},
                                 {"EXPLAIN", "explain"},
                                 {"explan", "explain"},
                                 {"desicions", "decisions"},
                                 {"snap", "snapshot"},
                                 {"dec", "decisions"},
                                 {"ver", "version"},
                                 {"versions", "version"},
                                 {"frobnicate", ""},
                                 {"", ""},
                                 {"x", ""},
                                 {"qu", ""},
                                 {"que", "queues"},
                                 {"un", ""},
                                 {"get", ""},
                                 {"unitsandmuchmore", ""},
                                 {std::string(65, 'u'), ""}};
  for (const Row& row : rows) {
    CAPTURE(row.typed);
    CHECK(ClosestWord(row.typed, kKnown) == row.meant);
  }
}

TEST_CASE("of several the nearest is meant, and a beginning of several is none of them", "[closest_word]") {
  CHECK(ClosestWord("workes", {"worker", "workers-of-all", "works"}) == "worker");
  CHECK(ClosestWord("server-na", {"server-name", "server-nation"}) == "server-name");
  CHECK(ClosestWord("ser", {"server-name", "server-nation"}) == "");
  CHECK(ClosestWord("anything", {}) == "");
}

}  // namespace
}  // namespace kq
