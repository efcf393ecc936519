#include "libs/http/http_server.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/mutex.h"
#include "libs/common/status_macros.h"
#include "libs/http/deadline.h"
#include "libs/http/server_session.h"
#include "libs/http/server_tls.h"

namespace kq {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

// Connections over the limit that are told so at a time; more are closed at once.
constexpr size_t kRefusedLimit = 64;
// At the limit, a connection that has been quiet so long makes room for a new one.
constexpr absl::Duration kQuiet = absl::Milliseconds(200);
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);

absl::Status ValidateOptions(const HttpServerOptions& options) {
  const auto bad = [](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("http server: ", what));
  };
  if (options.threads < 1 || options.threads > 1024) return bad("threads: must be from 1 to 1024");
  if (options.connection_limit < 1) return bad("connection_limit: must be at least 1");
  if (options.port < 0 || options.port > 65535) return bad("port: must be from 0 to 65535");
  if (options.header_limit_bytes < 64 || options.header_limit_bytes > (64 << 20)) {
    return bad("header_limit_bytes: must be from 64 to 64 MiB");
  }
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return bad("certificate_file and key_file: only one of them is given");
  }
  if (options.certificate_file.empty() && !options.client_ca_file.empty()) {
    return bad("client_ca_file: needs a certificate_file");
  }
  return absl::OkStatus();
}

class AsioHttpServer : public HttpServer {
 public:
  AsioHttpServer(HttpServerOptions options, HttpHandle handle, std::unique_ptr<ServerTls> tls)
      : workers_(static_cast<size_t>(options.threads)),
        shared_{std::move(options), std::move(handle), &io_, &workers_},
        tls_(std::move(tls)) {}

  ~AsioHttpServer() override { Stop(absl::ZeroDuration()); }

  absl::Status Start();
  int port() const override { return port_; }
  HttpServerCounts counts() const override { return shared_.counters.Read(); }
  void Stop(absl::Duration grace) override;

 private:
  net::awaitable<void> Accept();
  void Serve(tcp::socket socket);
  // Ends the connection that has been quiet longest; false if none has been for long.
  bool EvictQuiet();
  // Until no session is left and nothing is accepted any more, or time is over.
  void WaitForEnd(Deadline deadline);

  net::io_context io_{1};
  net::thread_pool workers_;
  ServerShared shared_;
  // The next four belong to the thread of `io`.
  const std::unique_ptr<ServerTls> tls_;
  tcp::acceptor acceptor_{io_};
  struct Entry {
    std::shared_ptr<ServerSession> session;
    bool refused = false, evicted = false;
  };
  std::map<int64_t, Entry> sessions_;
  int64_t next_session_ = 0;
  size_t refused_ = 0, evicted_ = 0;  // of them: over the limit; closed, but not yet ended

  int port_ = 0;
  std::optional<net::executor_work_guard<net::io_context::executor_type>> work_{net::make_work_guard(io_)};
  std::thread thread_;
  Mutex stop_mu_;  // one Stop at a time
  bool stopped_ ABSL_GUARDED_BY(stop_mu_) = false;
  Mutex mu_;
  CondVar changed_;
  size_t open_ ABSL_GUARDED_BY(mu_) = 0;  // sessions
  bool accepting_ ABSL_GUARDED_BY(mu_) = false;
};

absl::Status AsioHttpServer::Start() {
  if (tls_ != nullptr) shared_.outdated = [this](const TlsContext& context) { return tls_->Current() != context; };
  error_code error;
  const HttpServerOptions& options = shared_.options;
  const auto address = net::ip::make_address(options.address, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat("address ", options.address, ": not an IP address"));
  const tcp::endpoint endpoint(address, static_cast<unsigned short>(options.port));  // NOLINT: asio's type
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("listen on ", options.address, ":", options.port, ": ", error.message()));
  }
  {
    MutexLock lock(&mu_);
    accepting_ = true;
  }
  net::co_spawn(io_, Accept(), [this](const std::exception_ptr& failure) {
    if (failure != nullptr) KQ_LOG(Error, "HTTP server stopped accepting", {{"port", port_}});
    MutexLock lock(&mu_);
    accepting_ = false;
    changed_.SignalAll();
  });
  thread_ = std::thread([this] { io_.run(); });
  return absl::OkStatus();
}

net::awaitable<void> AsioHttpServer::Accept() {
  while (!shared_.draining) {
    error_code error;
    tcp::socket socket = co_await acceptor_.async_accept(net::redirect_error(net::use_awaitable, error));
    if (shared_.draining) break;
    if (!error) {
      Serve(std::move(socket));
    } else if (error != net::error::connection_aborted) {
      // Out of descriptors, most likely: sessions that end give some back.
      KQ_LOG(Error, "HTTP server cannot accept", {{"port", port_}, {"err", error.message()}});
      net::steady_timer pause(io_, absl::ToChronoMilliseconds(kAcceptPause));
      co_await pause.async_wait(net::redirect_error(net::use_awaitable, error));
    }
  }
}

bool AsioHttpServer::EvictQuiet() {
  Entry* quietest = nullptr;
  absl::Duration longest = kQuiet;
  for (auto& [id, entry] : sessions_) {
    if (const absl::Duration quiet = entry.session->QuietFor(); !entry.refused && quiet >= longest) {
      quietest = &entry;
      longest = quiet;
    }
  }
  if (quietest == nullptr) return false;
  quietest->evicted = true;
  ++evicted_;
  shared_.counters.Add(&HttpServerCounts::connections_evicted);
  quietest->session->Close();
  return true;
}

void AsioHttpServer::Serve(tcp::socket socket) {
  const size_t served = sessions_.size() - refused_ - evicted_;
  const bool refused = served >= static_cast<size_t>(shared_.options.connection_limit) && !EvictQuiet();
  if (refused && refused_ >= kRefusedLimit) {
    shared_.counters.Add(&HttpServerCounts::connections_dropped);
    return;  // closes the socket
  }
  error_code error;
  const int fd = socket.release(error);
  if (error) return;
  {
    MutexLock lock(&mu_);
    ++open_;
  }
  refused_ += refused ? 1 : 0;
  shared_.counters.Add(&HttpServerCounts::connections);
  if (refused) shared_.counters.Add(&HttpServerCounts::connections_refused);
  const int64_t id = next_session_++;
  sessions_[id].refused = refused;
  sessions_[id].session = StartServerSession(&shared_, fd, tls_ == nullptr ? nullptr : tls_->Current(),
                                             refused ? Admission::kTooMany : Admission::kServe,
                                             [this, id](const std::shared_ptr<ServerSession>&) {
                                               const auto entry = sessions_.find(id);
                                               evicted_ -= entry->second.evicted ? 1 : 0;
                                               refused_ -= entry->second.refused ? 1 : 0;
                                               sessions_.erase(entry);
                                               shared_.counters.Add(&HttpServerCounts::connections, -1);
                                               MutexLock lock(&mu_);
                                               --open_;
                                               changed_.SignalAll();
                                             });
}

void AsioHttpServer::WaitForEnd(Deadline deadline) {
  MutexLock lock(&mu_);
  while ((open_ > 0 || accepting_) && !deadline.Passed()) changed_.WaitFor(&mu_, deadline.Left());
}

void AsioHttpServer::Stop(absl::Duration grace) {
  MutexLock lock(&stop_mu_);
  if (std::exchange(stopped_, true)) return;
  if (thread_.joinable()) {
    net::post(io_, [this] {
      shared_.draining = true;
      error_code ignored;  // closed in any case
      acceptor_.close(ignored);
      for (const auto& [id, entry] : sessions_) entry.session->CloseIfIdle();
    });
    WaitForEnd(Deadline::After(grace));
    shared_.closing = true;
    net::post(io_, [this] {
      for (const auto& [id, entry] : sessions_) entry.session->Close();
    });
    // What is left are calls of `handle`, which nobody can cut short.
    WaitForEnd(Deadline::After(absl::InfiniteDuration()));
    work_.reset();
    thread_.join();
  }
  workers_.join();
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(HttpServerOptions options, HttpHandle handle) {
  KQ_RETURN_IF_ERROR(ValidateOptions(options));
  std::unique_ptr<ServerTls> tls;
  if (!options.certificate_file.empty()) {
    KQ_ASSIGN_OR_RETURN(tls, ServerTls::Load({options.certificate_file, options.key_file, options.client_ca_file}));
  }
  auto server = std::make_unique<AsioHttpServer>(std::move(options), std::move(handle), std::move(tls));
  KQ_RETURN_IF_ERROR(server->Start());
  return server;
}

}  // namespace kq
