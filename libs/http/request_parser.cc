#include "libs/http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/http/chunk_header.h"

namespace kq {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;
using Parser = http::request_parser<http::string_body>;

// More than any chunk header with sane extensions, or a trailer.
constexpr size_t kLineLimitBytes = 16 << 10;

struct Refusal {
  int code = 0;
  std::string reason;
};

absl::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

// Of a target in absolute form, the path and query; nullopt if it is no target.
std::optional<std::string> OriginForm(absl::string_view target, absl::string_view method) {
  if (target == "*") return method == "OPTIONS" ? std::optional<std::string>("*") : std::nullopt;
  const bool plain = std::all_of(target.begin(), target.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
  if (!plain) return std::nullopt;
  for (absl::string_view scheme : {"http://", "https://"}) {
    if (!absl::StartsWithIgnoreCase(target, scheme)) continue;
    target.remove_prefix(scheme.size());
    const size_t path = target.find_first_of("/?");
    if (path == absl::string_view::npos) return "/";
    return target[path] == '?' ? absl::StrCat("/", target.substr(path)) : std::string(target.substr(path));
  }
  if (!absl::StartsWith(target, "/")) return std::nullopt;
  return std::string(target);
}

Refusal CheckHeader(const http::fields& fields, int version) {
  const auto hosts = fields.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && version >= 11)) return {400, "there must be one Host"};
  const auto lengths = fields.count(http::field::content_length);
  if (lengths > 1) return {400, "more than one Content-Length"};
  const auto encodings = fields.count(http::field::transfer_encoding);
  if (encodings == 0) return {};
  if (encodings > 1 || lengths > 0 || version < 11) return {400, "Transfer-Encoding does not fit the rest"};
  const absl::string_view encoding = absl::StripAsciiWhitespace(View(fields[http::field::transfer_encoding]));
  if (!absl::EqualsIgnoreCase(encoding, "chunked")) return {501, "only the transfer encoding chunked is known"};
  return {};
}

Refusal FromError(const error_code& error) {
  if (error == http::error::header_limit) return {431, "the header is over the limit"};
  if (error == http::error::body_limit) return {413, "the body is over the limit"};
  if (error == http::error::bad_version) return {505, "only HTTP/1.0 and HTTP/1.1"};
  return {400, error.message()};
}

}  // namespace

struct RequestParser::State {
  RequestLimits limits;
  std::optional<Parser> parser;
  Stage stage = Stage::kHeader;
  Refusal refusal;
  HttpRequest request;
  bool expects_continue = false;
  bool in_chunk_header = false;  // which is not whole yet

  void Reset() {
    parser.emplace();
    parser->header_limit(static_cast<uint32_t>(limits.header_bytes));
    parser->body_limit(limits.body_bytes);
    parser->eager(false);
    stage = Stage::kHeader;
    request = HttpRequest();
    expects_continue = false;
    in_chunk_header = false;
  }

  void Refuse(Refusal why) {
    refusal = std::move(why);
    stage = Stage::kRefused;
  }

  void FinishHeader() {
    const auto& message = parser->get();
    if (Refusal why = CheckHeader(message, static_cast<int>(message.version())); why.code != 0) {
      return Refuse(std::move(why));
    }
    request.method = std::string(View(message.method_string()));
    const std::optional<std::string> target = OriginForm(View(message.target()), request.method);
    if (!target.has_value()) return Refuse({400, "the target is not a path"});
    request.target = *target;
    for (const auto& field : message) request.headers.Add(View(field.name_string()), View(field.value()));
    if (message.count(http::field::expect) > 0) {
      if (!absl::EqualsIgnoreCase(View(message[http::field::expect]), "100-continue")) {
        return Refuse({417, "only 100-continue can be expected"});
      }
      expects_continue = message.version() >= 11;
    }
    parser->eager(true);
    stage = parser->is_done() ? Stage::kDone : Stage::kBody;
  }
};

RequestParser::RequestParser(RequestLimits limits) : state_(std::make_unique<State>()) {
  state_->limits = limits;
  state_->Reset();
}

RequestParser::~RequestParser() = default;

size_t RequestParser::Take(absl::string_view bytes) {
  State& s = *state_;
  if (s.stage == Stage::kDone || s.stage == Stage::kRefused || bytes.empty()) return 0;
  if (s.in_chunk_header && bytes.size() < kLeastChunkBytes) return 0;
  error_code error;
  const size_t used = s.parser->put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  s.in_chunk_header = s.stage == Stage::kBody && used == 0;
  if (error && error != http::error::need_more) {
    s.Refuse(FromError(error));
  } else if (s.stage == Stage::kHeader && s.parser->is_header_done()) {
    s.FinishHeader();
  } else if (s.stage == Stage::kBody && s.parser->is_done()) {
    s.stage = Stage::kDone;
  } else if (s.stage == Stage::kBody && used == 0 && bytes.size() > kLineLimitBytes) {
    s.Refuse({400, "a chunk header or trailer is too long"});
  }
  return used;
}

RequestParser::Stage RequestParser::stage() const { return state_->stage; }
int RequestParser::refusal() const { return state_->refusal.code; }
const std::string& RequestParser::reason() const { return state_->refusal.reason; }
bool RequestParser::expects_continue() const { return state_->expects_continue; }
bool RequestParser::keep_alive() const { return state_->parser->keep_alive(); }
bool RequestParser::knows_chunks() const { return state_->parser->get().version() >= 11; }

HttpRequest RequestParser::TakeRequest() {
  HttpRequest request = std::move(state_->request);
  request.body = std::move(state_->parser->get().body());
  state_->Reset();
  return request;
}

}  // namespace kq
