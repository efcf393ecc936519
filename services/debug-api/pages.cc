#include "services/debug-api/pages.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"
#include "libs/common/time_format.h"
#include "services/debug-api/comparison.h"
#include "services/debug-api/server_objects.h"
#include "services/debug-api/view_json.h"

namespace kq::debug_api {
namespace {

constexpr char kAgeHeader[] = "X-Koord-Queue-Snapshot-Age";
constexpr int64_t kDefaultLimit = 1000;
constexpr int64_t kHighestLimit = 100'000;
constexpr absl::Duration kSettlePoll = absl::Milliseconds(100);
// From a write on the API server to the picture that has it.
constexpr absl::Duration kNewsDelay = absl::Milliseconds(500);

constexpr char kIndex[] =
    "The debug API of koord-queue. All answers are JSON but for this one; amounts of cpu are in milli, all others in\n"
    "base units.\n\n"
    "GET /apis/v1/elasticquota   the books by quota: limits, what is used, and the units that hold it\n"
    "GET /apis/v1/queue          who waits, by queue, in order, and why          ?limit=N of each queue\n"
    "GET /apis/v1/userquota      who uses each quota, by namespace and unit      ?limit=N of each quota\n"
    "GET /units/NAMESPACE/NAME   everything about one unit, with what ends its wait\n"
    "GET /compare                what differs between the books and the API server   ?limit=N\n"
    "GET /metrics /healthz /livez /readyz\n";

HttpResponse Index(const HttpRequest& request, const HttpPeer&, const PathCaptures&) {
  if (const auto parameters = ReadParameters(request.target, {}); !parameters.ok()) {
    return ErrorReply(parameters.status());
  }
  return TextResponse(200, kIndex);
}

std::string Reason(const Following& following) {
  return following.connection.ok() ? "" : absl::StrCat(": ", std::string(following.connection.message()));
}

// An error of the API server is not one of who asks here.
absl::Status FromServer(const absl::Status& status) {
  const bool later = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  return absl::Status(later ? absl::StatusCode::kUnavailable : absl::StatusCode::kUnknown,
                      absl::StrCat("the API server: ", std::string(status.message())));
}

Json ListedJson(const ServerObjects& server, absl::Time listed) {
  JsonObject unreadable;
  for (const auto& [object, why] : server.unreadable) {
    if (static_cast<int64_t>(unreadable.size()) == kDefaultLimit) break;
    unreadable[object] = why;
  }
  return {{"At", TimeText(listed)},
          {"QueueUnits", server.units.size()},
          {"ElasticQuotas", server.quotas.size()},
          {"Unreadable", std::move(unreadable)}};
}

Json PictureJson(const Following& following) {
  const queueing::v1::PictureId& id = following.picture->id;
  return {{"Epoch", id.epoch()},
          {"Revision", id.revision()},
          {"AsOf", TimeJson(id.has_as_of(), id.as_of())},
          {"Heard", TimeText(following.heard)},
          {"Server", following.server},
          {"Connection", following.connection.ok() ? "ok" : std::string(following.connection.message())}};
}

JsonArray DifferencesJson(const std::vector<Difference>& differences, int64_t limit) {
  JsonArray out;
  for (const Difference& difference : differences) {
    if (static_cast<int64_t>(out.size()) == limit) break;
    out.push_back({{"Kind", difference.kind},
                   {"Object", difference.object},
                   {"Field", difference.field},
                   {"Books", difference.books},
                   {"Server", difference.server}});
  }
  return out;
}

}  // namespace

absl::StatusOr<Pages::Looked> Pages::Look() const {
  Looked looked;
  looked.following = parts_.pictures->Look();
  if (looked.following.picture == nullptr) {
    return absl::UnavailableError(absl::StrCat("there is no picture of the scheduler yet", Reason(looked.following)));
  }
  // The clock may have been set back since.
  looked.age = std::max(absl::ZeroDuration(), parts_.clock->TimeNow() - looked.following.heard);
  if (looked.age <= options_.max_picture_age) return looked;
  return absl::UnavailableError(
      absl::StrCat("the scheduler was last heard of ", DurationText(absl::Trunc(looked.age, absl::Seconds(1))),
                   " ago, more than ", DurationText(options_.max_picture_age), Reason(looked.following)));
}

absl::Status Pages::Showing() const { return Look().status(); }

Route Pages::Page(const std::string& pattern, std::vector<std::string> known, Show show) {
  return {"GET", pattern,
          [this, known = std::move(known), show = std::move(show)](const HttpRequest& request, const HttpPeer&,
                                                                   const PathCaptures& captures) {
            absl::StatusOr<Parameters> parameters = ReadParameters(request.target, known);
            if (!parameters.ok()) return ErrorReply(parameters.status());
            absl::StatusOr<Looked> looked = Look();
            if (!looked.ok()) return ErrorReply(looked.status());
            looked->parameters = *std::move(parameters);
            const absl::StatusOr<Json> shown = show(*looked, captures);
            HttpResponse response = shown.ok() ? JsonReply(*shown) : ErrorReply(shown.status());
            response.headers.Add(kAgeHeader, absl::StrCat(absl::ToDoubleSeconds(looked->age)));
            return response;
          }};
}

std::vector<Route> Pages::Routes() {
  const auto limited = [](Json (*view)(const Picture&, int64_t)) {
    return [view](const Looked& looked, const PathCaptures&) -> absl::StatusOr<Json> {
      KQ_ASSIGN_OR_RETURN(const int64_t limit, NumberOf(looked.parameters, "limit", kDefaultLimit, kHighestLimit));
      return view(*looked.following.picture, limit);
    };
  };
  const auto elastic_quota = [](const Looked& looked, const PathCaptures&) -> absl::StatusOr<Json> {
    return ElasticQuotaView(*looked.following.picture);
  };
  const auto unit = [this](const Looked& looked, const PathCaptures& captures) { return Unit(looked, captures); };
  const auto compare = [this](const Looked& looked, const PathCaptures&) { return Comparison(looked); };
  return {{"GET", "/", Index},
          Page("/apis/v1/elasticquota", {}, elastic_quota),
          Page("/apis/v1/queue", {"limit"}, limited(QueueView)),
          Page("/apis/v1/userquota", {"limit"}, limited(UserQuotaView)),
          Page("/units/{ns}/{name}", {}, unit),
          Page("/compare", {"limit"}, compare)};
}

absl::StatusOr<Json> Pages::Unit(const Looked& looked, const PathCaptures& captures) const {
  const ObjectKey key{captures["ns"], captures["name"]};
  if (!IsObjectName(key.ns) || !IsObjectName(key.name)) {
    return absl::InvalidArgumentError("the path is /units/NAMESPACE/NAME, with the names of a namespace and a unit");
  }
  const FoundUnit found = FindUnit(*looked.following.picture, key.ns, key.name);
  if (found.unit == nullptr) return absl::NotFoundError(absl::StrCat("no unfinished queue unit ", key.ToString()));
  LeaderAnswers answers;
  if (looked.following.connection.ok()) {
    answers = parts_.ask_leader(looked.following.server, key);
  } else {
    answers.explanation = looked.following.connection;
    answers.decisions = looked.following.connection;
  }
  return UnitView(found, answers);
}

absl::StatusOr<Json> Pages::Comparison(const Looked& looked) {
  KQ_ASSIGN_OR_RETURN(const int64_t limit, NumberOf(looked.parameters, "limit", kDefaultLimit, kHighestLimit));
  // Each holds every object in memory.
  if (comparing_.exchange(true)) return absl::ResourceExhaustedError("another comparison runs; try again");
  const auto done = absl::MakeCleanup([this] { comparing_ = false; });

  const absl::Time began = parts_.clock->TimeNow();
  const absl::StatusOr<ServerObjects> server = ListServerObjects(parts_.api);
  if (!server.ok()) return FromServer(server.status());
  const absl::Time listed = parts_.clock->TimeNow();

  // The list lies between two pictures. What is as the list says in either of
  // them was only on its way, and so is what a picture after the list clears up.
  std::shared_ptr<const Picture> compared = looked.following.picture;
  debug_api::Comparison found = Compare(*compared, *server);
  Following following = parts_.pictures->Look();
  const auto narrow = [&] {
    if (following.picture == compared) return;
    compared = following.picture;
    debug_api::Comparison next = Compare(*compared, *server);
    next.differences = InBoth(next.differences, found.differences);
    found = std::move(next);
  };
  narrow();
  while (!found.differences.empty() && following.connection.ok() && following.heard <= listed + kNewsDelay &&
         parts_.clock->TimeNow() < listed + options_.settle) {
    parts_.clock->SleepFor(kSettlePoll);
    following = parts_.pictures->Look();
    narrow();
  }
  // A leader that is followed and agrees has no need to say so again.
  const bool agreed = found.differences.empty() && following.connection.ok();
  const bool older = !agreed && following.heard < began;
  const int64_t total = static_cast<int64_t>(found.differences.size());
  JsonObject view = {{"Picture", PictureJson(following)},
                     {"List", ListedJson(*server, listed)},
                     {"PictureOlderThanList", older},
                     {"OnTheirWay", found.on_their_way},
                     {"Differences", DifferencesJson(found.differences, limit)},
                     {"NotShown", std::max<int64_t>(0, total - limit)}};
  if (older) {
    view["Note"] = absl::StrCat("The scheduler was last heard of ", DurationText(began - following.heard),
                                " before the list: what changed since then differs.");
  }
  return view;
}

HttpResponse WithStatusBody(HttpResponse response) {
  const std::string* type = response.headers.Find("Content-Type");
  if (response.code < 400 || response.code >= 500 || type == nullptr || !absl::StartsWith(*type, "text/plain"))
    return response;
  std::string message = response.code == 404   ? "there is no such path; GET / lists them"
                        : response.code == 405 ? "only GET is served here"
                                               : std::string(ReasonPhrase(response.code));
  HttpResponse out = ErrorReply(response.code, message);
  if (const std::string* allow = response.headers.Find("Allow")) out.headers.Add("Allow", *allow);
  return out;
}

}  // namespace kq::debug_api
