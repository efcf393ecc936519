#ifndef SERVICES_DEBUG_API_COMPARISON_H_
#define SERVICES_DEBUG_API_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/scheduler_client/picture.h"
#include "services/debug-api/server_objects.h"

// The scheduler's books against what the API server says. Pure functions.
namespace kq::debug_api {

// One thing that is not the same.
struct Difference {
  std::string kind;    // "ElasticQuota", "QueueUnit"
  std::string object;  // "namespace/name"
  std::string field;   // "Exists", "Phase", "Charged", "Used", ...
  std::string books;   // what the scheduler says
  std::string server;  // what follows from the objects on the API server

  friend bool operator==(const Difference&, const Difference&) = default;
};

struct Comparison {
  std::vector<Difference> differences;  // by kind, object and field
  // Units whose admission is being written: the books already say what the server
  // does not yet. They are not compared.
  int64_t on_their_way = 0;
};

// Of each quota: whether both have it, its limits and parent, what its own units
// use, and what it and those below use. Of each unit that is not finished: whether both have it, its
// identity, phase and quota, and what it is charged. Amounts that are absent count as 0.
Comparison Compare(const Picture& picture, const ServerObjects& server);

// Those of `a` whose object and field differ in `b` too: what moved between two
// pictures is no difference.
std::vector<Difference> InBoth(const std::vector<Difference>& a, const std::vector<Difference>& b);

}  // namespace kq::debug_api

#endif  // SERVICES_DEBUG_API_COMPARISON_H_
