#include "libs/scheduler_client/picture_change.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace kq {
namespace {

namespace v1 = queueing::v1;

v1::SnapshotChange Change(const std::string& epoch, uint64_t revision) {
  v1::SnapshotChange change;
  change.mutable_id()->set_epoch(epoch);
  change.mutable_id()->set_revision(revision);
  return change;
}

// Queues a and b, quotas kube-system/a and other/a, one unplaced unit.
v1::SnapshotChange Whole(const std::string& epoch = "e1", uint64_t revision = 1) {
  v1::SnapshotChange change = Change(epoch, revision);
  change.set_whole(true);
  change.add_queues()->set_name("a");
  change.add_queues()->set_name("b");
  for (const char* ns : {"kube-system", "other"}) {
    v1::QuotaSnapshot* quota = change.add_quotas();
    quota->set_namespace_(ns);
    quota->set_name("a");
  }
  change.set_unplaced_changed(true);
  change.add_unplaced()->set_name("lost");
  return change;
}

std::shared_ptr<const Picture> Applied(const std::shared_ptr<const Picture>& before, v1::SnapshotChange change) {
  auto picture = ApplyChange(before, std::move(change));
  REQUIRE(picture.ok());
  REQUIRE(*picture != nullptr);
  return *picture;
}

TEST_CASE("a whole picture is taken as it is", "[scheduler_client]") {
  const auto picture = Applied(nullptr, Whole());
  CHECK(picture->id.epoch() == "e1");
  CHECK(picture->queues.size() == 2);
  CHECK(picture->queues.at("b")->name() == "b");
  CHECK(picture->quotas.size() == 2);
  CHECK(picture->quotas.at("kube-system/a")->namespace_() == "kube-system");
  REQUIRE(picture->unplaced->size() == 1);
  CHECK(picture->unplaced->front().name() == "lost");
}

TEST_CASE("a difference replaces the parts it names and shares the others", "[scheduler_client]") {
  const auto before = Applied(nullptr, Whole());
  v1::SnapshotChange change = Change("e1", 4);
  change.add_queues()->set_name("a");
  change.mutable_queues(0)->set_ready(7);
  change.add_queues()->set_name("c");
  change.add_removed_quotas("other/a");
  const auto after = Applied(before, change);
  CHECK(after->id.revision() == 4);
  CHECK(after->queues.size() == 3);
  CHECK(after->queues.at("a")->ready() == 7);
  CHECK(after->queues.at("b") == before->queues.at("b"));
  CHECK(after->quotas.count("other/a") == 0);
  CHECK(after->quotas.at("kube-system/a") == before->quotas.at("kube-system/a"));
  CHECK(after->unplaced == before->unplaced);
  // The picture before is as it was.
  CHECK(before->queues.at("a")->ready() == 0);
  CHECK(before->quotas.size() == 2);
}

TEST_CASE("a queue goes, and the unplaced units are replaced as a whole", "[scheduler_client]") {
  const auto before = Applied(nullptr, Whole());
  v1::SnapshotChange change = Change("e1", 2);
  change.add_removed_queues("a");
  change.add_removed_queues("never-was");
  change.set_unplaced_changed(true);
  const auto after = Applied(before, change);
  CHECK(after->queues.size() == 1);
  CHECK(after->unplaced->empty());
}

TEST_CASE("a sign of life leaves the picture as it is", "[scheduler_client]") {
  const auto before = Applied(nullptr, Whole());
  CHECK(Applied(before, Change("e1", 1)) == before);
}

TEST_CASE("a new epoch replaces everything, whatever its revision", "[scheduler_client]") {
  const auto before = Applied(nullptr, Whole("e1", 900));
  v1::SnapshotChange change = Change("e2", 1);
  change.set_whole(true);
  change.add_queues()->set_name("z");
  const auto after = Applied(before, change);
  CHECK(after->queues.size() == 1);
  CHECK(after->quotas.empty());
  CHECK(after->unplaced->empty());
}

TEST_CASE("a change that does not follow on the picture is refused", "[scheduler_client]") {
  const auto before = Applied(nullptr, Whole("e1", 5));
  CHECK(ApplyChange(nullptr, Change("e1", 1)).status() ==
        absl::FailedPreconditionError("a change came before the whole picture"));
  CHECK(ApplyChange(before, Change("e2", 6)).status() ==
        absl::FailedPreconditionError("a change of epoch e2 came on a picture of epoch e1"));
  CHECK(ApplyChange(before, Change("e1", 4)).status() == absl::FailedPreconditionError("revision 4 came after 5"));
}

}  // namespace
}  // namespace kq
