#include "libs/http/exchange.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"
#include "libs/http/chunk_header.h"

namespace kq {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;
using Parser = http::response_parser<http::string_body>;

// Chunk headers and trailers are short; a longer one is an attack or a bug.
constexpr size_t kSlackBytes = 32 << 10;
constexpr int kInterimLimit = 16;  // 1xx responses before the real one

bool OwnField(absl::string_view name) {
  return absl::EqualsIgnoreCase(name, "Content-Length") || absl::EqualsIgnoreCase(name, "Transfer-Encoding") ||
         absl::EqualsIgnoreCase(name, "Connection");
}

// A method that servers expect a length from, even if it is 0.
bool MayCarryBody(absl::string_view method) { return method == "POST" || method == "PUT" || method == "PATCH"; }

bool IsTarget(absl::string_view target) {
  if (target.empty() || (target[0] != '/' && target != "*")) return false;
  return std::all_of(target.begin(), target.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

}  // namespace

absl::StatusOr<std::string> RequestHeader(const HttpRequest& request, absl::string_view host) {
  if (!IsHttpToken(request.method) || request.method == "CONNECT") {
    return absl::InvalidArgumentError(absl::StrCat("method ", request.method, ": not allowed"));
  }
  if (!IsTarget(request.target)) return absl::InvalidArgumentError("target: not a path in percent-encoding");
  std::string text = absl::StrCat(request.method, " ", request.target, " HTTP/1.1\r\n");
  if (request.headers.Find("Host") == nullptr) absl::StrAppend(&text, "Host: ", host, "\r\n");
  for (const auto& [name, value] : request.headers.fields) {
    if (OwnField(name)) continue;
    // The value may be a secret, so it is not part of the message.
    if (!IsHttpToken(name)) return absl::InvalidArgumentError("header: a name has characters that are not allowed");
    if (!IsHttpFieldValue(value)) {
      return absl::InvalidArgumentError(absl::StrCat("header ", name, ": the value has a line break or control"));
    }
    absl::StrAppend(&text, name, ": ", value, "\r\n");
  }
  if (!request.body.empty() || MayCarryBody(request.method)) {
    absl::StrAppend(&text, "Content-Length: ", request.body.size(), "\r\n");
  }
  text += "\r\n";
  return text;
}

struct Exchange::State {
  std::unique_ptr<Connection> connection;
  ExchangeLimits limits;
  std::optional<Parser> parser;
  HttpHeaders headers;
  bool any_received = false;
  bool dropped = false;
  bool broken = false;           // malformed or cut: never again on this connection
  bool in_chunk_header = false;  // which is not whole yet

  // Feeds the parser with what was received, and receives once if that was not
  // enough for progress. The status is the connection's, or kResourceExhausted or
  // kInternal with the parser's words.
  absl::Status Step(Deadline deadline);
  absl::Status StepParser();
  absl::Status ReadHeader(Deadline deadline);
  void NewParser(bool skip_body);
};

void Exchange::State::NewParser(bool skip_body) {
  parser.emplace();
  in_chunk_header = false;
  parser->header_limit(static_cast<uint32_t>(limits.header_bytes));
  if (limits.body_bytes > 0) {
    parser->body_limit(limits.body_bytes);
  } else {
    parser->body_limit(boost::none);
  }
  parser->skip(skip_body);
  parser->eager(false);
}

absl::Status Exchange::State::StepParser() {
  error_code error;
  const absl::string_view text = connection->Received();
  if (in_chunk_header && text.size() < kLeastChunkBytes) return absl::OkStatus();
  const size_t used = parser->put(boost::asio::buffer(text.data(), text.size()), error);
  in_chunk_header = used == 0 && parser->is_header_done() && parser->chunked();
  connection->Consume(used);
  if (!error || error == http::error::need_more) return absl::OkStatus();
  broken = true;
  if (error == http::error::body_limit) return absl::ResourceExhaustedError("response: the body is over the limit");
  if (error == http::error::header_limit) return absl::ResourceExhaustedError("response: the header is over the limit");
  return absl::InternalError(absl::StrCat("response: malformed: ", error.message()));
}

absl::Status Exchange::State::Step(Deadline deadline) {
  if (const size_t before = connection->Received().size(); before > 0) {
    const bool had_header = parser->is_header_done();
    KQ_RETURN_IF_ERROR(StepParser());
    if (connection->Received().size() < before || parser->is_done() || parser->is_header_done() != had_header) {
      return absl::OkStatus();
    }
    if (before > std::max(limits.header_bytes, kSlackBytes) + kSlackBytes) {
      broken = true;
      return absl::ResourceExhaustedError("response: a line is over the limit");
    }
  }
  const absl::StatusOr<size_t> received = connection->Receive(deadline);
  if (!received.ok()) {
    broken = broken || absl::IsUnavailable(received.status());
    return received.status();
  }
  any_received = any_received || *received > 0;
  if (*received > 0) return absl::OkStatus();
  // The end. A body without a length ends here as it should.
  error_code error;
  if (parser->got_some()) parser->put_eof(error);
  if (parser->is_done() && !error) return absl::OkStatus();
  broken = true;
  return absl::UnavailableError("the server closed the connection");
}

absl::Status Exchange::State::ReadHeader(Deadline deadline) {
  for (int interim = 0; interim < kInterimLimit; ++interim) {
    while (!parser->is_header_done()) {
      KQ_RETURN_IF_ERROR(Step(deadline));
      if (deadline.Passed() && !parser->is_header_done()) return absl::DeadlineExceededError("timed out");
    }
    const unsigned code = parser->get().result_int();
    if (code == 101) break;
    if (code >= 200) return absl::OkStatus();
    const bool skip = parser->skip();
    NewParser(skip);
  }
  broken = true;
  return absl::InternalError("response: malformed: an unexpected 1xx");
}

Exchange::Exchange(std::unique_ptr<Connection> connection, ExchangeLimits limits) : state_(std::make_unique<State>()) {
  state_->connection = std::move(connection);
  state_->limits = limits;
}

Exchange::~Exchange() = default;

absl::Status Exchange::Start(const HttpRequest& request, absl::string_view header, Deadline deadline) {
  State& s = *state_;
  s.NewParser(request.method == "HEAD");
  // One packet for a small request; a large body is not copied.
  constexpr size_t kJoinBytes = 16 << 10;
  const bool join = request.body.size() <= kJoinBytes;
  Connection::Sent sent = s.connection->Send(
      join && !request.body.empty() ? absl::StrCat(header, request.body) : std::string(header), deadline);
  const bool anything = sent.bytes > 0;
  if (sent.status.ok() && !join) sent = s.connection->Send(request.body, deadline);
  if (!anything) {
    s.broken = true;
    s.dropped = absl::IsUnavailable(sent.status);
    return absl::UnavailableError(absl::StrCat("send request: ", sent.status.message()));
  }
  if (absl::IsDeadlineExceeded(sent.status) || absl::IsCancelled(sent.status)) {
    s.broken = true;
    return WithContext(sent.status, "send request");
  }
  // A server may answer before it has read everything (413), and close.
  absl::Status status = s.ReadHeader(deadline);
  if (status.ok()) {
    s.broken = s.broken || !sent.status.ok();
    for (const auto& field : s.parser->get()) {
      s.headers.Add({field.name_string().data(), field.name_string().size()},
                    {field.value().data(), field.value().size()});
    }
    s.parser->eager(true);
    return absl::OkStatus();
  }
  s.broken = true;
  s.dropped = !s.any_received && absl::IsUnavailable(status);
  if (HandshakeRefused(status)) return status;
  if (absl::IsResourceExhausted(status)) return status;
  if (!sent.status.ok()) status = sent.status;
  if (absl::IsDeadlineExceeded(status)) return absl::DeadlineExceededError("no answer in time");
  return absl::UnknownError(absl::StrCat("no whole answer: ", status.message()));
}

bool Exchange::dropped() const { return state_->dropped; }
int Exchange::code() const { return static_cast<int>(state_->parser->get().result_int()); }
const HttpHeaders& Exchange::headers() const { return state_->headers; }
Connection* Exchange::connection() { return state_->connection.get(); }

absl::StatusOr<std::string> Exchange::ReadAll(Deadline deadline) {
  State& s = *state_;
  while (!s.parser->is_done()) {
    absl::Status status = s.Step(deadline);
    if (s.parser->is_done()) break;
    // A server that never pauses is not to outlast the deadline.
    if (status.ok() && deadline.Passed()) status = absl::DeadlineExceededError("timed out");
    if (status.ok()) continue;
    s.broken = true;
    if (absl::IsResourceExhausted(status)) return status;
    if (absl::IsDeadlineExceeded(status)) return absl::DeadlineExceededError("no whole answer in time");
    return absl::UnknownError(absl::StrCat("no whole answer: ", status.message()));
  }
  return std::move(s.parser->get().body());
}

absl::StatusOr<std::string> Exchange::ReadSome(Deadline deadline) {
  State& s = *state_;
  std::string& body = s.parser->get().body();
  while (body.empty()) {
    if (s.parser->is_done()) return absl::OutOfRangeError("the body has ended");
    const absl::Status status = s.Step(deadline);
    if (absl::IsDeadlineExceeded(status)) return std::string();
    if (absl::IsCancelled(status)) return status;
    if (!status.ok()) return absl::UnavailableError(absl::StrCat("the stream broke: ", status.message()));
  }
  return std::exchange(body, {});
}

std::unique_ptr<Connection> Exchange::TakeReusable() {
  State& s = *state_;
  const bool reusable = !s.broken && s.parser->is_done() && s.parser->keep_alive() && s.connection->Received().empty();
  return reusable ? std::move(s.connection) : nullptr;
}

}  // namespace kq
