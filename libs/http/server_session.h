#ifndef LIBS_HTTP_SERVER_SESSION_H_
#define LIBS_HTTP_SERVER_SESSION_H_

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/http/byte_buffer.h"
#include "libs/http/http_server.h"
#include "libs/http/request_parser.h"
#include "libs/http/response_text.h"
#include "libs/http/tls_context.h"

// Inner part of http_server: not for other targets, since it brings asio with it.
namespace kq {

// What the sessions of one server share.
struct ServerShared {
  ServerShared(HttpServerOptions o, HttpHandle h) : options(std::move(o)), handle(std::move(h)) {}

  const HttpServerOptions options;
  const HttpHandle handle;
  boost::asio::io_context io{1};  // one thread runs it and owns all that is below
  boost::asio::thread_pool workers{static_cast<size_t>(options.threads)};  // run `handle`
  bool draining = false;
  std::atomic<bool> closing{false};  // for any thread: no call of `handle` is begun any more
};

// One connection of a client, as a coroutine on the thread of `io`:
//
//   handshake -> idle -> reading -> handling -> answering --> idle
//                 |         '--refused---------> answering --> lingering -> closed
//                 '--timeout, closed by the peer, server stops-> closed
//
// Only `handle` and the pieces of a chunked answer run elsewhere, on the workers,
// while the coroutine waits for them. A timer watches each wait.
class ServerSession : public std::enable_shared_from_this<ServerSession> {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  enum class Admission { kServe, kTooMany };  // kTooMany: every request is answered 503

  // `tls` is null for plain HTTP. `shared` outlives the session.
  ServerSession(ServerShared* shared, Socket socket, TlsContext tls, Admission admission);

  // Serves until the connection is over, then closes it. REQUIRES: a shared_ptr
  // owns the session, and lives until the coroutine has ended.
  boost::asio::awaitable<void> Run();

  // Ends the session if no request is on its way.
  void CloseIfIdle();
  // Ends it now.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  boost::asio::awaitable<bool> Handshake();
  // Waits for the first byte of a request; false if there will be none.
  boost::asio::awaitable<bool> AwaitRequest(absl::Duration patience);
  // Reads one request; false if it was refused (and answered) or broke off.
  boost::asio::awaitable<bool> ReadRequest();
  boost::asio::awaitable<HttpResponse> Handle(const HttpRequest& request);
  // Sends an answer; false if the connection cannot be used after it.
  boost::asio::awaitable<bool> Answer(HttpResponse response, bool is_head, AfterAnswer after);
  boost::asio::awaitable<bool> SendPieces(const HttpResponse& response);
  boost::asio::awaitable<void> Refuse(int code, absl::string_view reason);
  // Lets the peer read the last answer before the connection is closed: data
  // that it still sends would otherwise destroy it.
  boost::asio::awaitable<void> Linger();

  // 0 at the end, on an error and when time is over.
  boost::asio::awaitable<size_t> Receive();
  boost::asio::awaitable<bool> Send(absl::string_view bytes);
  // Runs `function` on a worker and comes back with its result.
  template <typename Result, typename Function>
  boost::asio::awaitable<Result> OnWorker(Function function);

  // From now on waits end after `timeout`, with timed_out_ set.
  void Arm(absl::Duration timeout);
  void Disarm();
  void WaitTimer();
  bool PeerGone();

  ServerShared* const shared_;
  const Admission admission_;
  const TlsContext tls_context_;
  std::optional<boost::asio::ssl::context> asio_context_;  // shares tls_context_
  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
  boost::asio::steady_timer timer_;
  HttpPeer peer_;
  ByteBuffer buffer_;
  RequestParser parser_;
  bool idle_ = true;
  bool closed_ = false;
  bool timed_out_ = false;
  // The timer runs until armed_until_ and then looks at the deadline, which may
  // have moved: not every request costs a timer.
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point armed_until_ = Clock::time_point::max();
  bool timer_runs_ = false;
};

}  // namespace kq

#endif  // LIBS_HTTP_SERVER_SESSION_H_
