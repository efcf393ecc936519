#ifndef LIBS_HTTP_TESTING_RAW_PEER_H_
#define LIBS_HTTP_TESTING_RAW_PEER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// The other end of a connection as a test wants it: byte by byte, rude if need
// be. Plain TCP. What fails throws, which ends the test.
namespace kq::testing {

// One connected socket, closed at the end.
class RawPeer {
 public:
  // To a server on this machine.
  static std::unique_ptr<RawPeer> Connect(int port, absl::string_view host = "127.0.0.1");

  explicit RawPeer(int fd) : fd_(fd) {}
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  // False if the other side does not take it.
  bool Send(absl::string_view bytes);
  // What has come up to and with `end`; less if the connection ended, or after
  // `timeout`, which only a failing test waits for.
  std::string ReadUntil(absl::string_view end, absl::Duration timeout = absl::Seconds(20));
  // Everything until the other side closes.
  std::string ReadAll(absl::Duration timeout = absl::Seconds(20));
  // Reads nothing more, and closes by a reset instead of an orderly end.
  void Reset();
  // Sends an end, and goes on reading.
  void FinishSending();

 private:
  int fd_;
  std::string received_;
};

// Listens on a free port of 127.0.0.1 and plays `script` for each connection,
// one after the other, in a thread of its own. Stops accepting at the end.
class RawServer {
 public:
  explicit RawServer(std::function<void(RawPeer&)> script);
  ~RawServer();

  int port() const { return port_; }
  std::string url() const;

 private:
  int fd_ = -1;
  int port_ = 0;
  std::thread thread_;
};

// A port of 127.0.0.1 where nobody listens.
int UnusedPort();

}  // namespace kq::testing

#endif  // LIBS_HTTP_TESTING_RAW_PEER_H_
