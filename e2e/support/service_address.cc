#include "e2e/support/service_address.h"

#include <fcntl.h>

#include <boost/asio.hpp>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "libs/common/clock.h"

namespace kq::e2e {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

// How often it is asked who is there. kube-proxy is told, and takes about as long.
constexpr absl::Duration kBetweenQuestions = absl::Milliseconds(50);

// A process that the test starts meanwhile would hold a socket that it inherits open.
void KeepFromChildren(int socket) { fcntl(socket, F_SETFD, FD_CLOEXEC); }

// A client's connection and the one behind it.
struct Link {
  tcp::socket client, process;

  void Close() {
    error_code ignored;
    client.shutdown(tcp::socket::shutdown_both, ignored);
    client.close(ignored);
    process.shutdown(tcp::socket::shutdown_both, ignored);
    process.close(ignored);
  }
};

net::awaitable<void> Copy(std::shared_ptr<Link> link, tcp::socket* from, tcp::socket* to) {
  std::string bytes(16 << 10, 0);
  error_code error;
  while (!error) {
    const size_t count =
        co_await from->async_read_some(net::buffer(bytes), net::redirect_error(net::use_awaitable, error));
    if (error) break;
    co_await net::async_write(*to, net::buffer(bytes.data(), count), net::redirect_error(net::use_awaitable, error));
  }
  link->Close();
}

}  // namespace

// Moves the bytes, in a thread of its own.
class ServiceAddress::Relay {
 public:
  explicit Relay(const std::atomic<int>* target)
      : target_(target), acceptor_(io_, tcp::endpoint(net::ip::address_v4::loopback(), 0)) {
    KeepFromChildren(acceptor_.native_handle());
    port_ = acceptor_.local_endpoint().port();
    net::co_spawn(io_, Accept(), net::detached);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Relay() {
    io_.stop();
    thread_.join();
  }

  int port() const { return port_; }

 private:
  net::awaitable<void> Accept() {
    error_code error;
    while (!error) {
      tcp::socket client = co_await acceptor_.async_accept(net::redirect_error(net::use_awaitable, error));
      if (!error) net::co_spawn(io_, Connect(std::move(client)), net::detached);
    }
  }
  net::awaitable<void> Connect(tcp::socket client) {
    const auto link = std::make_shared<Link>(Link{std::move(client), tcp::socket(io_)});
    KeepFromChildren(link->client.native_handle());
    error_code error = net::error::connection_refused;
    if (const int port = *target_; port != 0) {
      link->process.open(tcp::v4(), error);
      if (!error) KeepFromChildren(link->process.native_handle());
      co_await link->process.async_connect(tcp::endpoint(net::ip::address_v4::loopback(), port),
                                           net::redirect_error(net::use_awaitable, error));
    }
    if (error) {
      link->client.set_option(net::socket_base::linger(true, 0), error);
      link->client.close(error);  // a reset
      co_return;
    }
    net::co_spawn(io_, Copy(link, &link->client, &link->process), net::detached);
    net::co_spawn(io_, Copy(link, &link->process, &link->client), net::detached);
  }

  const std::atomic<int>* const target_;
  net::io_context io_{1};
  tcp::acceptor acceptor_;
  int port_ = 0;
  std::thread thread_;
};

ServiceAddress::ServiceAddress(Target target)
    : ask_(std::move(target)), relay_(std::make_unique<Relay>(&target_)), follower_([this] { Follow(); }) {}

ServiceAddress::~ServiceAddress() {
  stop_.Stop();
  follower_.join();
}

std::string ServiceAddress::address() const { return absl::StrCat("127.0.0.1:", relay_->port()); }

void ServiceAddress::Follow() {
  do {
    const int now = ask_();
    if (now == target_) continue;
    switched_ = absl::ToUnixNanos(Clock::Real().TimeNow());
    target_ = now;
  } while (stop_.WaitFor(kBetweenQuestions));
}

}  // namespace kq::e2e
