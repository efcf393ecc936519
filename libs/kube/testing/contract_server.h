#ifndef LIBS_KUBE_TESTING_CONTRACT_SERVER_H_
#define LIBS_KUBE_TESTING_CONTRACT_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/api/object_key.h"
#include "libs/common/json.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/testing/kube_api_contract.h"

// What the cases of the contract have in common, and the cases by what they ask.
namespace kq::testing {

// A widget as a client sends it. With `of_case`, a list or watch of that case sees it.
Json Widget(const std::string& name, const std::string& of_case = "", int size = 1);
// object[name], made an object if it is none.
JsonObject& Part(Json* object, const char* name);
std::string Phase(const Json& object);   // of the status; "" if there is none
int64_t Size(const Json& object);        // of the spec; -1 if there is none
int64_t Generation(const Json& object);  // 0 if there is none

// The world with the few calls that all cases make.
struct ContractServer {
  explicit ContractServer(const ContractWorld& w) : world(w), api(*w.api) {}

  ObjectKey Key(const std::string& name) const { return {world.ns, name}; }
  absl::StatusOr<Json> TryCreate(const Json& object) const;
  Json Create(const Json& object) const;
  absl::StatusOr<Json> Lookup(const std::string& name) const;
  absl::StatusOr<Json> Patch(const std::string& name, PatchType type, Json patch,
                             Subresource subresource = Subresource::kNone) const;
  absl::StatusOr<Json> Merge(const std::string& name, Json patch) const;
  absl::StatusOr<Json> MergeStatus(const std::string& name, Json patch) const;
  absl::Status Delete(const std::string& name, const std::string& uid = "", uint64_t version = 0) const;
  ListRequest Listing(const std::string& of_case, int page_size = 500) const;
  // The names of all objects of the list, in order.
  std::vector<std::string> Names(const ListRequest& request) const;
  std::unique_ptr<WatchStream> Watch(const std::string& of_case, uint64_t from_version) const;

  const ContractWorld& world;
  KubeApi& api;
};

std::vector<ContractCase> ReadContract();   // create, get and list
std::vector<ContractCase> WriteContract();  // patch, update and delete
std::vector<ContractCase> WatchContract();

}  // namespace kq::testing

#endif  // LIBS_KUBE_TESTING_CONTRACT_SERVER_H_
