#include "e2e/fault_proxy/fault_proxy.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "e2e/fault_proxy/watch_fault.h"
#include "libs/common/json.h"

namespace kq {
namespace {

using Kind = Fault::Kind;

constexpr absl::string_view kOwnPath = "/fault-proxy/";

HttpResponse Closed() {
  HttpResponse response;
  response.code = 0;
  return response;
}

HttpResponse JsonAnswer(int code, const Json& body) {
  HttpResponse response;
  response.code = code;
  response.headers.Add("Content-Type", "application/json");
  response.body = JsonText(body) + "\n";
  return response;
}

absl::string_view ReasonOf(int code) {
  switch (code) {
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 409:
      return "Conflict";
    case 410:
      return "Expired";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 500:
      return "InternalError";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return "";
  }
}

// A refusal in the API server's form.
HttpResponse StatusAnswer(int code, absl::string_view message, absl::Duration retry_after) {
  const absl::string_view reason = ReasonOf(code);
  JsonObject status{{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"}, {"code", code}};
  status["message"] = std::string(message);
  status["reason"] = std::string(reason);
  const int64_t seconds = absl::ToInt64Seconds(absl::Ceil(retry_after, absl::Seconds(1)));
  if (seconds > 0) status["details"] = JsonObject{{"retryAfterSeconds", seconds}};
  HttpResponse response = JsonAnswer(code, status);
  if (seconds > 0) response.headers.Add("Retry-After", absl::StrCat(seconds));
  return response;
}

HttpResponse Injected(const Fault& fault) {
  return StatusAnswer(fault.code, absl::StrCat("injected by the fault proxy: HTTP ", fault.code), fault.retry_after);
}

// Fields that belong to one connection, and those that each side writes itself.
bool OfConnection(absl::string_view name) {
  for (const absl::string_view other : {"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "TE",
                                        "Trailer", "Upgrade", "Content-Length", "Host", "Date", "Expect"}) {
    if (absl::EqualsIgnoreCase(name, other)) return true;
  }
  return false;
}

HttpHeaders WithoutConnectionFields(const HttpHeaders& headers) {
  HttpHeaders out;
  for (const auto& [name, value] : headers.fields) {
    if (!OfConnection(name)) out.Add(name, value);
  }
  return out;
}

// The body of a watch on its way to the client, until its end or its fault.
class WatchPipe {
 public:
  WatchPipe(std::shared_ptr<HttpStream> stream, std::optional<Fault> fault, absl::Duration turn)
      : stream_(std::move(stream)),
        fault_(fault),
        expires_(fault.has_value() && fault->kind == Kind::kExpireWatch),
        turn_(turn) {}

  // As HttpResponse::more; throws to cut the connection.
  std::optional<std::string> More() {
    if (ended_) return std::nullopt;
    std::string text;
    fault_.Pass("");
    if (!fault_.Due()) {
      absl::StatusOr<std::string> piece = stream_->Read(turn_);
      if (absl::IsOutOfRange(piece.status())) return std::nullopt;
      if (!piece.ok()) throw std::runtime_error("watch broken off by the API server");
      text = *std::move(piece);
      text.resize(fault_.Pass(text));
    } else if (!expires_) {
      throw std::runtime_error("watch cut by the fault proxy");
    }
    if (fault_.Due() && expires_) {
      text += WatchFault::GoneEvent();
      ended_ = true;
    }
    return text;
  }

 private:
  const std::shared_ptr<HttpStream> stream_;
  WatchFault fault_;
  const bool expires_;
  const absl::Duration turn_;
  bool ended_ = false;
};

}  // namespace

FaultProxy::FaultProxy(FaultProxyOptions options, std::unique_ptr<FaultRules> rules, HttpClient* upstream,
                       const Clock* clock)
    : options_(options), upstream_(upstream), clock_(clock), rules_(std::move(rules)) {}

HttpResponse FaultProxy::Handle(const HttpRequest& request) {
  if (absl::StartsWith(request.target, kOwnPath)) return Own(request);
  const std::optional<KubeRequest> kube = ParseKubeRequest(request.method, request.target);
  const Plan plan = kube.has_value() ? PlanFor(*kube) : Plan();
  if (plan.Is(Kind::kLoseRequest)) return Closed();
  if (plan.Is(Kind::kAnswer)) return Injected(plan.fault);
  if (plan.before > absl::ZeroDuration()) clock_->SleepFor(plan.before);
  HttpResponse answer = kube.has_value() && kube->verb == "watch" ? ForwardWatch(request, plan) : Forward(request);
  if (plan.after > absl::ZeroDuration()) clock_->SleepFor(plan.after);
  if (plan.Is(Kind::kLoseAnswer)) return Closed();
  if (plan.Is(Kind::kReplaceAnswer)) return Injected(plan.fault);
  return answer;
}

FaultProxy::Plan FaultProxy::PlanFor(const KubeRequest& request) {
  Plan plan;
  MutexLock lock(&mu_);
  for (const Fault& fault : rules_->Strike(request, ++requests_)) {
    ++faults_[std::string(FaultName(fault.kind))];
    if (fault.kind == Kind::kSlowRequest) {
      plan.before += fault.delay;
    } else if (fault.kind == Kind::kSlowAnswer) {
      plan.after += fault.delay;
    } else {
      plan.fault = fault;
      plan.strikes = true;
    }
  }
  return plan;
}

HttpResponse FaultProxy::Forward(const HttpRequest& request) {
  HttpRequest out = request;
  out.headers = WithoutConnectionFields(request.headers);
  absl::StatusOr<HttpResponse> answer = upstream_->Call(out, options_.timeout);
  if (!answer.ok()) return UpstreamFailed(answer.status());
  CountForwarded();
  answer->headers = WithoutConnectionFields(answer->headers);
  return *std::move(answer);
}

HttpResponse FaultProxy::ForwardWatch(const HttpRequest& request, const Plan& plan) {
  HttpRequest out = request;
  out.headers = WithoutConnectionFields(request.headers);
  absl::StatusOr<std::unique_ptr<HttpStream>> stream = upstream_->Open(out, options_.timeout);
  if (!stream.ok()) return UpstreamFailed(stream.status());
  CountForwarded();
  HttpResponse answer;
  answer.code = (*stream)->code();
  answer.headers = WithoutConnectionFields((*stream)->headers());
  std::optional<Fault> fault;
  // A refusal is passed on whole: there is no watch to cut.
  if (answer.code == 200 && (plan.Is(Kind::kCutWatch) || plan.Is(Kind::kExpireWatch))) fault = plan.fault;
  auto pipe = std::make_shared<WatchPipe>(*std::move(stream), fault, options_.watch_turn);
  answer.more = [pipe] { return pipe->More(); };
  return answer;
}

HttpResponse FaultProxy::UpstreamFailed(const absl::Status& why) {
  MutexLock lock(&mu_);
  ++upstream_errors_;
  if (!absl::IsUnavailable(why)) return Closed();
  return StatusAnswer(503, absl::StrCat("the API server is not ready: ", why.message()), absl::Seconds(1));
}

void FaultProxy::CountForwarded() {
  MutexLock lock(&mu_);
  ++forwarded_;
}

HttpResponse FaultProxy::Own(const HttpRequest& request) {
  const absl::string_view path = TargetPath(request.target);
  if (path == "/fault-proxy/stats" && request.method == "GET") {
    HttpResponse response;
    response.headers.Add("Content-Type", "application/json");
    response.body = StatsText() + "\n";
    return response;
  }
  if (path == "/fault-proxy/rules" && request.method == "PUT") return ReplaceRules(request);
  return TextResponse(404, "the fault proxy has GET /fault-proxy/stats and PUT /fault-proxy/rules\n");
}

HttpResponse FaultProxy::ReplaceRules(const HttpRequest& request) {
  absl::StatusOr<std::unique_ptr<FaultRules>> rules = FaultRules::Parse(request.body);
  if (!rules.ok()) return TextResponse(400, absl::StrCat(rules.status().message(), "\n"));
  {
    MutexLock lock(&mu_);
    rules_ = *std::move(rules);
    requests_ = forwarded_ = upstream_errors_ = 0;
    faults_.clear();
  }
  HttpResponse response;
  response.headers.Add("Content-Type", "application/json");
  response.body = StatsText() + "\n";
  return response;
}

std::string FaultProxy::StatsText() const {
  MutexLock lock(&mu_);
  JsonObject faults;
  for (const auto& [name, count] : faults_) faults[name] = count;
  return JsonText(JsonObject{{"seed", rules_->seed()},
                             {"requests", requests_},
                             {"forwarded", forwarded_},
                             {"upstreamErrors", upstream_errors_},
                             {"faults", std::move(faults)},
                             {"rules", rules_->Counts()}});
}

}  // namespace kq
