#include "libs/http/server_session.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/clock.h"
#include "libs/common/log.h"
#include "libs/http/byte_buffer.h"
#include "libs/http/request_parser.h"
#include "libs/http/response_text.h"

namespace kq {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::awaitable;
using Socket = net::ip::tcp::socket;

constexpr absl::Duration kLingerTime = absl::Seconds(2);
constexpr size_t kLingerBytes = 64 << 20;
constexpr absl::Duration kTooManyPatience = absl::Seconds(2);
constexpr absl::Duration kPieceInterval = absl::Milliseconds(10);
constexpr size_t kJoinBytes = 16 << 10;

std::string AddressText(const net::ip::tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return endpoint.address().is_v6() ? absl::StrCat("[", host, "]:", endpoint.port())
                                    : absl::StrCat(host, ":", endpoint.port());
}

HttpResponse CallHandle(const HttpHandle& handle, const HttpRequest& request, const HttpPeer& peer) {
  std::string what = "an unknown exception";
  try {
    return handle(request, peer);
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {  // NOLINT: nothing a handler throws may end the process
  }
  KQ_LOG(Error, "HTTP request failed",
         {{"method", request.method}, {"path", TargetPath(request.target)}, {"err", what}});
  return TextResponse(500);
}

// A call of HttpResponse::more.
struct Piece {
  enum class Kind { kText, kEnd, kFailed };
  Kind kind = Kind::kFailed;
  std::string text;
};

Piece NextPiece(const std::function<std::optional<std::string>()>& more) {
  std::string what = "an unknown exception";
  try {
    std::optional<std::string> text = more();
    if (!text.has_value()) return {Piece::Kind::kEnd, ""};
    return {Piece::Kind::kText, *std::move(text)};
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {  // NOLINT: as above
  }
  KQ_LOG(Error, "HTTP answer broken off", {{"err", what}});
  return {};
}

// A session as a coroutine. A timer watches each of its waits.
class AsioServerSession : public ServerSession, public std::enable_shared_from_this<AsioServerSession> {
 public:
  AsioServerSession(ServerShared* shared, Socket socket, TlsContext tls, Admission admission);

  // Serves until the connection is over, then closes it. REQUIRES: a shared_ptr
  // owns the session, and lives until the coroutine has ended.
  awaitable<void> Run();

  void CloseIfIdle() override;
  absl::Duration QuietFor() const override {
    return closed_ || !quiet_since_ ? absl::ZeroDuration() : absl::FromChrono(Clock::now() - *quiet_since_);
  }
  void Close() override;

 private:
  using Clock = std::chrono::steady_clock;

  awaitable<bool> Handshake();
  // Waits for the first byte of a request; false if there will be none.
  awaitable<bool> AwaitRequest(absl::Duration patience);
  // Reads one request; false if it was refused (and answered) or broke off.
  awaitable<bool> ReadRequest();
  awaitable<HttpResponse> Handle(const HttpRequest& request);
  // Sends an answer; false if the connection cannot be used after it.
  awaitable<bool> Answer(HttpResponse response, bool is_head, AfterAnswer after);
  awaitable<bool> SendPieces(const HttpResponse& response);
  awaitable<void> Refuse(int code, absl::string_view reason);
  // Tells the peer that nothing more will come.
  awaitable<void> SayGoodbye();
  // The same, and lets the peer read the last answer before the connection is
  // closed: data that it still sends would otherwise destroy it.
  awaitable<void> Linger();

  // 0 at the end, on an error and when time is over.
  awaitable<size_t> Receive();
  awaitable<bool> Send(absl::string_view bytes);
  // Runs `function` on a worker and comes back with its result.
  template <typename Result, typename Function>
  awaitable<Result> OnWorker(Function function);

  // From now on waits end after `timeout`, with timed_out_ set.
  void Arm(absl::Duration timeout);
  void Disarm();
  void WaitTimer();
  bool PeerGone();

  ServerShared* const shared_;
  const Admission admission_;
  const TlsContext tls_context_;
  std::optional<net::ssl::context> asio_context_;  // shares tls_context_
  Socket socket_;
  std::optional<net::ssl::stream<Socket&>> tls_;
  net::steady_timer timer_;
  HttpPeer peer_;
  ByteBuffer buffer_;
  RequestParser parser_;
  bool idle_ = true;
  std::optional<Clock::time_point> quiet_since_ = Clock::now();  // null: a request is answered
  bool knows_chunks_ = true;                                     // the client whose request is answered
  bool closed_ = false;
  bool timed_out_ = false;
  // The timer runs until armed_until_ and then looks at the deadline, which may
  // have moved: not every request costs a timer.
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point armed_until_ = Clock::time_point::max();
  bool timer_runs_ = false;
};

AsioServerSession::AsioServerSession(ServerShared* shared, Socket socket, TlsContext tls, Admission admission)
    : shared_(shared),
      admission_(admission),
      tls_context_(std::move(tls)),
      socket_(std::move(socket)),
      timer_(*shared->io),
      parser_({shared->options.header_limit_bytes, shared->options.body_limit_bytes}) {
  error_code ignored;  // the peer may be gone already: the first read says so
  socket_.set_option(net::ip::tcp::no_delay(true), ignored);
  socket_.set_option(net::socket_base::keep_alive(true), ignored);
  if (const auto endpoint = socket_.remote_endpoint(ignored); !ignored) peer_.address = AddressText(endpoint);
  if (tls_context_ != nullptr) {
    SSL_CTX_up_ref(tls_context_.get());
    asio_context_.emplace(tls_context_.get());
    tls_.emplace(socket_, *asio_context_);
  }
}

awaitable<void> AsioServerSession::Run() {
  const HttpServerOptions& options = shared_->options;
  const bool serve = admission_ == Admission::kServe;
  // Not within the call that started the session, as its contract says.
  co_await net::post(*shared_->io, net::use_awaitable);
  if (tls_.has_value() && !co_await Handshake()) co_return;
  // A connection that never asked for anything is given less time than one that did.
  absl::Duration patience = std::min(serve ? options.header_timeout : kTooManyPatience, options.idle_timeout);
  while (!closed_) {
    if (!co_await AwaitRequest(patience)) break;
    if (!co_await ReadRequest()) break;
    Disarm();
    quiet_since_.reset();
    knows_chunks_ = parser_.knows_chunks();
    const bool keep = parser_.keep_alive() && knows_chunks_;
    const HttpRequest request = parser_.TakeRequest();
    HttpResponse response;
    if (serve) {
      response = co_await Handle(request);
    } else {
      response = TextResponse(503, "503 Service Unavailable: too many connections\n");
    }
    if (response.code == 0) break;  // the handler wants the connection closed
    const std::string* connection = response.headers.Find("Connection");
    const bool close = !keep || !serve || shared_->draining || shared_->outdated(tls_context_) ||
                       (connection != nullptr && *connection == "close");
    const bool sent = co_await Answer(std::move(response), request.method == "HEAD",
                                      close ? AfterAnswer::kClose : AfterAnswer::kKeep);
    if (!sent) break;
    if (close) {
      // Where everything that came was read, nothing can destroy the answer.
      if (serve && buffer_.View().empty()) {
        co_await SayGoodbye();
      } else {
        co_await Linger();
      }
      break;
    }
    patience = options.idle_timeout;
    quiet_since_ = Clock::now();
  }
  Close();
}

awaitable<bool> AsioServerSession::Handshake() {
  Arm(shared_->options.header_timeout);
  error_code error;
  co_await tls_->async_handshake(net::ssl::stream_base::server, net::redirect_error(net::use_awaitable, error));
  if (error) {
    KQ_VLOG(2, "TLS handshake failed", {{"peer", peer_.address}, {"err", error.message()}});
    if (!closed_) shared_->counters.Add(&HttpServerCounts::handshakes_failed);
    // The alert says why. Bytes that nobody reads would destroy it on its way.
    if (!timed_out_ && !closed_) co_await Linger();
    Close();
    co_return false;
  }
  peer_.common_name = PeerCommonName(tls_->native_handle());
  co_return true;
}

awaitable<bool> AsioServerSession::AwaitRequest(absl::Duration patience) {
  if (!buffer_.View().empty()) co_return true;  // the client did not wait for the last answer
  if (shared_->draining) co_return false;
  idle_ = true;
  Arm(patience);
  const size_t received = co_await Receive();
  idle_ = false;
  co_return received > 0;
}

awaitable<bool> AsioServerSession::ReadRequest() {
  Arm(admission_ == Admission::kServe ? shared_->options.header_timeout : kTooManyPatience);
  bool in_body = false;
  for (;;) {
    const RequestParser::Stage before = parser_.stage();
    const size_t used = parser_.Take(buffer_.View());
    buffer_.Consume(used);
    switch (parser_.stage()) {
      case RequestParser::Stage::kDone:
        co_return true;
      case RequestParser::Stage::kRefused:
        co_await Refuse(parser_.refusal(), parser_.reason());
        co_return false;
      case RequestParser::Stage::kHeader:
        break;
      case RequestParser::Stage::kBody:
        if (!in_body) {
          in_body = true;
          Arm(shared_->options.body_timeout);
          if (parser_.expects_continue() && buffer_.View().empty()) {
            if (!co_await Send("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
          }
        }
        break;
    }
    if (used > 0 && !buffer_.View().empty()) continue;
    if (parser_.stage() != before) continue;
    if (co_await Receive() > 0) continue;
    if (timed_out_ && !closed_) co_await Refuse(408, "the request came too slowly");
    co_return false;
  }
}

awaitable<HttpResponse> AsioServerSession::Handle(const HttpRequest& request) {
  co_return co_await OnWorker<HttpResponse>(
      [this, &request] { return shared_->closing ? TextResponse(503) : CallHandle(shared_->handle, request, peer_); });
}

awaitable<bool> AsioServerSession::Answer(HttpResponse response, bool is_head, AfterAnswer after) {
  BodyFraming framing = BodyFraming::kLength;
  if (response.more != nullptr) framing = knows_chunks_ ? BodyFraming::kChunks : BodyFraming::kClose;
  const absl::Time now = kq::Clock::Real().TimeNow();
  absl::StatusOr<std::string> header = ResponseHeader(response, framing, after, now);
  if (!header.ok()) {
    KQ_LOG(Error, "HTTP answer cannot be sent", {{"err", header.status()}});
    response = TextResponse(500);
    header = ResponseHeader(response, BodyFraming::kLength, after, now);
  }
  if (is_head || !CodeHasBody(response.code)) {
    response.body.clear();
    response.more = nullptr;
  }
  Arm(shared_->options.write_timeout);
  if (response.more != nullptr) {
    if (!co_await Send(*header)) co_return false;
    co_return co_await SendPieces(response);
  }
  if (response.body.size() <= kJoinBytes) {
    header->append(response.body);
    co_return co_await Send(*header);
  }
  if (!co_await Send(*header)) co_return false;
  co_return co_await Send(response.body);
}

awaitable<bool> AsioServerSession::SendPieces(const HttpResponse& response) {
  const auto framed = [this](absl::string_view text) { return knows_chunks_ ? Chunk(text) : std::string(text); };
  if (!response.body.empty()) {
    const std::string first = framed(response.body);
    if (!co_await Send(first)) co_return false;
  }
  for (;;) {
    Disarm();
    const Piece piece = co_await OnWorker<Piece>([&response] { return NextPiece(response.more); });
    if (closed_) co_return false;
    Arm(shared_->options.write_timeout);
    switch (piece.kind) {
      case Piece::Kind::kFailed:
        co_return false;  // without the last chunk, so the peer knows
      case Piece::Kind::kEnd:
        if (!knows_chunks_) co_return true;
        co_return co_await Send(kLastChunk);
      case Piece::Kind::kText:
        break;
    }
    if (!piece.text.empty()) {
      const std::string next = framed(piece.text);
      if (!co_await Send(next)) co_return false;
      continue;
    }
    if (PeerGone()) {
      shared_->counters.Add(&HttpServerCounts::answers_broken_off);
      co_return false;
    }
    error_code ignored;  // only a closed timer, and then closed_ is looked at
    net::steady_timer pause(*shared_->io, absl::ToChronoMilliseconds(kPieceInterval));
    co_await pause.async_wait(net::redirect_error(net::use_awaitable, ignored));
  }
}

awaitable<void> AsioServerSession::Refuse(int code, absl::string_view reason) {
  KQ_VLOG(1, "HTTP request refused", {{"peer", peer_.address}, {"code", code}, {"reason", reason}});
  shared_->counters.AddRefused(code);
  HttpResponse response = TextResponse(code, absl::StrCat(code, " ", ReasonPhrase(code), ": ", reason, "\n"));
  const bool sent = co_await Answer(std::move(response), false, AfterAnswer::kClose);
  if (sent) co_await Linger();
}

awaitable<void> AsioServerSession::SayGoodbye() {
  Arm(kLingerTime);
  error_code error;
  if (tls_.has_value() && SSL_is_init_finished(tls_->native_handle())) {
    // Sends close_notify; the peer's own is not worth waiting for.
    SSL_set_shutdown(tls_->native_handle(), SSL_RECEIVED_SHUTDOWN);
    co_await tls_->async_shutdown(net::redirect_error(net::use_awaitable, error));
  }
  socket_.shutdown(Socket::shutdown_send, error);
}

awaitable<void> AsioServerSession::Linger() {
  co_await SayGoodbye();
  error_code error;
  std::array<char, 4096> unread;
  for (size_t total = 0; total < kLingerBytes && !timed_out_ && !closed_;) {
    const size_t received =
        co_await socket_.async_read_some(net::buffer(unread), net::redirect_error(net::use_awaitable, error));
    if (error) break;
    total += received;
  }
}

awaitable<size_t> AsioServerSession::Receive() {
  if (timed_out_ || closed_) co_return 0;
  const auto [to, size] = buffer_.Space();
  error_code error;
  size_t received = 0;
  if (tls_.has_value()) {
    received = co_await tls_->async_read_some(net::buffer(to, size), net::redirect_error(net::use_awaitable, error));
  } else {
    received = co_await socket_.async_read_some(net::buffer(to, size), net::redirect_error(net::use_awaitable, error));
  }
  co_return error ? 0 : buffer_.Commit(received);
}

awaitable<bool> AsioServerSession::Send(absl::string_view bytes) {
  if (closed_) co_return false;
  error_code error;
  if (tls_.has_value()) {
    co_await net::async_write(*tls_, net::buffer(bytes.data(), bytes.size()),
                              net::redirect_error(net::use_awaitable, error));
  } else {
    co_await net::async_write(socket_, net::buffer(bytes.data(), bytes.size()),
                              net::redirect_error(net::use_awaitable, error));
  }
  if (timed_out_) {
    shared_->counters.Add(&HttpServerCounts::answers_timed_out);
  } else if (error && !closed_) {
    shared_->counters.Add(&HttpServerCounts::answers_broken_off);
  }
  co_return !error && !timed_out_;
}

template <typename Result, typename Function>
awaitable<Result> AsioServerSession::OnWorker(Function function) {
  auto start = [this, &function](auto handler) {
    net::post(*shared_->workers, [this, &function, handler = std::move(handler)]() mutable {
      net::post(*shared_->io, [handler = std::move(handler), result = function()]() mutable {
        std::move(handler)(std::move(result));
      });
    });
  };
  co_return co_await net::async_initiate<const net::use_awaitable_t<>, void(Result)>(std::move(start),
                                                                                     net::use_awaitable);
}

void AsioServerSession::Arm(absl::Duration timeout) {
  timed_out_ = false;
  timeout = std::clamp(timeout, absl::ZeroDuration(), absl::Hours(24));
  deadline_ = Clock::now() + absl::ToChronoNanoseconds(timeout);
  if (!timer_runs_ || deadline_ < armed_until_) WaitTimer();
}

void AsioServerSession::Disarm() {
  timed_out_ = false;
  deadline_ = Clock::time_point::max();
}

void AsioServerSession::WaitTimer() {
  if (deadline_ == Clock::time_point::max() || closed_) {
    timer_runs_ = false;
    return;
  }
  timer_runs_ = true;
  armed_until_ = deadline_;
  timer_.expires_at(armed_until_);  // ends an earlier wait with operation_aborted
  timer_.async_wait([this, self = shared_from_this()](error_code error) {
    if (error) return;
    if (Clock::now() < deadline_) return WaitTimer();
    timer_runs_ = false;
    timed_out_ = true;
    error_code ignored;  // a closed socket has nothing to cancel
    socket_.cancel(ignored);
  });
}

bool AsioServerSession::PeerGone() {
  pollfd fd{socket_.native_handle(), POLLRDHUP, 0};
  return poll(&fd, 1, 0) > 0;
}

void AsioServerSession::CloseIfIdle() {
  if (idle_) Close();
}

void AsioServerSession::Close() {
  closed_ = true;
  timer_.cancel();
  error_code ignored;  // it is gone in any case
  socket_.close(ignored);
}

// Nothing that a session does may end the process; it ends the session.
void LogFailure(const std::exception_ptr& failure) {
  if (failure == nullptr) return;
  std::string what = "an unknown exception";
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {  // NOLINT: its words are all we want
  }
  KQ_LOG(Error, "HTTP connection failed", {{"err", what}});
}

}  // namespace

std::shared_ptr<ServerSession> StartServerSession(ServerShared* shared, int socket, TlsContext tls, Admission admission,
                                                  std::function<void(const std::shared_ptr<ServerSession>&)> ended) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  Socket adopted(*shared->io);
  error_code error;
  adopted.assign(address.ss_family == AF_INET6 ? net::ip::tcp::v6() : net::ip::tcp::v4(), socket, error);
  if (error) close(socket);  // the session then ends at its first read
  const auto session = std::make_shared<AsioServerSession>(shared, std::move(adopted), std::move(tls), admission);
  net::co_spawn(*shared->io, session->Run(), [session, ended = std::move(ended)](const std::exception_ptr& failure) {
    LogFailure(failure);
    session->Close();
    ended(session);
  });
  return session;
}

}  // namespace kq
