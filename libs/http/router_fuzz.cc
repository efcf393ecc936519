// Any bytes as method and target: one route at most is called, the path is what
// its pattern and its captures make, and what is refused has its code.
//
//   bazel test --config=fuzz //libs/http:router_fuzz
//   bazel run --config=fuzz //libs/http:router_fuzz -- -max_total_time=60 DIR
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "libs/http/http.h"
#include "libs/http/router.h"

namespace {

using kq::HttpPeer;
using kq::HttpRequest;
using kq::HttpResponse;
using kq::PathCaptures;

void Demand(bool condition) {
  if (!condition) std::abort();
}

// What the last call said.
struct Called {
  int times = 0;
  std::string method, pattern;
  std::vector<std::string> names, values;
};
Called called;

kq::Route RouteOf(const std::string& method, const std::string& pattern, const std::vector<std::string>& names) {
  return {method, pattern, [=](const HttpRequest&, const HttpPeer&, const PathCaptures& captures) {
            ++called.times;
            called.method = method;
            called.pattern = pattern;
            called.names = names;
            for (const std::string& name : names) called.values.push_back(captures[name]);
            return kq::TextResponse(200);
          }};
}

const kq::Router& Table() {
  static const kq::Router* const table = new kq::Router(*kq::Router::Build(
      {RouteOf("GET", "/", {}), RouteOf("GET", "/healthz", {}), RouteOf("HEAD", "/healthz", {}),
       RouteOf("GET", "/apis/{group}", {"group"}), RouteOf("GET", "/apis/g/v1/queues/{name}/queueunits", {"name"}),
       RouteOf("POST", "/apis/g/v1/queues/{name}/queueunits", {"name"}),
       RouteOf("GET", "/apis/g/v1/queues/all/{sub}", {"sub"}), RouteOf("GET", "/units/{ns}/{name}", {"ns", "name"}),
       RouteOf("GET", "/units/", {}), RouteOf("DELETE", "/files/{path...}", {"path"})}));
  return *table;
}

// The path that has these captures, by segments; what the router decoded is
// encoded again and decoded on both sides, since an escape can be written in two ways.
void CheckPath(std::string path) {
  // A rest may be nothing at all.
  if (path == "/files") path = "/files/";
  std::string made = called.pattern;
  for (size_t i = 0; i < called.names.size(); ++i) {
    const bool rest = called.names[i] == "path";
    const std::string place = "{" + called.names[i] + (rest ? "...}" : "}");
    Demand(rest || !called.values[i].empty());
    made = absl::StrReplaceAll(made, {{place, kq::PercentEncode(called.values[i])}});
  }
  Demand(kq::PercentDecode(made) == kq::PercentDecode(path));
  // Nothing in a name is taken for a separator.
  if (called.pattern.find("...") == std::string::npos) {
    const std::vector<std::string> want = absl::StrSplit(called.pattern, '/'), is = absl::StrSplit(path, '/');
    Demand(want.size() == is.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const size_t space = text.find(' ');
  HttpRequest request;
  request.method = text.substr(0, space);
  request.target = space == std::string::npos ? "/" : text.substr(space + 1);
  const std::string path(kq::TargetPath(request.target));
  for (const auto& [name, value] : kq::TargetQuery(request.target)) {
    Demand(kq::PercentDecode(kq::PercentEncode(name)) == name);
    Demand(kq::PercentDecode(kq::PercentEncode(value)) == value);
  }
  called = Called();
  const HttpResponse response = Table()(request, {});
  const std::string* allow = response.headers.Find("Allow");
  Demand((response.code == 405) == (allow != nullptr));
  switch (response.code) {
    case 200:
      Demand(called.times == 1);
      Demand(called.method == request.method || (request.method == "HEAD" && called.method == "GET"));
      if (path.substr(0, 1) == "/") CheckPath(path);
      break;
    case 400:
      Demand(called.times == 0 && path.find('%') != std::string::npos);
      break;
    case 405: {
      Demand(called.times == 0);
      const std::vector<std::string> methods = absl::StrSplit(*allow, ", ");
      for (const std::string& method : methods) Demand(method != request.method);
      break;
    }
    default:
      Demand(response.code == 404 && called.times == 0);
  }
  return 0;
}
