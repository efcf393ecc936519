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

// A Role or ClusterRole that is bound to an account, with its rules taken apart.
struct BoundRole {
  KubeResource kind;
  ObjectKey key;
  Json rules;  // as they are in the object
  std::set<Action> actions;
};
std::vector<BoundRole> RolesOf(TestCluster* cluster, const std::string& account);

// The actions of all these roles.
std::set<Action> GrantedBy(const std::vector<BoundRole>& roles);

// Leaves the role what it grants but for this one action; and gives it back what it had.
void TakeAway(TestCluster* cluster, const BoundRole& role, const Action& action);
void GiveBack(TestCluster* cluster, const BoundRole& role);

// The requests of an account of namespace koord-queue in an audit log.
struct Requests {
  std::set<Action> made;             // with the namespace and the name of each request
  std::vector<std::string> refused;  // 401 and 403, as text
};
Requests RequestsOf(const std::string& audit_log, const std::string& account);

// Whether the granted action covers the request.
bool Covers(const Action& granted, const Action& request);

// Whether the API server lets the account do this, by all that is bound to it and to
// its groups, at this moment.
bool MayDo(TestCluster* cluster, const std::string& account, const Action& request);

}  // namespace kq::e2e

#endif  // E2E_CHART_GRANTED_H_
