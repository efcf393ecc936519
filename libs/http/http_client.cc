#include "libs/http/http_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/common/status_macros.h"
#include "libs/http/connection_pool.h"
#include "libs/http/exchange.h"

namespace kq {
namespace {

struct ServerUrl {
  bool tls = false;
  std::string host;  // without brackets
  int port = 0;
  std::string authority;  // for the Host field
};

absl::StatusOr<ServerUrl> ParseServerUrl(absl::string_view text) {
  const auto bad = [text](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("url \"", text, "\": ", why));
  };
  ServerUrl url;
  absl::string_view rest = text;
  if (absl::StartsWith(rest, "https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (absl::StartsWith(rest, "http://")) {
    rest.remove_prefix(7);
  } else {
    return bad("must begin with http:// or https://");
  }
  if (absl::EndsWith(rest, "/")) rest.remove_suffix(1);
  if (rest.find_first_of("/?#@") != absl::string_view::npos) return bad("only a host and a port are allowed");
  url.authority = std::string(rest);
  url.port = url.tls ? 443 : 80;
  const bool bracketed = absl::StartsWith(rest, "[");
  const size_t close = bracketed ? rest.find(']') : absl::string_view::npos;
  if (bracketed && close == absl::string_view::npos) return bad("no ] after the address");
  const size_t colon = rest.find(':', bracketed ? close : 0);
  if (colon != absl::string_view::npos) {
    if (!absl::SimpleAtoi(rest.substr(colon + 1), &url.port) || url.port < 1 || url.port > 65535) {
      return bad("the port is not a number from 1 to 65535");
    }
    rest = rest.substr(0, colon);
  }
  url.host = std::string(bracketed ? rest.substr(1, close - 1) : rest);
  if (url.host.empty() || (bracketed && (!IsIpAddress(url.host) || close + 1 != rest.size()))) return bad("no host");
  if (!std::all_of(url.host.begin(), url.host.end(), [](char c) { return c > 0x20 && c < 0x7f; }))
    return bad("no host");
  return url;
}

bool Idempotent(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

// A limit of the response is the caller's mistake where nothing was changed; else
// what matters is that the outcome is not known.
absl::Status LimitStatus(const absl::Status& status, const HttpRequest& request) {
  if (!absl::IsResourceExhausted(status)) return status;
  if (Idempotent(request)) return absl::InvalidArgumentError(status.message());
  return absl::UnknownError(status.message());
}

class ExchangeStream : public HttpStream {
 public:
  explicit ExchangeStream(std::unique_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  int code() const override { return exchange_->code(); }
  const HttpHeaders& headers() const override { return exchange_->headers(); }
  absl::StatusOr<std::string> Read(absl::Duration timeout) override {
    return exchange_->ReadSome(Deadline::After(timeout));
  }
  void Cancel() override { exchange_->connection()->Cancel(); }

 private:
  const std::unique_ptr<Exchange> exchange_;
};

class PooledHttpClient : public HttpClient {
 public:
  PooledHttpClient(HttpClientOptions options, std::string authority, ConnectionPoolOptions pool)
      : options_(std::move(options)), authority_(std::move(authority)), pool_(std::move(pool)) {}

  absl::StatusOr<HttpResponse> Call(const HttpRequest& request, absl::Duration timeout) override {
    const Deadline deadline = Deadline::After(timeout);
    KQ_ASSIGN_OR_RETURN(const std::unique_ptr<Exchange> exchange,
                        Start(request, options_.response_limit_bytes, deadline));
    HttpResponse response;
    response.code = exchange->code();
    response.headers = exchange->headers();
    absl::StatusOr<std::string> body = exchange->ReadAll(deadline);
    if (!body.ok()) return LimitStatus(body.status(), request);
    response.body = *std::move(body);
    pool_.Return(exchange->TakeReusable());
    return response;
  }

  absl::StatusOr<std::unique_ptr<HttpStream>> Open(const HttpRequest& request, absl::Duration timeout) override {
    KQ_ASSIGN_OR_RETURN(std::unique_ptr<Exchange> exchange, Start(request, 0, Deadline::After(timeout)));
    KQ_RETURN_IF_ERROR(exchange->connection()->EnableCancel());
    return std::make_unique<ExchangeStream>(std::move(exchange));
  }

  int64_t ConnectionsOpened() const override { return pool_.Opened(); }

 private:
  absl::StatusOr<std::unique_ptr<Exchange>> Start(const HttpRequest& request, size_t body_limit, Deadline deadline) {
    KQ_ASSIGN_OR_RETURN(const std::string header, RequestHeader(request, authority_));
    const ExchangeLimits limits{options_.header_limit_bytes, body_limit};
    if (std::unique_ptr<Connection> kept = pool_.TakeIdle()) {
      auto exchange = std::make_unique<Exchange>(std::move(kept), limits);
      const absl::Status status = exchange->Start(request, header, deadline);
      if (status.ok()) return exchange;
      if (!exchange->dropped() || !Idempotent(request)) return LimitStatus(status, request);
    }
    KQ_ASSIGN_OR_RETURN(std::unique_ptr<Connection> fresh, pool_.Open(deadline));
    auto exchange = std::make_unique<Exchange>(std::move(fresh), limits);
    const absl::Status status = exchange->Start(request, header, deadline);
    if (!status.ok()) return LimitStatus(status, request);
    return exchange;
  }

  const HttpClientOptions options_;
  const std::string authority_;
  ConnectionPool pool_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpClient>> NewHttpClient(HttpClientOptions options) {
  KQ_ASSIGN_OR_RETURN(const ServerUrl url, ParseServerUrl(options.url));
  if (options.connections < 0) return absl::InvalidArgumentError("connections: must not be negative");
  if (options.header_limit_bytes < 64 || options.header_limit_bytes > (64 << 20)) {
    return absl::InvalidArgumentError("header_limit_bytes: must be from 64 to 64 MiB");
  }
  if (options.response_limit_bytes == 0) return absl::InvalidArgumentError("response_limit_bytes: must not be 0");
  ConnectionPoolOptions pool;
  pool.host = url.host;
  pool.port = url.port;
  pool.server_name = options.server_name.empty() ? url.host : options.server_name;
  pool.verify = !options.skip_tls_verify;
  pool.idle_limit = static_cast<size_t>(options.connections);
  pool.connect_timeout = options.connect_timeout;
  if (url.tls) {
    ClientTlsOptions tls;
    tls.ca_pem = options.ca_pem;
    tls.skip_verify = options.skip_tls_verify;
    tls.certificate_pem = options.client_certificate_pem;
    tls.key_pem = options.client_key_pem;
    KQ_ASSIGN_OR_RETURN(pool.tls, NewClientTls(tls));
  }
  return std::make_unique<PooledHttpClient>(std::move(options), url.authority, std::move(pool));
}

}  // namespace kq
