#ifndef SERVICES_SCHEDULER_CORE_TESTING_LEVELS_H_
#define SERVICES_SCHEDULER_CORE_TESTING_LEVELS_H_

#include <string>
#include <utility>
#include <vector>

#include "services/scheduler/core/policy.h"

namespace kq::scheduler {

// A path through a quota tree, written down by hand for a table test.
class Levels : public QuotaPath {
 public:
  struct Level {
    std::string name;
    Resources min, max, used, kept_for_others;
  };
  explicit Levels(std::vector<Level> levels, Verdict trouble = {})
      : levels_(std::move(levels)), trouble_(std::move(trouble)) {}

  const Verdict& trouble() const override { return trouble_; }
  int levels() const override { return static_cast<int>(levels_.size()); }
  const Resources& used(int level) const override { return levels_[level].used; }
  const Resources& min(int level) const override { return levels_[level].min; }
  const Resources& max(int level) const override { return levels_[level].max; }
  const std::string& name(int level) const override { return levels_[level].name; }
  int64_t KeptForOthers(int level, const std::string& resource) const override {
    return levels_[level].kept_for_others.At(resource);
  }

 private:
  std::vector<Level> levels_;
  Verdict trouble_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_TESTING_LEVELS_H_
