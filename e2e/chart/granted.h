#ifndef E2E_CHART_GRANTED_H_
#define E2E_CHART_GRANTED_H_

#include <set>
#include <string>
#include <vector>

#include "e2e/support/test_cluster.h"

// What a service account may do, and what the API server saw it do.
namespace kq::e2e {

// One verb on one resource. Ordered, and printed as "patch batch/jobs" or
// "get secrets koord-queue-visibility-ca in koord-queue".
struct Action {
  std::string verb;
  std::string group;     // empty: core
  std::string resource;  // with its subresource: "queueunits/status"
  std::string ns;        // of a Role; empty: of a ClusterRole
  std::string name;      // empty: any

  std::string ToString() const;
  friend auto operator<=>(const Action&, const Action&) = default;
};

// The rules of all roles that are bound to the account, one verb and resource each.
std::set<Action> GrantedTo(TestCluster* cluster, const std::string& account);

// The requests of an account of namespace koord-queue in an audit log.
struct Requests {
  std::set<Action> made;             // with the namespace and the name of each request
  std::vector<std::string> refused;  // 401 and 403, as text
};
Requests RequestsOf(const std::string& audit_log, const std::string& account);

// Whether the granted action covers the request.
bool Covers(const Action& granted, const Action& request);

}  // namespace kq::e2e

#endif  // E2E_CHART_GRANTED_H_
