// What kubectl explain says comes from the definitions alone.

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/common/yaml.h"

namespace kq {
namespace {

Json Definition(const std::string& file) {
  const std::ifstream in("deploy/crds/" + file);
  std::stringstream text;
  text << in.rdbuf();
  const absl::StatusOr<Json> json = ParseYaml(text.str());
  INFO(file << ": " << json.status());
  REQUIRE(json.ok());
  REQUIRE(json->is_object());
  return *json;
}

// The paths of properties that have no description, at any depth. Adds to `seen` how many properties there are.
void FindBare(const Json& schema, const std::string& path, std::vector<std::string>* bare, int* seen) {
  if (const Json* properties = Find(schema, {"properties"}); properties != nullptr) {
    for (const auto& [key, property] : properties->get_object()) {
      const std::string name = absl::StrCat(path, ".", absl::string_view(key.data(), key.size()));
      // The API server describes these three itself.
      if (name == ".apiVersion" || name == ".kind" || name == ".metadata") continue;
      ++*seen;
      if (StringAt(property, {"description"}).empty()) bare->push_back(name);
      FindBare(property, name, bare, seen);
    }
  }
  for (const char* inner : {"items", "additionalProperties"}) {
    if (const Json* found = Find(schema, {inner}); found != nullptr && found->is_object()) {
      FindBare(*found, absl::StrCat(path, "[]"), bare, seen);
    }
  }
}

TEST_CASE("field report 170: every field of ours says what it is") {
  const std::string file =
      GENERATE(as<std::string>(), "scheduling.x-k8s.io_queueunits.yaml", "scheduling.x-k8s.io_queues.yaml",
               "optional/scheduling.sigs.k8s.io_elasticquotas.yaml");
  CAPTURE(file);
  const Json definition = Definition(file);
  const Json* versions = Find(definition, {"spec", "versions"});
  REQUIRE(versions != nullptr);
  REQUIRE(versions->get_array().size() == 1);
  const Json* schema = Find(versions->get_array()[0], {"schema", "openAPIV3Schema"});
  REQUIRE(schema != nullptr);
  CHECK_FALSE(StringAt(*schema, {"description"}).empty());
  std::vector<std::string> bare;
  int seen = 0;
  FindBare(*schema, "", &bare, &seen);
  CHECK(bare == std::vector<std::string>());
  CHECK(seen >= 5);
}

TEST_CASE("what is said of an admission's resources is what is written there") {
  const Json definition = Definition("scheduling.x-k8s.io_queueunits.yaml");
  const Json& version = Find(definition, {"spec", "versions"})->get_array()[0];
  const Json* admissions =
      Find(version, {"schema", "openAPIV3Schema", "properties", "status", "properties", "admissions"});
  REQUIRE(admissions != nullptr);
  CHECK(StringAt(*admissions, {"items", "properties", "resources", "description"}) ==
        "What is reserved for the replicas.");
}

}  // namespace
}  // namespace kq
