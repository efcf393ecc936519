#include "libs/kube/http_kube_api.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/common/json.h"
#include "libs/common/status_macros.h"
#include "libs/kube/bearer_token.h"
#include "libs/kube/call_rate.h"
#include "libs/kube/http_watch.h"
#include "libs/kube/kube_status.h"
#include "libs/kube/kube_target.h"
#include "libs/kube/list_page.h"
#include "libs/kube/raw_json.h"

namespace kq {
namespace {

constexpr absl::Duration kRefusalBodyTimeout = absl::Seconds(5);
constexpr size_t kRefusalBodyLimitBytes = 64 << 10;
constexpr absl::Duration kWatchGrace = absl::Seconds(30);  // beyond what was asked of the server
constexpr int kRefusalBodyPieces = 1000;

bool Succeeded(int code) { return code >= 200 && code < 300; }

absl::string_view ContentType(PatchType type) {
  switch (type) {
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kStrategicMerge:
      return "application/strategic-merge-patch+json";
  }
  return "";
}

absl::string_view PolicyName(Propagation propagation) {
  switch (propagation) {
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kOrphan:
      return "Orphan";
  }
  return "";
}

std::string DeleteOptions(const DeleteRequest& request) {
  const absl::string_view policy = PolicyName(request.propagation);
  JsonObject options{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  options["propagationPolicy"] = std::string(policy);
  JsonObject preconditions;
  if (!request.uid.empty()) preconditions["uid"] = request.uid;
  if (request.version != 0) preconditions["resourceVersion"] = absl::StrCat(request.version);
  if (!preconditions.empty()) options["preconditions"] = std::move(preconditions);
  return JsonText(Json(std::move(options)));
}

// "https://host:port/path" as the address of the client and the path before every target.
struct ServerAddress {
  std::string url;   // with a port
  std::string host;  // "host:port"
  std::string path;  // "" or "/path"
};

ServerAddress Split(absl::string_view server) {
  const bool tls = absl::StartsWith(server, "https://");
  absl::string_view rest = server.substr(server.find("://") + 3);
  while (absl::ConsumeSuffix(&rest, "/")) {
  }
  ServerAddress out;
  const size_t slash = std::min(rest.find('/'), rest.size());
  out.host = std::string(rest.substr(0, slash));
  out.path = std::string(rest.substr(slash));
  const size_t bracket = out.host.rfind(']');
  if (out.host.find(':', bracket == std::string::npos ? 0 : bracket) == std::string::npos) {
    absl::StrAppend(&out.host, tls ? ":443" : ":80");
  }
  out.url = absl::StrCat(tls ? "https://" : "http://", out.host);
  return out;
}

class HttpKubeApi : public KubeApi {
 public:
  HttpKubeApi(ServerAddress server, HttpKubeApiOptions options, HttpKubeApiParts parts,
              std::unique_ptr<BearerToken> token)
      : server_(std::move(server)),
        options_(std::move(options)),
        client_(std::move(parts.client)),
        clock_(parts.clock),
        token_(std::move(token)),
        rate_(options_.qps, options_.burst, clock_) {}

  absl::StatusOr<ListPage> List(const ListRequest& request) override {
    KQ_ASSIGN_OR_RETURN(std::string target, ListTarget(request));
    KQ_ASSIGN_OR_RETURN(const HttpResponse answer, Call(CallKind::kRead, NewRequest("GET", target)));
    return ParseListPage(answer.body);
  }

  absl::StatusOr<std::unique_ptr<WatchStream>> Watch(const WatchRequest& request) override {
    KQ_ASSIGN_OR_RETURN(std::string target, WatchTarget(request, options_.watch_timeout));
    const absl::Time deadline = clock_->TimeNow() + options_.watch_timeout + kWatchGrace;
    KQ_ASSIGN_OR_RETURN(std::unique_ptr<HttpStream> stream, OpenStream(NewRequest("GET", target)));
    return NewHttpWatch(std::move(stream), {options_.response_limit_bytes, deadline}, clock_);
  }

  absl::StatusOr<Json> Get(const KubeResource& resource, const ObjectKey& key) override {
    KQ_ASSIGN_OR_RETURN(std::string target, ObjectTarget(resource, key, Subresource::kNone));
    return CallForObject(CallKind::kRead, NewRequest("GET", target));
  }

  absl::StatusOr<Json> Create(const KubeResource& resource, absl::string_view ns, const Json& object) override {
    KQ_ASSIGN_OR_RETURN(std::string target, CollectionTarget(resource, ns));
    HttpRequest request = NewRequest("POST", target);
    SetBody(&request, "application/json", JsonText(object));
    return CallForObject(CallKind::kCreate, request);
  }

  absl::StatusOr<Json> Update(const KubeResource& resource, Subresource subresource, const Json& object) override {
    KQ_ASSIGN_OR_RETURN(std::string target, ObjectTarget(resource, KeyOf(object), subresource));
    HttpRequest request = NewRequest("PUT", target);
    SetBody(&request, "application/json", JsonText(object));
    return CallForObject(CallKind::kWrite, request);
  }

  absl::StatusOr<Json> Patch(const PatchRequest& patch) override {
    KQ_ASSIGN_OR_RETURN(std::string target, ObjectTarget(patch.resource, patch.key, patch.subresource));
    HttpRequest request = NewRequest("PATCH", target);
    SetBody(&request, ContentType(patch.type), JsonText(patch.patch));
    return CallForObject(CallKind::kWrite, request);
  }

  absl::Status Delete(const DeleteRequest& request) override {
    KQ_ASSIGN_OR_RETURN(std::string target, ObjectTarget(request.resource, request.key, Subresource::kNone));
    HttpRequest call = NewRequest("DELETE", target);
    SetBody(&call, "application/json", DeleteOptions(request));
    return Call(CallKind::kWrite, call).status();
  }

 private:
  HttpRequest NewRequest(absl::string_view method, const std::string& target) const {
    HttpRequest request;
    request.method = std::string(method);
    request.target = server_.path + target;
    request.headers.Add("Accept", "application/json");
    if (!options_.user_agent.empty()) request.headers.Add("User-Agent", options_.user_agent);
    return request;
  }

  static void SetBody(HttpRequest* request, absl::string_view type, std::string body) {
    request->headers.Add("Content-Type", type);
    request->body = std::move(body);
  }

  // Calls `send` with the request and, when the server refused the token and
  // there is a newer one, once more. `send` gives something with a code().
  template <typename Send>
  auto SendWithToken(const HttpRequest& request, Send send) -> decltype(send(request)) {
    for (bool again = true;; again = false) {
      const std::string token = token_->Current();
      HttpRequest signed_request = request;
      if (!token.empty()) signed_request.headers.Add("Authorization", absl::StrCat("Bearer ", token));
      const absl::Time begin = clock_->TimeNow();
      auto answer = send(signed_request);
      const int code = answer.ok() ? CodeOf(*answer) : 0;
      if (options_.observe != nullptr) {
        options_.observe(request.method, server_.host, code, clock_->TimeNow() - begin);
      }
      if (!again || code != 401 || !token_->Renew(token)) return answer;
    }
  }
  static int CodeOf(const HttpResponse& answer) { return answer.code; }
  static int CodeOf(const std::unique_ptr<HttpStream>& stream) { return stream->code(); }

  // The answer, if it is a success; else what it means.
  absl::StatusOr<HttpResponse> Call(CallKind kind, const HttpRequest& request) {
    KQ_RETURN_IF_ERROR(rate_.Wait(options_.timeout));
    absl::StatusOr<HttpResponse> answer = SendWithToken(
        request, [this](const HttpRequest& signed_request) { return client_->Call(signed_request, options_.timeout); });
    if (answer.ok() && !Succeeded(answer->code)) return Refused(kind, request, *answer);
    return answer;
  }

  absl::StatusOr<Json> CallForObject(CallKind kind, const HttpRequest& request) {
    KQ_ASSIGN_OR_RETURN(const HttpResponse answer, Call(kind, request));
    absl::StatusOr<Json> object = ParseJsonInOnePiece(answer.body);
    if (object.ok()) return object;
    const ObjectKey key = KeyInText(answer.body);
    const std::string what =
        absl::StrCat("the answer about ", key.name.empty() ? std::string("an object") : key.ToString(),
                     " cannot be decoded: ", object.status().message());
    // A write has taken effect by now, but there is nothing to show for it.
    if (kind != CallKind::kRead) return absl::UnknownError(what);
    return absl::InvalidArgumentError(what);
  }

  absl::StatusOr<std::unique_ptr<HttpStream>> OpenStream(const HttpRequest& request) {
    KQ_RETURN_IF_ERROR(rate_.Wait(options_.timeout));
    KQ_ASSIGN_OR_RETURN(std::unique_ptr<HttpStream> stream,
                        SendWithToken(request, [this](const HttpRequest& signed_request) {
                          return client_->Open(signed_request, options_.timeout);
                        }));
    if (Succeeded(stream->code())) return stream;
    HttpResponse answer;
    answer.code = stream->code();
    answer.headers = stream->headers();
    answer.body = BodyOfRefusal(stream.get());
    return Refused(CallKind::kRead, request, answer);
  }

  // As much of it as comes soon: the code alone says what to do.
  static std::string BodyOfRefusal(HttpStream* stream) {
    std::string body;
    for (int i = 0; i < kRefusalBodyPieces && body.size() < kRefusalBodyLimitBytes; ++i) {
      const absl::StatusOr<std::string> piece = stream->Read(kRefusalBodyTimeout);
      if (!piece.ok() || piece->empty()) break;
      body += *piece;
    }
    return body;
  }

  absl::Status Refused(CallKind kind, const HttpRequest& request, const HttpResponse& answer) const {
    const std::string what = absl::StrCat(request.method, " ", TargetPath(request.target));
    absl::Status status = StatusOfAnswer(kind, what, answer, clock_->TimeNow());
    const absl::Status token = token_->Health();
    if (answer.code == 401 && !token.ok()) return WithContext(status, token.message());
    return status;
  }

  const ServerAddress server_;
  const HttpKubeApiOptions options_;
  const std::unique_ptr<HttpClient> client_;
  const Clock* const clock_;
  const std::unique_ptr<BearerToken> token_;
  CallRate rate_;
};

absl::Status CheckOptions(const KubeConnection& connection, const HttpKubeApiOptions& options) {
  if (!absl::StartsWith(connection.server, "https://") && !absl::StartsWith(connection.server, "http://")) {
    return absl::InvalidArgumentError(absl::StrCat("server \"", connection.server, "\" is no URL"));
  }
  if (options.timeout <= absl::ZeroDuration()) return absl::InvalidArgumentError("timeout must be positive");
  if (options.watch_timeout < absl::Seconds(1)) {
    return absl::InvalidArgumentError("watch timeout must be a second at least");
  }
  if (options.qps < 0 || options.burst < 0) return absl::InvalidArgumentError("qps and burst must not be negative");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<KubeApi>> NewHttpKubeApi(const KubeConnection& connection, HttpKubeApiOptions options) {
  KQ_RETURN_IF_ERROR(CheckOptions(connection, options));
  HttpClientOptions client;
  client.url = Split(connection.server).url;
  client.ca_pem = connection.ca_pem;
  client.server_name = connection.server_name;
  client.skip_tls_verify = connection.skip_tls_verify;
  client.client_certificate_pem = connection.client_certificate_pem;
  client.client_key_pem = connection.client_key_pem;
  client.connections = options.connections;
  client.response_limit_bytes = options.response_limit_bytes;
  HttpKubeApiParts parts;
  KQ_ASSIGN_OR_RETURN(parts.client, NewHttpClient(std::move(client)));
  parts.clock = &Clock::Real();
  return NewHttpKubeApi(connection, std::move(options), std::move(parts));
}

absl::StatusOr<std::unique_ptr<KubeApi>> NewHttpKubeApi(const KubeConnection& connection, HttpKubeApiOptions options,
                                                        HttpKubeApiParts parts) {
  KQ_RETURN_IF_ERROR(CheckOptions(connection, options));
  KQ_ASSIGN_OR_RETURN(std::unique_ptr<BearerToken> token, BearerToken::Open(connection, parts.clock));
  return std::make_unique<HttpKubeApi>(Split(connection.server), std::move(options), std::move(parts),
                                       std::move(token));
}

}  // namespace kq
