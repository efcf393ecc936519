#include "libs/http/router.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kq {
namespace {

// Answers with its label and the captures named in `names`.
RouteHandle Say(const std::string& label, std::vector<std::string> names = {}) {
  return [label, names = std::move(names)](const HttpRequest&, const HttpPeer&, const PathCaptures& captures) {
    std::string text = label;
    for (const std::string& name : names) absl::StrAppend(&text, " ", name, "=", captures[name]);
    return TextResponse(200, text);
  };
}

HttpResponse Ask(const Router& router, const std::string& method, const std::string& target) {
  HttpRequest request;
  request.method = method;
  request.target = target;
  return router(request, HttpPeer());
}

TEST_CASE("a path finds its route") {
  const auto router = Router::Build({
      {"GET", "/", Say("root")},
      {"GET", "/healthz", Say("healthz")},
      {"GET", "/apis/{group}/namespaces/{ns}/queues/{name}", Say("queue", {"group", "ns", "name"})},
      {"GET", "/apis/{group}/namespaces/{ns}/queues", Say("queues", {"ns"})},
      {"DELETE", "/apis/{group}/namespaces/{ns}/queues/{name}", Say("delete", {"name"})},
      {"GET", "/units/{ns}/{name}", Say("unit", {"ns", "name"})},
      {"GET", "/units/{ns}/all", Say("all", {"ns"})},
      {"GET", "/units/kube-system/{name}", Say("system", {"name"})},
      {"GET", "/ui/{path...}", Say("ui", {"path"})},
      {"GET", "/ui", Say("ui itself")},
      {"HEAD", "/special", Say("head")},
      {"GET", "/special", Say("get")},
  });
  REQUIRE(router.ok());
  struct Case {
    std::string method, target, want;
    int code = 200;
  };
  const auto c = GENERATE(values<Case>({
      {"GET", "/", "root"},
      {"GET", "/?x=1", "root"},
      {"GET", "/healthz?verbose", "healthz"},
      {"HEAD", "/healthz", "healthz"},
      {"GET", "/healthz/", "404 Not Found\n", 404},
      {"GET", "/health", "404 Not Found\n", 404},
      {"GET", "//healthz", "404 Not Found\n", 404},
      {"GET", "/apis/a.b/namespaces/n/queues/q", "queue group=a.b ns=n name=q"},
      {"GET", "/apis/a.b/namespaces/n/queues", "queues ns=n"},
      {"GET", "/apis/a.b/namespaces//queues", "404 Not Found\n", 404},
      {"GET", "/apis/a.b/namespaces/n/queues/q/status", "404 Not Found\n", 404},
      {"GET", "/apis/a.b/namespaces/n/queues/a%2Fb%20c", "queue group=a.b ns=n name=a/b c"},
      {"GET", "/units/a/b%zz", "400 Bad Request: the path is not valid percent-encoding\n", 400},
      {"DELETE", "/apis/a.b/namespaces/n/queues/q", "delete name=q"},
      {"GET", "/units/a/b", "unit ns=a name=b"},
      {"GET", "/units/a/all", "all ns=a"},
      {"GET", "/units/kube-system/all", "system name=all"},
      {"GET", "/ui", "ui itself"},
      {"GET", "/ui/", "ui path="},
      {"GET", "/ui/a/b.css", "ui path=a/b.css"},
      {"HEAD", "/special", "head"},
      {"GET", "/special", "get"},
  }));
  CAPTURE(c.method, c.target);
  const HttpResponse response = Ask(*router, c.method, c.target);
  CHECK(response.code == c.code);
  CHECK(response.body == c.want);
}

TEST_CASE("a path that is there for other methods says for which") {
  const auto router = Router::Build({
      {"GET", "/a/{x}", Say("get")},
      {"PUT", "/a/{y}", Say("put")},
      {"POST", "/b", Say("post")},
  });
  REQUIRE(router.ok());
  const HttpResponse response = Ask(*router, "DELETE", "/a/1");
  CHECK(response.code == 405);
  REQUIRE(response.headers.Find("Allow") != nullptr);
  CHECK(*response.headers.Find("Allow") == "GET, HEAD, PUT");
  CHECK(*Ask(*router, "GET", "/b").headers.Find("Allow") == "POST");
  CHECK(Ask(*router, "HEAD", "/b").code == 405);
}

TEST_CASE("a request is known by its pattern, whatever the names in it") {
  const auto nothing = [](const HttpRequest&, const HttpPeer&, const PathCaptures&) { return TextResponse(200); };
  const auto router = Router::Build({{"GET", "/units/{ns}/{name}", nothing}, {"GET", "/", nothing}});
  REQUIRE(router.ok());
  const auto pattern = [&](const std::string& method, const std::string& target) {
    return router->PatternOf({.method = method, .target = target, .headers = {}, .body = {}});
  };
  CHECK(pattern("GET", "/units/n/a?x") == "/units/{ns}/{name}");
  CHECK(pattern("HEAD", "/") == "/");
  CHECK(pattern("POST", "/").empty());
  CHECK(pattern("GET", "/units").empty());
}

TEST_CASE("bad tables are refused") {
  for (const char* pattern :
       {"", "a", "/{}", "/{a", "/a}", "/{a}b", "/x{a}", "/{a}/{a}", "/{a...}/b", "/{...}", "/{a}}"}) {
    CAPTURE(pattern);
    CHECK(absl::IsInvalidArgument(Router::Build({{"GET", pattern, Say("x")}}).status()));
  }
  CHECK(absl::IsInvalidArgument(Router::Build({{"GET", "/{a}", Say("x")}, {"GET", "/{b}", Say("y")}}).status()));
  CHECK(absl::IsInvalidArgument(Router::Build({{"", "/", Say("x")}}).status()));
  CHECK(absl::IsInvalidArgument(Router::Build({{"GET", "/", nullptr}}).status()));
}

}  // namespace
}  // namespace kq
