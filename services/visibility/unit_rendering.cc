#include "services/visibility/unit_rendering.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/time_format.h"
#include "libs/scheduler_client/proto_time.h"
#include "services/visibility/status_body.h"

namespace kq::visibility {
namespace {

namespace v1 = queueing::v1;

// Units per piece of an answer: some hundred kilobytes.
constexpr size_t kUnitsPerPiece = 500;

template <typename Quantities>
JsonObject QuantitiesOf(const Quantities& quantities) {
  JsonObject object;
  for (const v1::Quantity& quantity : quantities) object[quantity.resource()] = quantity.quantity();
  return object;
}

JsonObject Metadata(const v1::UnitSnapshot& unit) {
  JsonObject metadata = {{"name", unit.name()}, {"namespace", unit.namespace_()}};
  if (!unit.uid().empty()) metadata["uid"] = unit.uid();
  if (unit.has_created()) {
    if (const std::string created = TimeText(TimeOf(unit.created())); !created.empty())
      metadata["creationTimestamp"] = created;
  }
  return metadata;
}

JsonObject ListMetadata(const UnitPage& page) {
  JsonObject metadata = {{"resourceVersion", absl::StrCat(page.picture->id.epoch(), ".", page.picture->id.revision())}};
  if (page.remaining > 0) metadata["remainingItemCount"] = page.remaining;
  metadata["totalItemCount"] = page.total;
  return metadata;
}

Json Column(absl::string_view name, absl::string_view type, absl::string_view description, int priority = 0) {
  return {{"name", std::string(name)},
          {"type", std::string(type)},
          {"format", name == "Name" ? "name" : ""},
          {"description", std::string(description)},
          {"priority", priority}};
}

JsonArray Columns() {
  return {Column("Name", "string", "Name of the QueueUnit"),
          Column("Namespace", "string", "Namespace of the QueueUnit"),
          Column("Quota", "string", "ElasticQuota that it is charged to"),
          Column("Queue", "string", "Queue that it waits in"),
          Column("Phase", "string", "status.phase"),
          Column("Position", "integer", "Place in its queue, from 1; 0 if it does not wait in one"),
          Column("Priority", "integer", "spec.priority"),
          Column("Age", "string", "Time since its creation"),
          Column("Message", "string", "Why it waits", 1)};
}

Json Row(const v1::UnitSnapshot& unit, absl::Time now) {
  const std::string age = unit.has_created() ? AgeText(now - TimeOf(unit.created())) : "<unknown>";
  return {
      {"cells", JsonArray{unit.name(), unit.namespace_(), unit.quota(), unit.queue(), unit.phase(), unit.position(),
                          unit.priority(), age, unit.refusal().sentence()}},
      {"object", {{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/v1"}, {"metadata", Metadata(unit)}}}};
}

// `head` ends before the first unit, `tail` begins after the last one.
HttpResponse Streamed(UnitPage page, std::string head, std::string tail,
                      std::function<Json(const v1::UnitSnapshot&)> item) {
  struct Progress {
    UnitPage page;
    std::string tail;
    std::function<Json(const v1::UnitSnapshot&)> item;
    size_t next = 0;
    bool done = false;
  };
  auto progress = std::make_shared<Progress>(Progress{std::move(page), std::move(tail), std::move(item)});
  const auto piece = [progress]() -> std::optional<std::string> {
    if (progress->done) return std::nullopt;
    const auto& units = progress->page.units;
    const size_t end = std::min(units.size(), progress->next + kUnitsPerPiece);
    std::string text;
    for (; progress->next < end; ++progress->next) {
      if (progress->next > 0) text += ',';
      text += JsonText(progress->item(*units[progress->next]));
    }
    progress->done = progress->next == units.size();
    if (progress->done) text += progress->tail;
    return text;
  };
  HttpResponse response = EmptyJsonAnswer();
  response.body = std::move(head);
  response.body += *piece();
  if (!progress->done) response.more = piece;
  return response;
}

// The text of an object up to the place where the items of its last field, an
// empty array, would stand.
std::string HeadOf(const JsonObject& object) {
  std::string text = JsonText(object);
  text.resize(text.size() - 2);  // "]}"
  return text;
}

}  // namespace

Json UnitItem(const v1::UnitSnapshot& unit) {
  JsonObject item = {{"metadata", Metadata(unit)},
                     {"quotaName", unit.quota()},
                     {"queueName", unit.queue()},
                     {"request", QuantitiesOf(unit.request())},
                     {"resources", QuantitiesOf(unit.resources())},
                     {"phase", unit.phase()},
                     {"podState", {{"pending", unit.pods_pending()}, {"running", unit.pods_running()}}},
                     {"position", unit.position()},
                     {"priority", unit.priority()},
                     {"attempts", unit.attempts()}};
  if (unit.has_refusal() && !unit.refusal().sentence().empty()) item["message"] = unit.refusal().sentence();
  return item;
}

HttpResponse SummaryAnswer(UnitPage page) {
  const JsonObject summary = {{"kind", "QueueUnitsSummary"},
                              {"apiVersion", "visibility.koord-queue.x-k8s.io/v1alpha1"},
                              {"metadata", ListMetadata(page)},
                              {"items", JsonArray()}};
  return Streamed(std::move(page), HeadOf(summary), "]}\n", UnitItem);
}

HttpResponse TableAnswer(UnitPage page, absl::Time now) {
  const JsonObject table = {{"kind", "Table"},
                            {"apiVersion", "meta.k8s.io/v1"},
                            {"metadata", ListMetadata(page)},
                            {"columnDefinitions", Columns()},
                            {"rows", JsonArray()}};
  return Streamed(std::move(page), HeadOf(table), "]}\n",
                  [now](const v1::UnitSnapshot& unit) { return Row(unit, now); });
}

}  // namespace kq::visibility
