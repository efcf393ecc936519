#ifndef LIBS_HTTP_RESOLVER_H_
#define LIBS_HTTP_RESOLVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/http/deadline.h"

namespace kq {

// Where a name leads: the bytes of a sockaddr_in or sockaddr_in6 with its port.
struct SocketAddress {
  std::string bytes;
  int family = 0;
};

// Whether the text is an IPv4 or IPv6 address, without brackets.
bool IsIpAddress(absl::string_view host);

// Turns names into addresses without letting a slow name service break a
// deadline: a thread of its own asks, and whoever has waited long enough leaves.
// At most `limit` questions wait at a time. Thread-safe.
class Resolver {
 public:
  explicit Resolver(size_t limit = 256);
  // Waits until a question on its way is answered; the others are dropped.
  ~Resolver();

  // In the order in which to try them, at least one. An IP address needs no
  // question. kUnavailable: unknown name, no answer in time, or too many wait.
  absl::StatusOr<std::vector<SocketAddress>> Resolve(const std::string& host, int port, Deadline deadline);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace kq

#endif  // LIBS_HTTP_RESOLVER_H_
