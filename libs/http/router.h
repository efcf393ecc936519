#ifndef LIBS_HTTP_ROUTER_H_
#define LIBS_HTTP_ROUTER_H_

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/http/http.h"
#include "libs/http/http_server.h"

namespace kq {

// What a path had in the places of a pattern's names, percent-decoded.
class PathCaptures {
 public:
  void Add(absl::string_view name, std::string value) { values_.emplace_back(std::string(name), std::move(value)); }
  // REQUIRES: the pattern has the name. Else empty.
  const std::string& operator[](absl::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

using RouteHandle = std::function<HttpResponse(const HttpRequest&, const HttpPeer&, const PathCaptures&)>;

// One line of a server's table: `pattern` is a path of segments, each of them a
// text ("apis"), a name ("{group}": one segment that is not empty) or, as the
// last one, a rest ("{path...}": all that follows, also nothing or slashes).
struct Route {
  std::string method;
  std::string pattern;
  RouteHandle handle;
};

// Finds the handle for a request. Where several patterns fit, a text wins over a
// name and a name over a rest, from the left. HEAD is served by the GET route if
// it has none of its own (the server leaves the body out).
//
//   KQ_ASSIGN_OR_RETURN(Router router, Router::Build({
//       {"GET", "/healthz", Healthz},
//       {"GET", "/apis/{group}/namespaces/{ns}/queues/{name}", ShowQueue}}));
//   StartHttpServer(options, router);
//
// Answers by itself: 404 no pattern fits; 405 with Allow, one fits but not for
// this method; 400 a captured segment is not valid percent-encoding. Immutable
// and copyable, so it may be called by several threads at once.
class Router {
 public:
  // kInvalidArgument: a pattern is malformed, or two are the same for one method.
  static absl::StatusOr<Router> Build(std::vector<Route> routes);

  HttpResponse operator()(const HttpRequest& request, const HttpPeer& peer) const;
  // The pattern of the route that serves the request, for a metric's label; empty
  // if none does. Valid as long as the router.
  absl::string_view PatternOf(const HttpRequest& request) const;

 private:
  struct Segment {
    enum class Kind { kText, kName, kRest };
    Kind kind = Kind::kText;
    std::string text;  // or the name
  };
  struct Entry {
    std::string method;
    std::string pattern;
    std::vector<Segment> segments;
    RouteHandle handle;
  };

  static absl::StatusOr<std::vector<Segment>> ParsePattern(absl::string_view pattern);
  static bool Fits(const std::vector<Segment>& segments, const std::vector<absl::string_view>& path);
  // Whether `a` names the path more closely than `b`; both fit it.
  static bool Closer(const std::vector<Segment>& a, const std::vector<Segment>& b);
  static bool Same(const std::vector<Segment>& a, const std::vector<Segment>& b);
  // The route that serves the request, or null; `allowed` gets the methods for which
  // there is one.
  const Entry* FindEntry(const HttpRequest& request, std::set<std::string>* allowed) const;
  static HttpResponse Call(const Entry& entry, const HttpRequest& request, const HttpPeer& peer);

  std::vector<Entry> entries_;
};

}  // namespace kq

#endif  // LIBS_HTTP_ROUTER_H_
