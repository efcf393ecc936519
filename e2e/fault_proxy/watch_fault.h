#ifndef E2E_FAULT_PROXY_WATCH_FAULT_H_
#define E2E_FAULT_PROXY_WATCH_FAULT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "e2e/fault_proxy/fault_rules.h"

namespace kq {

// Lets the bytes of one watch pass until its fault is due. Not thread-safe.
class WatchFault {
 public:
  // Nothing to do without a fault.
  explicit WatchFault(std::optional<Fault> fault) : fault_(fault) {}

  // How many of the next `bytes` still pass. Less than all: the fault is due
  // after them.
  size_t Pass(absl::string_view bytes);
  // Whether the fault is due now.
  bool Due() const { return due_; }
  // What an expired watch gets last.
  static std::string GoneEvent();

 private:
  const std::optional<Fault> fault_;
  int64_t events_ = 0;
  int64_t bytes_ = 0;
  bool due_ = false;
};

}  // namespace kq

#endif  // E2E_FAULT_PROXY_WATCH_FAULT_H_
