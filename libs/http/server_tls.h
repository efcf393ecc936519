#ifndef LIBS_HTTP_SERVER_TLS_H_
#define LIBS_HTTP_SERVER_TLS_H_

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/http/tls_context.h"

namespace kq {

struct ServerTlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;  // empty: clients are not asked
};

// The TLS context of a server, read again from its files when they change. Not
// thread-safe.
class ServerTls {
 public:
  // kInvalidArgument: a file cannot be read, or they do not fit each other.
  static absl::StatusOr<std::unique_ptr<ServerTls>> Load(ServerTlsFiles files);

  // The context for a new connection. Looks at the files (a stat each) and loads
  // them if one has changed; while that fails, the last good ones are used, and
  // it is tried again once a second. A failure is logged if it lasts a second.
  TlsContext Current() { return Current(std::chrono::steady_clock::now()); }
  using Time = std::chrono::steady_clock::time_point;
  TlsContext Current(Time now);
  // The failure that was logged; OK once the files can be loaded.
  const absl::Status& trouble() const { return trouble_; }

 private:
  // What tells one version of a file from the next.
  struct Stamp {
    int64_t inode = 0, size = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::array<Stamp, 3>;

  explicit ServerTls(ServerTlsFiles files) : files_(std::move(files)) {}
  Stamps Look() const;
  absl::StatusOr<TlsContext> Read() const;

  const ServerTlsFiles files_;
  TlsContext current_;
  Stamps stamps_;
  absl::Status trouble_;
  std::optional<Time> failing_since_;
  Time retry_at_;
};

}  // namespace kq

#endif  // LIBS_HTTP_SERVER_TLS_H_
