#include "services/scheduler/core/unit_table.h"

#include <catch2/catch.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "services/scheduler/core/testing/builders.h"

namespace kq::scheduler {
namespace {

const ObjectKey kA{"default", "a"};

std::shared_ptr<const QueueUnit> News(uint64_t version, const std::string& uid = "one") {
  return std::make_shared<const QueueUnit>(MakeUnit("a").Version(version).Uid(uid).Obj());
}

TEST_CASE("news are accepted once and never go back", "[core]") {
  UnitTable table(Guards{});
  CHECK(table.Accept(News(5)).entry != nullptr);
  CHECK(table.Accept(News(4)).entry == nullptr);
  const auto accepted = table.Accept(News(7));
  REQUIRE(accepted.entry != nullptr);
  CHECK(accepted.before->version == 5);
  CHECK(table.Find(kA)->newest == 7);
}

TEST_CASE("while a decision is on its way, news are stashed and the newest one stays", "[core]") {
  UnitTable table(Guards{});
  UnitEntry* entry = table.Accept(News(5)).entry;
  table.Assume(entry);
  CHECK(table.Accept(News(6)).entry == nullptr);
  CHECK(table.Accept(News(8)).entry == nullptr);
  CHECK(table.Accept(News(7)).entry == nullptr);
  CHECK(table.Answer(kA, 4) == nullptr);
  REQUIRE(table.Answer(kA, 5) == entry);
  CHECK(entry->stashed->version == 8);
  CHECK(table.Answer(kA, 5) == nullptr);  // answered already
}

TEST_CASE("a removal counts only if it is not older than what is known", "[core]") {
  UnitTable table(Guards{});
  table.Accept(News(5));
  CHECK_FALSE(table.AcceptsRemoval(kA, 4));
  CHECK(table.AcceptsRemoval(kA, 5));
  CHECK(table.AcceptsRemoval(kA, 9));
  CHECK_FALSE(table.AcceptsRemoval({"default", "unknown"}, 9));
}

TEST_CASE("late news of a removed unit do not bring it back, a new one comes", "[core]") {
  UnitTable table(Guards{});
  table.Accept(News(5));
  table.Forget(kA, 8);
  CHECK(table.Accept(News(7)).entry == nullptr);
  CHECK(table.Accept(News(8)).entry == nullptr);
  CHECK(table.Accept(News(9, "two")).entry != nullptr);
}

TEST_CASE("only so many removals are remembered", "[core]") {
  UnitTable table(Guards{}, /*graves=*/2);
  for (int i = 0; i < 4; ++i) {
    auto unit = MakeUnit(absl::StrCat("u", i)).Version(5).Obj();
    table.Accept(std::make_shared<const QueueUnit>(unit));
    table.Forget(unit.key, 6);
  }
  const auto late = [&](int i) {
    return table.Accept(std::make_shared<const QueueUnit>(MakeUnit(absl::StrCat("u", i)).Version(5).Obj())).entry;
  };
  CHECK(late(0) != nullptr);
  CHECK(late(3) == nullptr);
}

TEST_CASE("each guard can be taken away", "[core]") {
  UnitTable no_news(Guards{.news = false});
  no_news.Accept(News(5));
  CHECK(no_news.Accept(News(4)).entry != nullptr);

  UnitTable no_answer(Guards{.answer = false});
  UnitEntry* entry = no_answer.Accept(News(5)).entry;
  no_answer.Assume(entry);
  CHECK(no_answer.Answer(kA, 3) == entry);

  UnitTable no_removal(Guards{.removal = false});
  no_removal.Accept(News(5));
  CHECK(no_removal.AcceptsRemoval(kA, 4));
}

TEST_CASE("another object under the same name starts anew", "[core]") {
  UnitTable table(Guards{});
  UnitEntry* entry = table.Accept(News(5)).entry;
  entry->attempts = 7;
  entry->failed_writes = 3;
  entry->told = std::make_shared<const RefusalDetail>();
  table.Accept(News(6, "two"));
  CHECK(entry->attempts == 0);
  CHECK(entry->failed_writes == 0);
  CHECK(entry->told == nullptr);
}

}  // namespace
}  // namespace kq::scheduler
