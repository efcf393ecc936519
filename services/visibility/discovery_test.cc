#include "services/visibility/discovery.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace kq::visibility {
namespace {

TEST_CASE("the plain and the aggregated discovery tell of the same resources") {
  std::set<std::string> plain, aggregated;
  const Json list = ApiResourceList();
  for (const Json& resource : Find(list, {"resources"})->get_array()) {
    plain.insert(StringAt(resource, {"name"}) + JsonText(*Find(resource, {"verbs"})));
  }
  const Json document = AggregatedDiscovery("v2");
  const Json& version = Find(Find(document, {"items"})->get_array().at(0), {"versions"})->get_array().at(0);
  for (const Json& resource : Find(version, {"resources"})->get_array()) {
    const std::string name = StringAt(resource, {"resource"});
    aggregated.insert(name + JsonText(*Find(resource, {"verbs"})));
    for (const Json& below : Find(resource, {"subresources"})->get_array()) {
      aggregated.insert(name + "/" + StringAt(below, {"subresource"}) + JsonText(*Find(below, {"verbs"})));
    }
  }
  CHECK(plain == aggregated);
  CHECK(plain == std::set<std::string>{"queues[]", "queues/queueunits[\"get\"]", "elasticquotas[]",
                                       "elasticquotas/queueunits[\"get\"]"});
}

// Every $ref in a document.
void References(const Json& value, std::set<std::string>* found) {
  if (value.is_array()) {
    for (const Json& item : value.get_array()) References(item, found);
  } else if (value.is_object()) {
    for (const auto& entry : value.get_object()) {
      if (entry.key() == "$ref") found->insert(std::string(entry.value().get_string()));
      References(entry.value(), found);
    }
  }
}

TEST_CASE("every schema that is referred to is there") {
  std::set<std::string> v2, v3;
  const Json old_document = OpenApiV2(), document = OpenApiV3();
  References(old_document, &v2);
  References(document, &v3);
  CHECK(v2.size() == 2);
  for (const std::string& reference : v2) {
    CAPTURE(reference);
    CHECK(Find(old_document, {"definitions", reference.substr(std::string("#/definitions/").size())}) != nullptr);
  }
  CHECK(v3.size() == 2);
  for (const std::string& reference : v3) {
    CAPTURE(reference);
    const std::string name = reference.substr(std::string("#/components/schemas/").size());
    CHECK(Find(document, {"components", "schemas", name}) != nullptr);
  }
}

}  // namespace
}  // namespace kq::visibility
