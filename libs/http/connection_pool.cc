#include "libs/http/connection_pool.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"

namespace kq {

ConnectionPool::ConnectionPool(ConnectionPoolOptions options) : options_(std::move(options)) {}

std::unique_ptr<Connection> ConnectionPool::TakeIdle() {
  std::vector<Idle> dead;  // closed after the lock is let go
  MutexLock lock(&mu_);
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (!last.close_at.Passed() && last.connection->Fresh()) return std::move(last.connection);
    dead.push_back(std::move(last));
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<Connection>> ConnectionPool::Open(Deadline deadline) {
  deadline = deadline.ButWithin(options_.connect_timeout);
  const std::string where = absl::StrCat(options_.host, ":", options_.port);
  const auto addresses = resolver_.Resolve(options_.host, options_.port, deadline);
  if (!addresses.ok()) return addresses.status();
  TlsTarget tls;
  tls.context = options_.tls;
  tls.name = options_.server_name;
  tls.verify = options_.verify;
  if (options_.tls != nullptr) {
    tls.keep_session = [newest = newest_](TlsSession session) {
      MutexLock lock(&newest->mu);
      newest->session.swap(session);
    };
    MutexLock lock(&newest_->mu);
    tls.session = newest_->session;
  }
  auto connection = Connection::Open(*addresses, tls, deadline);
  if (!connection.ok()) {
    // What was remembered must not stand in the way of the next attempt.
    MutexLock lock(&newest_->mu);
    if (newest_->session == tls.session) newest_->session = nullptr;
    return WithContext(connection.status(), where);
  }
  MutexLock lock(&mu_);
  ++opened_;
  return connection;
}

void ConnectionPool::Return(std::unique_ptr<Connection> connection) {
  if (connection == nullptr || options_.idle_limit == 0) return;
  std::vector<Idle> surplus;  // closed after the lock is let go
  MutexLock lock(&mu_);
  while (!idle_.empty() && (idle_.size() >= options_.idle_limit || idle_.front().close_at.Passed())) {
    surplus.push_back(std::move(idle_.front()));
    idle_.erase(idle_.begin());
  }
  idle_.push_back({std::move(connection), Deadline::After(options_.idle_timeout)});
}

int64_t ConnectionPool::Opened() const {
  MutexLock lock(&mu_);
  return opened_;
}

}  // namespace kq
