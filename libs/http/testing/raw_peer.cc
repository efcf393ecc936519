#include "libs/http/testing/raw_peer.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kq::testing {
namespace {

void Require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(absl::StrCat("raw peer: ", what));
}

// A socket bound to a free port of 127.0.0.1, and the port.
std::pair<int, int> Bound() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  Require(fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
  Require(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  return {fd, ntohs(address.sin_port)};
}

}  // namespace

std::unique_ptr<RawPeer> RawPeer::Connect(int port, absl::string_view host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  Require(getaddrinfo(std::string(host).c_str(), absl::StrCat(port).c_str(), &hints, &found) == 0, "address");
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0;
  freeaddrinfo(found);
  Require(connected, "connect");
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return std::make_unique<RawPeer>(fd);
}

RawPeer::~RawPeer() {
  if (fd_ >= 0) close(fd_);
}

bool RawPeer::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string RawPeer::ReadUntil(absl::string_view end, absl::Duration timeout) {
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(timeout);
  for (;;) {
    const size_t at = end.empty() ? std::string::npos : received_.find(std::string(end));
    if (at != std::string::npos) {
      std::string text = received_.substr(0, at + end.size());
      received_.erase(0, text.size());
      return text;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd fd{fd_, POLLIN, 0};
    char bytes[4096];
    const bool ready = left > 0 && poll(&fd, 1, static_cast<int>(left)) > 0;
    const ssize_t received = ready ? recv(fd_, bytes, sizeof bytes, 0) : 0;
    if (received <= 0) return std::exchange(received_, {});
    received_.append(bytes, static_cast<size_t>(received));
  }
}

std::string RawPeer::ReadAll(absl::Duration timeout) { return ReadUntil("", timeout); }

void RawPeer::Reset() {
  const linger now{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(std::exchange(fd_, -1));
}

void RawPeer::FinishSending() { shutdown(fd_, SHUT_WR); }

RawServer::RawServer(std::function<void(RawPeer&)> script) {
  std::tie(fd_, port_) = Bound();
  Require(listen(fd_, 128) == 0, "listen");
  thread_ = std::thread([fd = fd_, script = std::move(script)] {
    for (;;) {
      const int accepted = accept(fd, nullptr, nullptr);
      if (accepted < 0) return;
      RawPeer peer(accepted);
      script(peer);
    }
  });
}

RawServer::~RawServer() {
  shutdown(fd_, SHUT_RDWR);  // ends accept
  thread_.join();
  close(fd_);
}

std::string RawServer::url() const { return absl::StrCat("http://127.0.0.1:", port_); }

int UnusedPort() {
  const auto [fd, port] = Bound();
  close(fd);
  return port;
}

}  // namespace kq::testing
