#ifndef LIBS_HTTP_CONNECTION_POOL_H_
#define LIBS_HTTP_CONNECTION_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/mutex.h"
#include "libs/http/connection.h"
#include "libs/http/deadline.h"
#include "libs/http/resolver.h"
#include "libs/http/tls_context.h"

namespace kq {

struct ConnectionPoolOptions {
  std::string host;  // without brackets
  int port = 0;
  TlsContext tls;  // null: plain TCP
  std::string server_name;
  bool verify = true;
  size_t idle_limit = 32;
  // Shorter than what servers and the devices between usually allow.
  absl::Duration idle_timeout = absl::Seconds(90);
  absl::Duration connect_timeout = absl::Seconds(10);
};

// Connections to one server: opens them, keeps unused ones alive up to a limit
// and hands out the one used last, so that the others grow old and are closed.
// Thread-safe.
class ConnectionPool {
 public:
  explicit ConnectionPool(ConnectionPoolOptions options);

  // An unused connection that the server has not closed; null if there is none.
  std::unique_ptr<Connection> TakeIdle();
  // A new one. kUnavailable.
  absl::StatusOr<std::unique_ptr<Connection>> Open(Deadline deadline);
  // Keeps a connection for the next request, or closes it. Null is ignored.
  void Return(std::unique_ptr<Connection> connection);

  // How many were made so far.
  int64_t Opened() const;

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    Deadline close_at;
  };

  // The newest session; connections share it, and may outlive the pool.
  struct NewestSession {
    Mutex mu;
    TlsSession session ABSL_GUARDED_BY(mu);
  };

  const ConnectionPoolOptions options_;
  const std::shared_ptr<NewestSession> newest_ = std::make_shared<NewestSession>();
  Resolver resolver_;
  mutable Mutex mu_;
  std::vector<Idle> idle_ ABSL_GUARDED_BY(mu_);  // longest unused first
  int64_t opened_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace kq

#endif  // LIBS_HTTP_CONNECTION_POOL_H_
