#include "services/scheduler/core/quota_ledger.h"

#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/scheduler/core/testing/builders.h"

namespace kq::scheduler {
namespace {

Resources Cpu(int64_t cores) { return Resources{{"cpu", cores * 1000}}; }
ObjectKey Key(const std::string& name) { return {"default", name}; }
int64_t Used(QuotaLedger& ledger, const std::string& quota) { return ledger.UsedOf(quota, "cpu") / 1000; }

TEST_CASE("a charge counts for the quota and all its ancestors", "[core]") {
  // leaf a and leaf b under mid under root; the numbers of the original's test.
  QuotaLedger ledger;
  ledger.Upsert(MakeQuota(std::string(kRootQuota)).Obj());
  ledger.Upsert(MakeQuota("mid").Obj());
  ledger.Upsert(MakeQuota("a").Parent("mid").Obj());
  ledger.Upsert(MakeQuota("b").Parent("mid").Obj());
  ledger.Charge(Key("u1"), "a", Cpu(2));
  ledger.Charge(Key("u2"), "b", Cpu(3));
  ledger.Charge(Key("u3"), "mid", Cpu(5));
  ledger.Charge(Key("u4"), std::string(kRootQuota), Cpu(10));
  CHECK(Used(ledger, "a") == 2);
  CHECK(Used(ledger, "b") == 3);
  CHECK(Used(ledger, "mid") == 10);
  CHECK(ledger.BooksOf("mid")->self_used.At("cpu") == 5000);
  CHECK(Used(ledger, std::string(kRootQuota)) == 20);
  CHECK(ledger.BooksOf("mid")->children == std::vector<std::string>{"a", "b"});

  for (const char* unit : {"u1", "u2", "u3", "u4", "u4"}) ledger.Refund(Key(unit));
  for (const char* quota : {"a", "b", "mid", kRootQuota.data()}) CHECK(Used(ledger, quota) == 0);
  CHECK(ledger.BrokenInvariants().empty());
}

TEST_CASE("charging again replaces the charge, and the same charge changes nothing", "[core]") {
  QuotaLedger ledger;
  ledger.Upsert(MakeQuota("a").Obj());
  ledger.Upsert(MakeQuota("b").Obj());
  ledger.Charge(Key("u"), "a", Cpu(2));
  ledger.Charge(Key("u"), "a", Cpu(2));
  CHECK(Used(ledger, "a") == 2);
  ledger.Charge(Key("u"), "a", Cpu(5));
  CHECK(Used(ledger, "a") == 5);
  ledger.Charge(Key("u"), "b", Cpu(5));
  CHECK(Used(ledger, "a") == 0);
  CHECK(Used(ledger, "b") == 5);
}

TEST_CASE("a charge outlives its quota", "[core]") {
  QuotaLedger ledger;
  ledger.Upsert(MakeQuota("a").Max(4).Obj());
  ledger.Charge(Key("u"), "a", Cpu(3));
  ledger.Remove({"kube-system", "a"});
  CHECK_FALSE(ledger.Has("a"));
  CHECK(ledger.PathOf("a").trouble().refusal.refusal == Refusal::kQuotaNotFound);
  ledger.Upsert(MakeQuota("a").Max(9).Version(5).Obj());
  CHECK(Used(ledger, "a") == 3);
  CHECK(ledger.PathOf("a").max(0).At("cpu") == 9000);
}

TEST_CASE("a charge that came before its quota counts once the quota is there", "[core]") {
  QuotaLedger ledger;
  ledger.Charge(Key("u"), "a", Cpu(3));
  ledger.Upsert(MakeQuota("a").Parent("p").Obj());
  ledger.Upsert(MakeQuota("p").Obj());
  CHECK(Used(ledger, "a") == 3);
  CHECK(Used(ledger, "p") == 3);
}

TEST_CASE("a quota that gets another parent takes its use along", "[core]") {
  QuotaLedger ledger;
  for (const char* name : {"p", "q"}) ledger.Upsert(MakeQuota(name).Obj());
  ledger.Upsert(MakeQuota("a").Parent("p").Obj());
  ledger.Charge(Key("u"), "a", Cpu(3));
  CHECK(Used(ledger, "p") == 3);
  ledger.Upsert(MakeQuota("a").Parent("q").Version(2).Obj());
  CHECK(Used(ledger, "p") == 0);
  CHECK(Used(ledger, "q") == 3);
  CHECK(ledger.TakeReshaped());
}

TEST_CASE("an older version of a quota does not replace a newer one", "[core]") {
  QuotaLedger ledger;
  ledger.Upsert(MakeQuota("a").Max(9).Version(7).Obj());
  CHECK_FALSE(ledger.Upsert(MakeQuota("a").Max(4).Version(6).Obj()));
  CHECK(ledger.PathOf("a").max(0).At("cpu") == 9000);
}

TEST_CASE("a changed status of a quota wakes nobody", "[core]") {
  QuotaLedger ledger;
  CHECK(ledger.Upsert(MakeQuota("a").Max(9).Obj()));
  CHECK(ledger.TakeReshaped());
  CHECK_FALSE(ledger.Upsert(MakeQuota("a").Max(9).Version(2).Obj()));
  CHECK_FALSE(ledger.TakeReshaped());
}

TEST_CASE("field report 176: cycles, self-parents and orphans end in an error, not in a loop", "[core]") {
  QuotaLedger ledger;
  ledger.Upsert(MakeQuota("a").Parent("b").Obj());
  ledger.Upsert(MakeQuota("b").Parent("a").Obj());
  ledger.Upsert(MakeQuota("self").Parent("self").Obj());
  ledger.Upsert(MakeQuota("orphan").Parent("nobody").Obj());
  ledger.Upsert(MakeQuota("under").Parent("orphan").Obj());
  CHECK(ledger.PathOf("a").trouble().refusal.refusal == Refusal::kQuotaCycle);
  CHECK(ledger.PathOf("a").trouble().refusal.text == "a,b");
  CHECK(ledger.PathOf("self").trouble().refusal.refusal == Refusal::kQuotaCycle);
  const RefusalDetail& orphan = ledger.PathOf("under").trouble().refusal;
  CHECK(orphan.refusal == Refusal::kQuotaNotFound);
  CHECK(orphan.quota == "nobody");
  CHECK(orphan.text == "under,orphan,nobody");
  ledger.Charge(Key("u"), "a", Cpu(1));
  CHECK(ledger.BrokenInvariants().empty());
  ledger.Upsert(MakeQuota("b").Parent("").Version(2).Obj());
  CHECK(ledger.PathOf("a").trouble().ok());
  CHECK(Used(ledger, "b") == 1);
}

TEST_CASE("field report 175: of two quotas with one name the older counts, the other waits", "[core]") {
  QuotaLedger ledger;
  ledger.Upsert(MakeQuota("a", "team-2").Max(2).Created(absl::FromUnixSeconds(20)).Obj());
  ledger.Upsert(MakeQuota("a", "team-1").Max(1).Created(absl::FromUnixSeconds(10)).Obj());
  CHECK(ledger.Find("a")->key.ns == "team-1");
  REQUIRE(ledger.Shadowed().size() == 1);
  CHECK(ledger.Shadowed()[0]->key.ns == "team-2");
  ledger.Remove({"team-1", "a"});
  CHECK(ledger.PathOf("a").max(0).At("cpu") == 2000);
  CHECK(ledger.Shadowed().empty());
}

TEST_CASE("an invalid quota, or one below it, admits nothing", "[core]") {
  QuotaLedger ledger;
  ledger.Upsert(MakeQuota("p").Invalid("spec.max.cpu: no quantity").Obj());
  ledger.Upsert(MakeQuota("a").Parent("p").Obj());
  const RefusalDetail& why = ledger.PathOf("a").trouble().refusal;
  CHECK(why.refusal == Refusal::kQuotaInvalid);
  CHECK(why.quota == "p");
  CHECK(why.text == "spec.max.cpu: no quantity");
}

TEST_CASE("the root is checked if it exists and has a max", "[core]") {
  QuotaLedger ledger;
  ledger.Upsert(MakeQuota("a").Max(4).Obj());
  CHECK(ledger.PathOf("a").levels() == 1);
  ledger.Upsert(MakeQuota(std::string(kRootQuota)).Obj());
  CHECK(ledger.PathOf("a").levels() == 1);
  ledger.Upsert(MakeQuota(std::string(kRootQuota)).Max(3).Version(2).Obj());
  REQUIRE(ledger.PathOf("a").levels() == 2);
  CHECK(ledger.PathOf("a").name(1) == kRootQuota);
}

TEST_CASE("what is kept for others follows the use of those who do not lend", "[core]") {
  QuotaLedger ledger;
  ledger.Upsert(MakeQuota("p").Max(10).Obj());
  ledger.Upsert(MakeQuota("a").Parent("p").Min(4).Obj());
  ledger.Upsert(MakeQuota("b").Parent("p").Min(4).Lends(false).Obj());
  ledger.Upsert(MakeQuota("c").Parent("p").Min(2).Lends(false).Obj());
  CHECK(ledger.PathOf("a").KeptForOthers(1, "cpu") == 6000);
  CHECK(ledger.PathOf("b").KeptForOthers(1, "cpu") == 2000);
  ledger.Charge(Key("u"), "b", Cpu(3));
  CHECK(ledger.PathOf("a").KeptForOthers(1, "cpu") == 3000);
  ledger.Charge(Key("u"), "b", Cpu(9));
  CHECK(ledger.PathOf("a").KeptForOthers(1, "cpu") == 2000);
  ledger.Refund(Key("u"));
  CHECK(ledger.PathOf("a").KeptForOthers(1, "cpu") == 6000);
  CHECK(ledger.BrokenInvariants().empty());
}

TEST_CASE("guaranteed use is the part within min", "[core]") {
  QuotaLedger ledger;
  ledger.Upsert(MakeQuota("p").Min(4).Obj());
  ledger.Upsert(MakeQuota("a").Parent("p").Min(2).Obj());
  ledger.Charge(Key("u"), "a", Cpu(3));
  ledger.Charge(Key("v"), "p", Cpu(3));
  CHECK(ledger.BooksOf("a")->guaranteed_used.At("cpu") == 2000);
  CHECK(ledger.BooksOf("p")->guaranteed_used.At("cpu") == 4000);
  CHECK(ledger.BooksOf("p")->self_guaranteed_used.At("cpu") == 3000);
}

TEST_CASE("sums that saturated come back exactly", "[core]") {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  QuotaLedger ledger;
  ledger.Upsert(MakeQuota("a").Obj());
  ledger.Charge(Key("u1"), "a", Resources{{"memory", kHuge - 5}});
  ledger.Charge(Key("u2"), "a", Resources{{"memory", 1000}});
  CHECK(ledger.UsedOf("a", "memory") == kHuge);
  ledger.Refund(Key("u1"));
  CHECK(ledger.UsedOf("a", "memory") == 1000);
  ledger.Refund(Key("u2"));
  CHECK(ledger.UsedOf("a", "memory") == 0);
}

TEST_CASE("field report 23: whatever comes in whatever order, the books are the sum of the charges", "[core]") {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    QuotaLedger ledger;
    const auto quota = [&] { return absl::StrCat("q", random() % 6); };
    std::vector<std::string> broken;
    for (uint64_t step = 1; step <= 300 && broken.empty(); ++step) {
      switch (random() % 6) {
        case 0:
          ledger.Upsert(MakeQuota(quota())
                            .Parent(quota())
                            .Min(random() % 5)
                            .Max(random() % 9)
                            .Lends(random() % 2)
                            .Version(step)
                            .Obj());
          break;
        case 1:
          ledger.Remove({"kube-system", quota()});
          break;
        case 2:
          ledger.Refund(Key(absl::StrCat("u", random() % 10)));
          break;
        case 3:
          ledger.PathOf(quota());
          break;
        default:
          ledger.Charge(Key(absl::StrCat("u", random() % 10)), quota(), Cpu(random() % 4));
          break;
      }
      broken = ledger.BrokenInvariants();
    }
    CAPTURE(seed);
    CHECK(broken == std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace kq::scheduler
