#ifndef E2E_SUPPORT_SERVICE_ADDRESS_H_
#define E2E_SUPPORT_SERVICE_ADDRESS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "libs/common/stop_signal.h"

namespace kq::e2e {

// One address of this machine that leads to whoever is behind it at the moment, as
// kube-proxy makes of a Service: a new connection goes to the one process that is named
// then, or is reset if there is none or it does not listen; open ones stay with the
// process they were made to, until one end closes. Thread-safe.
class ServiceAddress {
 public:
  // Asked again and again, in a thread of this object: the port on loopback of the
  // process that is behind the address; 0: none.
  using Target = std::function<int()>;

  explicit ServiceAddress(Target target);
  ~ServiceAddress();

  // "127.0.0.1:12345"
  std::string address() const;
  // Where new connections go, and since when.
  int target() const { return target_; }
  absl::Time switched() const { return absl::FromUnixNanos(switched_); }

 private:
  class Relay;

  void Follow();

  const Target ask_;
  std::atomic<int> target_ = 0;
  std::atomic<int64_t> switched_ = 0;  // nanoseconds since 1970
  std::unique_ptr<Relay> relay_;
  StopSignal stop_;
  std::thread follower_;
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_SERVICE_ADDRESS_H_
