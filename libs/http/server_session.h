#ifndef LIBS_HTTP_SERVER_SESSION_H_
#define LIBS_HTTP_SERVER_SESSION_H_

#include <atomic>
#include <functional>
#include <memory>

#include "libs/http/http_server.h"
#include "libs/http/server_counts.h"
#include "libs/http/tls_context.h"

namespace boost::asio {
class io_context;
class thread_pool;
}  // namespace boost::asio

namespace kq {

// What the sessions of one server share. The server owns it and everything it
// names, and lets all sessions end first.
struct ServerShared {
  const HttpServerOptions options;
  const HttpHandle handle;
  boost::asio::io_context* const io;        // run by one thread; sessions and `draining` belong to it
  boost::asio::thread_pool* const workers;  // run `handle`
  bool draining = false;
  std::atomic<bool> closing{false};  // for any thread: no call of `handle` is begun any more
  HttpServerCounters counters = {};
  // Whether connections of this context are to end with their next answer, since its
  // files have changed. On the thread of `io`.
  std::function<bool(const TlsContext&)> outdated = [](const TlsContext&) { return false; };
};

enum class Admission { kServe, kTooMany };  // kTooMany: the first request is answered 503

// One connection of a client, on the thread of `io`:
//
//   handshake -> idle -> reading -> handling -> answering --> idle
//                 |         '--refused---------> answering --> lingering -> closed
//                 '--timeout, closed by the peer, server stops-> closed
//
// Only `handle` and the pieces of a chunked answer run elsewhere, on the workers.
class ServerSession {
 public:
  virtual ~ServerSession() = default;
  // Ends the session if no request is on its way.
  virtual void CloseIfIdle() = 0;
  // How long it has had no whole request to answer: since it was accepted, or since its
  // last answer. Zero while it has one, and once it is closed.
  virtual absl::Duration QuietFor() const = 0;
  // Ends it now; a call of `handle` that runs is waited for, its answer dropped.
  virtual void Close() = 0;
};

// Serves the connection behind the descriptor `socket`, which it takes over. `tls`
// is null for plain HTTP. `ended` is the last that is called for the session, on
// the thread of `io`, never from within this function.
std::shared_ptr<ServerSession> StartServerSession(ServerShared* shared, int socket, TlsContext tls, Admission admission,
                                                  std::function<void(const std::shared_ptr<ServerSession>&)> ended);

}  // namespace kq

#endif  // LIBS_HTTP_SERVER_SESSION_H_
