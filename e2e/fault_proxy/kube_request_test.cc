#include "e2e/fault_proxy/kube_request.h"

#include <catch2/catch.hpp>

namespace kq {
namespace {

TEST_CASE("a request is read from its method and URL") {
  struct Case {
    const char *method, *target, *verb, *resource, *ns, *name;
  };
  const Case c = GENERATE(values<Case>({
      {"GET", "/api/v1/pods", "list", "pods", "", ""},
      {"GET", "/api/v1/namespaces/a/pods?limit=5", "list", "pods", "a", ""},
      {"GET", "/api/v1/namespaces/a/pods/x", "get", "pods", "a", "x"},
      {"GET", "/api/v1/namespaces/a/pods?watch=true", "watch", "pods", "a", ""},
      {"GET", "/api/v1/namespaces/a/pods?watch=1&x=y", "watch", "pods", "a", ""},
      {"GET", "/api/v1/namespaces/a/pods?watch=false", "list", "pods", "a", ""},
      {"POST", "/apis/batch/v1/namespaces/a/jobs", "create", "jobs.batch", "a", ""},
      {"PUT", "/apis/batch/v1/namespaces/a/jobs/x", "update", "jobs.batch", "a", "x"},
      {"PATCH", "/apis/batch/v1/namespaces/a/jobs/x/status", "patch", "jobs.batch/status", "a", "x"},
      {"DELETE", "/apis/batch/v1/namespaces/a/jobs/x", "delete", "jobs.batch", "a", "x"},
      {"DELETE", "/apis/batch/v1/namespaces/a/jobs", "deletecollection", "jobs.batch", "a", ""},
      {"GET", "/api/v1/namespaces", "list", "namespaces", "", ""},
      {"GET", "/api/v1/namespaces/a", "get", "namespaces", "", "a"},
      {"PUT", "/api/v1/namespaces/a/finalize", "update", "namespaces/finalize", "", "a"},
      {"GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode", "get",
       "clusterroles.rbac.authorization.k8s.io", "", "system:node"},
  }));
  CAPTURE(c.method, c.target);
  const auto request = ParseKubeRequest(c.method, c.target);
  REQUIRE(request.has_value());
  CHECK(request->verb == c.verb);
  CHECK(request->resource == c.resource);
  CHECK(request->ns == c.ns);
  CHECK(request->name == c.name);
}

TEST_CASE("discovery and health are no resources") {
  for (const char* target : {"/", "/api", "/api/v1", "/apis", "/apis/batch", "/apis/batch/v1", "/version",
                             "/readyz?verbose", "/openapi/v3"}) {
    CAPTURE(target);
    CHECK_FALSE(ParseKubeRequest("GET", target).has_value());
  }
}

}  // namespace
}  // namespace kq
