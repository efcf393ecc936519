#ifndef LIBS_KUBE_TESTING_KUBE_API_CONTRACT_H_
#define LIBS_KUBE_TESTING_KUBE_API_CONTRACT_H_

#include <functional>
#include <string>
#include <vector>

#include "libs/common/json.h"
#include "libs/kube/kube_api.h"

// What every KubeApi must do, as cases that are run against the fake and against
// a real API server, so that tests on the fake mean something:
//
//   for (const ContractCase& c : KubeApiContract()) DYNAMIC_SECTION(c.name) { c.run(world); }
//
// The cases use Catch2 assertions, names of their own for all objects, and need
// the resource of ContractCrd.
namespace kq {

struct ContractWorld {
  KubeApi* api = nullptr;
  std::string ns;  // exists
  // Makes the server forget its history up to now; null if that cannot be asked of it.
  std::function<void()> compact = nullptr;
  // Makes the server send a bookmark to the watches of widgets; null if it does so in its own time.
  std::function<void()> bookmark = nullptr;
};

struct ContractCase {
  std::string name;
  std::function<void(const ContractWorld&)> run;
};

// Widgets: namespaced, with a status subresource, .status.phase "Enqueued" by
// default, .spec.size at least 0, .spec.node selectable.
KubeResource ContractResource();
// Their CustomResourceDefinition, for a server that does not have it yet.
Json ContractCrd();

std::vector<ContractCase> KubeApiContract();

}  // namespace kq

#endif  // LIBS_KUBE_TESTING_KUBE_API_CONTRACT_H_
