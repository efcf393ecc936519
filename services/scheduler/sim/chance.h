#ifndef SERVICES_SCHEDULER_SIM_CHANCE_H_
#define SERVICES_SCHEDULER_SIM_CHANCE_H_

#include <cstddef>
#include <cstdint>
#include <random>

namespace kq::scheduler {

// The one source of chance of a simulated world: the same seed, the same world.
// The standard's distributions differ between libraries, so numbers are cut to
// size here.
class Chance {
 public:
  explicit Chance(uint64_t seed) : random_(seed) {}

  // 0 .. n-1. REQUIRES: n > 0.
  size_t Pick(size_t n) { return static_cast<size_t>(random_() % n); }
  bool OneIn(size_t n) { return Pick(n) == 0; }

 private:
  std::mt19937_64 random_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_SIM_CHANCE_H_
