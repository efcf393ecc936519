#include "services/visibility/api.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/common/time_format.h"
#include "services/visibility/accept.h"
#include "services/visibility/discovery.h"
#include "services/visibility/request_log.h"
#include "services/visibility/status_body.h"
#include "services/visibility/unit_listing.h"
#include "services/visibility/unit_query.h"
#include "services/visibility/unit_rendering.h"

namespace kq::visibility {
namespace {

constexpr char kQueueGroup[] = "scheduling.x-k8s.io";
constexpr absl::Duration kComeAgain = absl::Seconds(1);

using Make = std::function<HttpResponse(Form)>;

std::string Header(const HttpRequest& request, absl::string_view name) {
  const std::string* value = request.headers.Find(name);
  return value == nullptr ? "" : *value;
}

HttpResponse NotAcceptable() {
  return StatusAnswer(406, "NotAcceptable",
                      "only the following media types are accepted: application/json, and for lists of units "
                      "application/json;as=Table;v=v1;g=meta.k8s.io");
}

HttpResponse NoSuchPath() { return StatusAnswer(404, "NotFound", "the server could not find the requested resource"); }

HttpResponse ForDiscoveryAlone() {
  return StatusAnswer(405, "MethodNotAllowed",
                      "the collection exists for discovery alone: ask for NAME/queueunits below it");
}

// One constant document, in any of `forms`.
RouteHandle Document(std::vector<Form> forms, Make make) {
  return [forms = std::move(forms), make = std::move(make)](const HttpRequest& request, const HttpPeer&,
                                                            const PathCaptures&) {
    const std::optional<Form> form = ChooseForm(Header(request, "Accept"), forms);
    return form.has_value() ? make(*form) : NotAcceptable();
  };
}

RouteHandle Document(const Json& document) {
  // /openapi is asked for with media types of its own; the answer is JSON all the same.
  return
      [response = JsonAnswer(document)](const HttpRequest&, const HttpPeer&, const PathCaptures&) { return response; };
}

HttpResponse GroupsIn(Form form) {
  const auto aggregated = [](const char* version) {
    return JsonAnswer(AggregatedDiscovery(version),
                      absl::StrCat("application/json;g=apidiscovery.k8s.io;v=", version, ";as=APIGroupDiscoveryList"));
  };
  switch (form) {
    case Form::kAggregated:
      return aggregated("v2");
    case Form::kAggregatedBeta:
      return aggregated("v2beta1");
    case Form::kPlain:
    case Form::kTable:
      break;
  }
  return JsonAnswer(ApiGroupList());
}

std::string VerbOf(const HttpRequest& request, bool named) {
  if (request.method == "GET" || request.method == "HEAD") return named ? "get" : "list";
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  if (request.method == "DELETE") return named ? "delete" : "deletecollection";
  return absl::AsciiStrToLower(request.method);
}

Attributes AttributesOf(const HttpRequest& request) {
  const absl::string_view path = TargetPath(request.target);
  Attributes attributes;
  absl::string_view rest = path;
  if (!absl::ConsumePrefix(&rest, absl::StrCat("/apis/", kGroupVersion, "/")) || rest.empty()) {
    attributes.path = std::string(path);
    attributes.verb = request.method == "HEAD" ? "get" : absl::AsciiStrToLower(request.method);
    return attributes;
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('/', 2));
  const auto part = [&](size_t i) {
    return i < parts.size() ? PercentDecode(parts[i]).value_or(std::string(parts[i])) : std::string();
  };
  attributes.resource = part(0);
  attributes.name = part(1);
  attributes.subresource = part(2);
  attributes.verb = VerbOf(request, !attributes.name.empty());
  return attributes;
}

std::string WhatOf(const Attributes& attributes) {
  if (attributes.subresource == "queueunits" &&
      (attributes.resource == "queues" || attributes.resource == "elasticquotas")) {
    return absl::StrCat(attributes.resource, "/queueunits");
  }
  return attributes.resource.empty() ? "discovery" : "other";
}

HttpResponse Unavailable(absl::string_view why) {
  return StatusAnswer(503, "ServiceUnavailable", why, {.retry_after = kComeAgain});
}

HttpResponse NotAuthenticated(const absl::Status& why) {
  if (absl::IsUnavailable(why)) return Unavailable(why.message());
  HttpResponse response = StatusAnswer(401, "Unauthorized", absl::StrCat("Unauthorized: ", why.message()));
  response.headers.Add("WWW-Authenticate", "Bearer");
  return response;
}

HttpResponse NotAuthorized(const Attributes& attributes, const absl::Status& why) {
  if (absl::IsUnavailable(why)) return Unavailable(why.message());
  const std::string subject =
      attributes.resource.empty()
          ? "forbidden: "
          : absl::StrCat(attributes.resource, ".", kGroup,
                         attributes.name.empty() ? "" : absl::StrCat(" \"", attributes.name, "\""), " is forbidden: ");
  StatusDetails details;
  if (!attributes.resource.empty()) details = {.name = attributes.name, .group = kGroup, .kind = attributes.resource};
  return StatusAnswer(403, "Forbidden", absl::StrCat(subject, why.message()), details);
}

}  // namespace

Api::Api(ApiOptions options, ApiParts parts)
    : options_(std::move(options)), parts_(parts), router_(*Router::Build(Routes())) {}

std::vector<Route> Api::Routes() {
  const std::string group = absl::StrCat("/apis/", kGroup), version = absl::StrCat("/apis/", kGroupVersion);
  const auto collection = [](const HttpRequest&, const HttpPeer&, const PathCaptures&) { return ForDiscoveryAlone(); };
  const auto queue = [this](const HttpRequest& request, const HttpPeer&, const PathCaptures& captures) {
    return Units(request, captures["name"], "");
  };
  const auto quota = [this](const HttpRequest& request, const HttpPeer&, const PathCaptures& captures) {
    return Units(request, "", captures["name"]);
  };
  return {{"GET", "/apis", Document({Form::kPlain, Form::kAggregated, Form::kAggregatedBeta}, GroupsIn)},
          {"GET", group, Document({Form::kPlain}, [](Form) { return JsonAnswer(ApiGroup()); })},
          {"GET", version, Document({Form::kPlain}, [](Form) { return JsonAnswer(ApiResourceList()); })},
          {"GET", version + "/queues", collection},
          {"GET", version + "/queues/{name}/queueunits", queue},
          {"GET", version + "/elasticquotas", collection},
          {"GET", version + "/elasticquotas/{name}/queueunits", quota},
          {"GET", "/openapi/v2", Document(OpenApiV2())},
          {"GET", "/openapi/v3", Document(OpenApiV3Index())},
          {"GET", absl::StrCat("/openapi/v3", version), Document(OpenApiV3())},
          {"GET", "/version", Document(VersionDocument())}};
}

HttpResponse Api::Handle(const HttpRequest& request, const HttpPeer& peer) {
  const absl::Time begin = parts_.clock->TimeNow();
  Seen seen;
  HttpResponse response = Answer(request, peer, &seen);
  options_.observe(seen.what, response.code, parts_.clock->TimeNow() - begin);
  if (seen.what == "health" || !options_.log_bodies()) return response;
  if (seen.let_in) return LogAnswered(request, std::move(response));
  LogRefused(seen.what, response.code);
  return response;
}

HttpResponse Api::Answer(const HttpRequest& request, const HttpPeer& peer, Seen* seen) {
  if (std::optional<HttpResponse> health = parts_.health->Answer(request.target)) {
    seen->what = "health";
    return *std::move(health);
  }
  const Attributes attributes = AttributesOf(request);
  seen->what = WhatOf(attributes);
  const absl::StatusOr<User> user = parts_.authenticator->Authenticate(request, peer);
  if (!user.ok()) return NotAuthenticated(user.status());
  if (const absl::Status may = parts_.authorizer->Authorize(*user, attributes); !may.ok())
    return NotAuthorized(attributes, may);
  seen->let_in = true;
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse response =
        StatusAnswer(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
    response.headers.Add("Allow", "GET, HEAD");
    return response;
  }
  HttpResponse response = router_(request, peer);
  // The router's own words, about a path that is malformed or not there, are plain text.
  const std::string* type = response.headers.Find("Content-Type");
  if (type != nullptr && absl::StartsWith(*type, "application/json")) return response;
  return response.code == 400 ? StatusAnswer(400, "BadRequest", "the path is malformed") : NoSuchPath();
}

HttpResponse Api::Units(const HttpRequest& request, const std::string& queue, const std::string& quota) {
  const std::optional<Form> form = ChooseForm(Header(request, "Accept"), {Form::kPlain, Form::kTable});
  if (!form.has_value()) return NotAcceptable();
  const absl::StatusOr<UnitQuery> query = ParseUnitQuery(request.target);
  if (!query.ok()) return StatusAnswer(400, "BadRequest", query.status().message());
  const Following following = parts_.pictures->Look();
  const absl::Time now = parts_.clock->TimeNow();
  const absl::Duration age = std::max(absl::ZeroDuration(), now - following.heard);
  if (following.picture == nullptr) return Unavailable("there is no snapshot of the scheduler yet");
  if (age > options_.max_picture_age) {
    return Unavailable(absl::StrCat("the newest snapshot of the scheduler is too old: it is of ",
                                    TimeText(following.heard), ", ", absl::ToInt64Seconds(age), " s ago"));
  }
  UnitPage page;
  if (!quota.empty()) {
    page = UnitsOfQuota(following.picture, quota, *query);
  } else if (std::optional<UnitPage> found = UnitsOfQueue(following.picture, queue, *query)) {
    page = *std::move(found);
  } else {
    return StatusAnswer(404, "NotFound", absl::StrCat("queue.", kQueueGroup, " \"", queue, "\" not found"),
                        {.name = queue, .group = kQueueGroup, .kind = "queue"});
  }
  HttpResponse response =
      Counted(*form == Form::kTable ? TableAnswer(std::move(page), now) : SummaryAnswer(std::move(page)));
  response.headers.Add("X-Koord-Queue-Snapshot-Age", absl::StrCat(absl::ToDoubleSeconds(age)));
  return response;
}

HttpResponse Api::Counted(HttpResponse response) {
  if (!response.more) return response;
  if (long_answers_->fetch_add(1) >= options_.long_answers) {
    long_answers_->fetch_sub(1);
    return StatusAnswer(429, "TooManyRequests",
                        "too many long answers are being sent: ask again, or for a page (limit)",
                        {.retry_after = kComeAgain});
  }
  // Given back when the server has sent the last piece, or the client has gone.
  const std::shared_ptr<void> place(nullptr, [count = long_answers_](void*) { count->fetch_sub(1); });
  response.more = [more = std::move(response.more), place] { return more(); };
  return response;
}

}  // namespace kq::visibility
