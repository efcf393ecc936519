#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "libs/api/codec.h"

namespace kq {
namespace {

constexpr int64_t kMi = int64_t{1} << 20;

Json Template(absl::string_view spec) {
  const absl::StatusOr<Json> json =
      ParseJson(absl::StrCat("{\"spec\": ", absl::StrReplaceAll(spec, {{"'", "\""}}), "}"));
  REQUIRE(json.ok());
  return *json;
}

struct Row {
  std::string name;
  std::string spec;
  Resources want;
};

// {"resources": {"requests": {"cpu": CPU}}}
std::string Cpu(absl::string_view cpu) { return absl::StrCat("{'resources': {'requests': {'cpu': '", cpu, "'}}}"); }
std::string Sidecar(absl::string_view cpu) {
  return absl::StrCat("{'restartPolicy': 'Always', 'resources': {'requests': {'cpu': '", cpu, "'}}}");
}

TEST_CASE("what one pod will request", "[pod_request]") {
  const std::vector<Row> rows = {
      {"nothing at all", "{}", {}},
      {"containers are added", absl::StrCat("{'containers': [", Cpu("1"), ",", Cpu("500m"), "]}"), {{"cpu", 1500}}},
      {"field report 47: an init container that needs more",
       absl::StrCat("{'initContainers': [", Cpu("4"), "], 'containers': [", Cpu("1"), ",", Cpu("1"), "]}"),
       {{"cpu", 4000}}},
      {"init containers run one after the other",
       absl::StrCat("{'initContainers': [", Cpu("2"), ",", Cpu("2"), "], 'containers': [", Cpu("1"), "]}"),
       {{"cpu", 2000}}},
      {"field report 46: a sidecar, then an init container",
       absl::StrCat("{'initContainers': [", Sidecar("100m"), ",", Cpu("200m"), "], 'containers': [", Cpu("100m"), "]}"),
       {{"cpu", 300}}},
      {"an init container before the sidecar runs without it",
       absl::StrCat("{'initContainers': [", Cpu("200m"), ",", Sidecar("100m"), "], 'containers': [", Cpu("50m"), "]}"),
       {{"cpu", 200}}},
      {"sidecars run beside the containers",
       absl::StrCat("{'initContainers': [", Sidecar("100m"), ",", Sidecar("200m"), "], 'containers': [", Cpu("1"),
                    "]}"),
       {{"cpu", 1300}}},
      {"any other restart policy is no sidecar",
       "{'initContainers': [{'restartPolicy': 'OnFailure', 'resources': {'requests': {'cpu': '1'}}}]}",
       {{"cpu", 1000}}},
      {"limits are the default of requests, one resource at a time",
       "{'containers': [{'resources': {'limits': {'cpu': '2', 'memory': '1Mi'}, 'requests': {'cpu': '1'}}}]}",
       {{"cpu", 1000}, {"memory", kMi}}},
      {"an explicit 0 is a request",
       "{'containers': [{'resources': {'limits': {'cpu': '2'}, 'requests': {'cpu': '0'}}}]}",
       {{"cpu", 0}}},
      {"overhead is added",
       absl::StrCat("{'overhead': {'cpu': '250m', 'memory': '1Mi'}, 'containers': [", Cpu("1"), "]}"),
       {{"cpu", 1250}, {"memory", kMi}}},
      {"each resource has its own maximum",
       "{'initContainers': [{'resources': {'requests': {'cpu': '4', 'memory': '1Mi'}}}],"
       " 'containers': [{'resources': {'requests': {'cpu': '1', 'memory': '3Mi'}}}]}",
       {{"cpu", 4000}, {"memory", 3 * kMi}}},
      {"pod-level requests win over the sum",
       absl::StrCat("{'resources': {'requests': {'cpu': '3'}}, 'containers': [", Cpu("1"), ",", Cpu("1"), "]}"),
       {{"cpu", 3000}}},
      {"also where they are smaller, and the overhead comes on top",
       absl::StrCat("{'resources': {'requests': {'cpu': '1'}}, 'overhead': {'cpu': '1'}, 'containers': [", Cpu("4"),
                    "]}"),
       {{"cpu", 2000}}},
      {"pod-level limits count only where nothing is requested",
       absl::StrCat("{'resources': {'limits': {'cpu': '9', 'memory': '2Mi'}}, 'containers': [", Cpu("1"), "]}"),
       {{"cpu", 1000}, {"memory", 2 * kMi}}},
      {"resource names are canonical",
       "{'containers': [{'resources': {'requests': {'requests.nvidia.com/gpu': '2'}}}]}",
       {{"nvidia.com/gpu", 2}}},
      {"ephemeral containers ask for nothing", absl::StrCat("{'ephemeralContainers': [", Cpu("8"), "]}"), {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const absl::StatusOr<Resources> request = PodRequest(Template(row.spec), "template");
    REQUIRE(request.ok());
    CHECK(*request == row.want);
  }
}

TEST_CASE("an absent template asks for nothing", "[pod_request]") {
  CHECK(PodRequest(Json(nullptr), "template")->Empty());
  CHECK(PodRequest(JsonObject(), "template")->Empty());
}

TEST_CASE("a broken template is told with its field path", "[pod_request]") {
  const auto error = [](absl::string_view spec) {
    return std::string(PodRequest(Template(spec), "t").status().message());
  };
  CHECK(PodRequest(Json("x"), "t").status().message() == "t: expected an object");
  CHECK(error("3") == "t.spec: expected an object, found an integer");
  CHECK_THAT(error("{'containers': 3}"), Catch::StartsWith("t.spec.containers: expected a list"));
  CHECK(error("{'initContainers': [3]}") == "t.spec.initContainers[0]: expected an object");
  CHECK_THAT(error("{'containers': [{}, {'resources': {'limits': {'cpu': '-2'}}}]}"),
             Catch::StartsWith("t.spec.containers[1].resources.limits.cpu: -2 is negative"));
  CHECK_THAT(error("{'overhead': {'memory': '1e99'}}"), Catch::StartsWith("t.spec.overhead.memory: "));
}

}  // namespace
}  // namespace kq
