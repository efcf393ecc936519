#include "libs/kube/kube_target.h"

#include <catch2/catch.hpp>
#include <string>

namespace kq {
namespace {

const KubeResource kPods{"", "v1", "pods"};
const KubeResource kJobs{"batch", "v1", "jobs"};

TEST_CASE("core and named groups have their own roots") {
  CHECK(*CollectionTarget(kPods, "") == "/api/v1/pods");
  CHECK(*CollectionTarget(kPods, "team-a") == "/api/v1/namespaces/team-a/pods");
  CHECK(*CollectionTarget(kJobs, "") == "/apis/batch/v1/jobs");
  CHECK(*CollectionTarget(kJobs, "team-a") == "/apis/batch/v1/namespaces/team-a/jobs");
}

TEST_CASE("objects are named below their collection, cluster-scoped ones without a namespace") {
  CHECK(*ObjectTarget(kJobs, {"a", "x"}, Subresource::kNone) == "/apis/batch/v1/namespaces/a/jobs/x");
  CHECK(*ObjectTarget(kJobs, {"a", "x"}, Subresource::kStatus) == "/apis/batch/v1/namespaces/a/jobs/x/status");
  CHECK(*ObjectTarget({"", "v1", "nodes"}, {"", "n1"}, Subresource::kNone) == "/api/v1/nodes/n1");
}

TEST_CASE("a name is encoded into one segment") {
  CHECK(*ObjectTarget({"rbac.authorization.k8s.io", "v1", "clusterroles"}, {"", "system:node"}, Subresource::kNone) ==
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode");
  CHECK(*ObjectTarget(kPods, {"a", "x?watch=1 #"}, Subresource::kNone) ==
        "/api/v1/namespaces/a/pods/x%3Fwatch%3D1%20%23");
}

TEST_CASE("a name that would reach something else is refused") {
  for (const char* name : {"", ".", "..", "a/b", "/"}) {
    CAPTURE(name);
    CHECK(absl::IsInvalidArgument(ObjectTarget(kJobs, {"a", name}, Subresource::kNone).status()));
  }
  CHECK(absl::IsInvalidArgument(CollectionTarget(kJobs, "..").status()));
  CHECK(absl::IsInvalidArgument(CollectionTarget({"batch", "", "jobs"}, "a").status()));
  CHECK(absl::IsInvalidArgument(CollectionTarget({"batch", "v1", ""}, "a").status()));
}

TEST_CASE("a list asks for a page, a selection and where to go on") {
  ListRequest request;
  request.resource = kPods;
  CHECK(*ListTarget(request) == "/api/v1/pods?limit=500");
  request.page_size = 0;
  CHECK(*ListTarget(request) == "/api/v1/pods");
  request.page_size = 2;
  request.ns = "a";
  request.label_selector = "app in (x,y),tier!=z";
  request.field_selector = "metadata.name=x";
  request.continue_token = "eyJ2=&";
  CHECK(*ListTarget(request) ==
        "/api/v1/namespaces/a/pods?labelSelector=app%20in%20%28x%2Cy%29%2Ctier%21%3Dz&fieldSelector=metadata.name%3Dx"
        "&limit=2&continue=eyJ2%3D%26");
}

TEST_CASE("a watch asks for bookmarks, a version and an end") {
  WatchRequest request;
  request.resource = kJobs;
  request.from_version = 41;
  request.label_selector = "a=b";
  CHECK(*WatchTarget(request, absl::Seconds(420)) ==
        "/apis/batch/v1/jobs?watch=true&allowWatchBookmarks=true&labelSelector=a%3Db&resourceVersion=41"
        "&timeoutSeconds=420");
  request = {kJobs, "", "", "", 0};
  CHECK(*WatchTarget(request, absl::Milliseconds(10)) ==
        "/apis/batch/v1/jobs?watch=true&allowWatchBookmarks=true&timeoutSeconds=1");
}

}  // namespace
}  // namespace kq
