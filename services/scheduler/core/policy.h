#ifndef SERVICES_SCHEDULER_CORE_POLICY_H_
#define SERVICES_SCHEDULER_CORE_POLICY_H_

#include <optional>
#include <string>

#include "libs/api/queue_unit.h"
#include "libs/api/resources.h"
#include "services/scheduler/core/decision.h"

// The seams of the core. A policy has no state and changes nothing: the same
// input always gets the same answer, so it can be tested as a table.
namespace kq::scheduler {

// Which queue a unit waits in; none if it names none.
class QueueSelector {
 public:
  virtual ~QueueSelector() = default;
  virtual std::optional<std::string> QueueFor(const QueueUnit& unit) const = 0;
};

// Who is tried first. A strict total order: it ends with the key.
class OrderPolicy {
 public:
  virtual ~OrderPolicy() = default;
  virtual bool Before(const QueueUnit& a, const QueueUnit& b) const = 0;
};

// The path from a unit's quota (level 0) up to and including the root object, if
// that exists, as the books have it right now. `trouble` says why the path cannot
// be used (unknown parent, cycle, invalid quota); then it has no levels.
class QuotaPath {
 public:
  virtual ~QuotaPath() = default;
  virtual const Verdict& trouble() const = 0;
  virtual int levels() const = 0;
  virtual const Resources& used(int level) const = 0;
  virtual const Resources& min(int level) const = 0;
  virtual const Resources& max(int level) const = 0;
  virtual const std::string& name(int level) const = 0;
  // At `level` >= 1, for one resource: what is kept back for other branches.
  virtual int64_t KeptForOthers(int level, const std::string& resource) const = 0;
};

// Whether `need` more may be charged along the path.
class AdmissionPolicy {
 public:
  virtual ~AdmissionPolicy() = default;
  virtual Verdict Check(const QueueUnit& unit, const Resources& need, const QuotaPath& path) const = 0;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_POLICY_H_
