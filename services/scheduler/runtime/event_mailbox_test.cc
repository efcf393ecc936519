#include "services/scheduler/runtime/event_mailbox.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

namespace kq::scheduler {
namespace {

UnitUpserted Unit(const std::string& name, uint64_t version, const std::string& message = "") {
  UnitUpserted event;
  event.unit.key = {"ns", name};
  event.unit.version = version;
  event.unit.message = message;
  return event;
}

QuotaUpserted QuotaNews(const std::string& name, uint64_t version) {
  QuotaUpserted event;
  event.quota.key = {"ns", name};
  event.quota.version = version;
  return event;
}

// "unit a 3, gone a 4, listed"
std::string Text(const std::vector<Event>& events) {
  struct Visitor {
    std::string operator()(const UnitUpserted& e) {
      return absl::StrCat("unit ", e.unit.key.name, " ", e.unit.version);
    }
    std::string operator()(const UnitRemoved& e) { return absl::StrCat("gone ", e.unit.name, " ", e.version); }
    std::string operator()(const QueueUpserted& e) {
      return absl::StrCat("queue ", e.queue.key.name, " ", e.queue.version);
    }
    std::string operator()(const QueueRemoved& e) { return absl::StrCat("queue gone ", e.queue.name); }
    std::string operator()(const QuotaUpserted& e) {
      return absl::StrCat("quota ", e.quota.key.name, " ", e.quota.version);
    }
    std::string operator()(const QuotaRemoved& e) { return absl::StrCat("quota gone ", e.quota.name); }
    std::string operator()(const Listed&) { return "listed"; }
    std::string operator()(const LeadershipTaken& e) { return "leads " + e.epoch; }
    std::string operator()(const WriteFinished& e) { return absl::StrCat("answer ", e.unit.name, " ", e.based_on); }
    std::string operator()(const QueueWriteFinished& e) { return "queue answer " + e.queue; }
    std::string operator()(const TellFinished& e) { return absl::StrCat("told ", e.unit.name, " ", e.based_on); }
  };
  std::string text;
  for (const Event& event : events) {
    if (!text.empty()) text += ", ";
    text += std::visit(Visitor{}, event);
  }
  return text;
}

TEST_CASE("a newer upsert takes the place of the one that waits") {
  EventMailbox mailbox(10);
  CHECK(mailbox.Post(Unit("a", 1)));
  CHECK(mailbox.Post(Unit("b", 2)));
  CHECK(mailbox.Post(Unit("a", 3)));
  CHECK(Text(mailbox.TakeAll(absl::ZeroDuration())) == "unit a 3, unit b 2");
  CHECK(mailbox.Now().coalesced == 1);
}

TEST_CASE("an older upsert does not replace a newer one") {
  EventMailbox mailbox(10);
  CHECK(mailbox.Post(Unit("a", 5)));
  CHECK(mailbox.Post(Unit("a", 4)));
  CHECK(Text(mailbox.TakeAll(absl::ZeroDuration())) == "unit a 5");
}

TEST_CASE("objects of different kinds with one name are different objects") {
  EventMailbox mailbox(10);
  CHECK(mailbox.Post(Unit("a", 1)));
  CHECK(mailbox.Post(QuotaNews("a", 2)));
  CHECK(Text(mailbox.TakeAll(absl::ZeroDuration())) == "unit a 1, quota a 2");
}

TEST_CASE("news after a removal stay behind it") {
  EventMailbox mailbox(10);
  CHECK(mailbox.Post(Unit("a", 1)));
  CHECK(mailbox.Post(UnitRemoved{{"ns", "a"}, "uid", 2}));
  CHECK(mailbox.Post(Unit("a", 3)));
  CHECK(mailbox.Post(Unit("a", 4)));
  CHECK(Text(mailbox.TakeAll(absl::ZeroDuration())) == "unit a 1, gone a 2, unit a 4");
}

TEST_CASE("news after an answer stay behind it") {
  EventMailbox mailbox(10);
  CHECK(mailbox.Post(Unit("a", 1)));
  CHECK(mailbox.Post(WriteFinished{{"ns", "a"}, "uid", 1, absl::AbortedError("conflict")}));
  CHECK(mailbox.Post(Unit("a", 3)));
  CHECK(Text(mailbox.TakeAll(absl::ZeroDuration())) == "unit a 1, answer a 1, unit a 3");
}

TEST_CASE("beyond the limit new upserts are refused, everything else is taken") {
  EventMailbox mailbox(2);
  CHECK(mailbox.Post(Unit("a", 1)));
  CHECK(mailbox.Post(Unit("b", 2)));
  CHECK_FALSE(mailbox.Post(Unit("c", 3)));
  CHECK(mailbox.Post(Unit("b", 4)));
  CHECK(mailbox.Post(UnitRemoved{{"ns", "a"}, "uid", 5}));
  CHECK(mailbox.Post(WriteFinished{{"ns", "d"}, "uid", 1, absl::NotFoundError("gone")}));
  CHECK(mailbox.Post(QueueWriteFinished{"q", absl::OkStatus()}));
  CHECK(mailbox.Post(Listed{ListedKind::kUnits}));
  CHECK(mailbox.Post(LeadershipTaken{"1"}));
  CHECK(mailbox.Now().refused == 1);
  CHECK(Text(mailbox.TakeAll(absl::ZeroDuration())) ==
        "unit a 1, unit b 4, gone a 5, answer d 1, queue answer q, listed, leads 1");
  CHECK(mailbox.Post(Unit("c", 3)));
}

TEST_CASE("after a take the next upsert is a new event") {
  EventMailbox mailbox(10);
  CHECK(mailbox.Post(Unit("a", 1)));
  CHECK(mailbox.TakeAll(absl::ZeroDuration()).size() == 1);
  CHECK(mailbox.Post(Unit("a", 2)));
  CHECK(Text(mailbox.TakeAll(absl::ZeroDuration())) == "unit a 2");
}

TEST_CASE("Wake ends a wait, also one that begins later") {
  EventMailbox mailbox(10);
  mailbox.Wake();
  CHECK(mailbox.TakeAll(absl::InfiniteDuration()).empty());
}

TEST_CASE("many writers lose nothing") {
  EventMailbox mailbox(100000);
  std::vector<std::thread> writers;
  std::atomic<int> refused = 0;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&mailbox, &refused, w] {
      for (uint64_t i = 1; i <= 500; ++i) {
        if (!mailbox.Post(Unit(absl::StrCat("w", w, "-", i % 10), i))) ++refused;
        if (!mailbox.Post(UnitRemoved{{"ns", absl::StrCat("w", w)}, "uid", i})) ++refused;
      }
    });
  }
  int removals = 0;
  while (removals < 2000) {
    for (const Event& event : mailbox.TakeAll(absl::InfiniteDuration())) {
      if (std::holds_alternative<UnitRemoved>(event)) ++removals;
    }
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(refused == 0);
  CHECK(mailbox.Now().posted == 4000);
}

}  // namespace
}  // namespace kq::scheduler
