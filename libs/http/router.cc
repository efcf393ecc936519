#include "libs/http/router.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace kq {
namespace {

// "/a/b" is {"a", "b"}; "/a/" is {"a", ""}.
std::vector<absl::string_view> Segments(absl::string_view path) {
  absl::ConsumePrefix(&path, "/");
  return absl::StrSplit(path, '/');
}

}  // namespace

const std::string& PathCaptures::operator[](absl::string_view name) const {
  static const std::string* const empty = new std::string;
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  return *empty;
}

absl::StatusOr<std::vector<Router::Segment>> Router::ParsePattern(absl::string_view pattern) {
  const auto bad = [pattern](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("route ", pattern, ": ", why));
  };
  if (!absl::StartsWith(pattern, "/")) return bad("must begin with /");
  std::vector<Segment> segments;
  std::set<std::string> names;
  for (absl::string_view part : Segments(pattern)) {
    if (!segments.empty() && segments.back().kind == Segment::Kind::kRest) return bad("something follows the rest");
    Segment segment;
    if (absl::ConsumePrefix(&part, "{")) {
      if (!absl::ConsumeSuffix(&part, "}")) return bad("a name must fill its segment");
      segment.kind = absl::ConsumeSuffix(&part, "...") ? Segment::Kind::kRest : Segment::Kind::kName;
      if (part.empty() || !names.emplace(part).second) return bad("a name is empty or used twice");
    }
    if (part.find_first_of("{}") != absl::string_view::npos) return bad("a name must fill its segment");
    segment.text = std::string(part);
    segments.push_back(std::move(segment));
  }
  return segments;
}

absl::StatusOr<Router> Router::Build(std::vector<Route> routes) {
  Router router;
  for (Route& route : routes) {
    absl::StatusOr<std::vector<Segment>> segments = ParsePattern(route.pattern);
    if (!segments.ok()) return segments.status();
    if (!IsHttpToken(route.method) || route.handle == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("route ", route.pattern, ": no method or no handle"));
    }
    for (const Entry& other : router.entries_) {
      if (other.method == route.method && Same(other.segments, *segments)) {
        return absl::InvalidArgumentError(absl::StrCat("route ", route.method, " ", route.pattern, ": is there twice"));
      }
    }
    router.entries_.push_back(
        {std::move(route.method), std::move(route.pattern), *std::move(segments), std::move(route.handle)});
  }
  return router;
}

bool Router::Fits(const std::vector<Segment>& segments, const std::vector<absl::string_view>& path) {
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].kind == Segment::Kind::kRest) return true;
    if (i >= path.size()) return false;
    switch (segments[i].kind) {
      case Segment::Kind::kText:
        if (segments[i].text != path[i]) return false;
        break;
      case Segment::Kind::kName:
        if (path[i].empty()) return false;
        break;
      case Segment::Kind::kRest:
        break;
    }
  }
  return segments.size() == path.size();
}

bool Router::Closer(const std::vector<Segment>& a, const std::vector<Segment>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].kind != b[i].kind) return a[i].kind < b[i].kind;
  }
  return a.size() < b.size();  // nothing is closer than an empty rest
}

bool Router::Same(const std::vector<Segment>& a, const std::vector<Segment>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Segment& x, const Segment& y) {
    return x.kind == y.kind && (x.kind != Segment::Kind::kText || x.text == y.text);
  });
}

HttpResponse Router::Call(const Entry& entry, const HttpRequest& request, const HttpPeer& peer) {
  const std::vector<absl::string_view> path = Segments(TargetPath(request.target));
  PathCaptures captures;
  for (size_t i = 0; i < entry.segments.size(); ++i) {
    const Segment& segment = entry.segments[i];
    if (segment.kind == Segment::Kind::kText) continue;
    const std::string raw = segment.kind == Segment::Kind::kName || i >= path.size()
                                ? std::string(i < path.size() ? path[i] : "")
                                : absl::StrJoin(path.begin() + static_cast<ptrdiff_t>(i), path.end(), "/");
    std::optional<std::string> value = PercentDecode(raw);
    if (!value.has_value()) return TextResponse(400, "400 Bad Request: the path is not valid percent-encoding\n");
    captures.Add(segment.text, *std::move(value));
  }
  return entry.handle(request, peer, captures);
}

const Router::Entry* Router::FindEntry(const HttpRequest& request, std::set<std::string>* allowed) const {
  const std::vector<absl::string_view> path = Segments(TargetPath(request.target));
  const Entry* best = nullptr;
  const auto better = [&](const Entry& entry) {
    if (best == nullptr) return true;
    if (Closer(entry.segments, best->segments)) return true;
    // The same pattern: HEAD has a route of its own beside GET's.
    return Same(entry.segments, best->segments) && entry.method == request.method;
  };
  for (const Entry& entry : entries_) {
    if (!Fits(entry.segments, path)) continue;
    allowed->insert(entry.method);
    if (entry.method == "GET") allowed->insert("HEAD");
    const bool serves = entry.method == request.method || (request.method == "HEAD" && entry.method == "GET");
    if (serves && better(entry)) best = &entry;
  }
  return best;
}

absl::string_view Router::PatternOf(const HttpRequest& request) const {
  std::set<std::string> allowed;
  const Entry* entry = FindEntry(request, &allowed);
  return entry == nullptr ? absl::string_view() : entry->pattern;
}

HttpResponse Router::operator()(const HttpRequest& request, const HttpPeer& peer) const {
  std::set<std::string> allowed;
  const Entry* best = FindEntry(request, &allowed);
  if (best != nullptr) return Call(*best, request, peer);
  if (allowed.empty()) return TextResponse(404);
  HttpResponse response = TextResponse(405);
  response.headers.Add("Allow", absl::StrJoin(allowed, ", "));
  return response;
}

}  // namespace kq
