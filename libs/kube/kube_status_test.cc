#include "libs/kube/kube_status.h"

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "libs/kube/kube_api.h"

namespace kq {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1764451200);  // Sat, 29 Nov 2025 21:20:00 GMT

HttpResponse Answer(int code, std::string body = "") {
  HttpResponse answer;
  answer.code = code;
  answer.body = std::move(body);
  return answer;
}

std::string Body(int code, absl::string_view reason, absl::string_view message) {
  return absl::StrCat(R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":")", message,
                      R"(","reason":")", reason, R"(","code":)", code, "}");
}

TEST_CASE("codes and reasons of the server mean what kube_api.h says") {
  using Code = absl::StatusCode;
  struct Case {
    int code;
    const char* reason;
    const char* message;
    Code read, create, write;
  };
  const Case c = GENERATE(values<Case>({
      {400, "BadRequest", "m", Code::kInvalidArgument, Code::kInvalidArgument, Code::kInvalidArgument},
      {401, "Unauthorized", "m", Code::kUnauthenticated, Code::kUnauthenticated, Code::kUnauthenticated},
      {403, "Forbidden", "m", Code::kPermissionDenied, Code::kPermissionDenied, Code::kPermissionDenied},
      {404, "NotFound", "m", Code::kNotFound, Code::kNotFound, Code::kNotFound},
      {405, "MethodNotAllowed", "m", Code::kInvalidArgument, Code::kInvalidArgument, Code::kInvalidArgument},
      {408, "Timeout", "m", Code::kUnavailable, Code::kUnknown, Code::kUnknown},
      {409, "AlreadyExists", "m", Code::kAlreadyExists, Code::kAlreadyExists, Code::kAlreadyExists},
      {409, "Conflict", "m", Code::kAborted, Code::kAborted, Code::kAborted},
      {409, "", "m", Code::kAborted, Code::kAlreadyExists, Code::kAborted},
      {410, "Expired", "m", Code::kOutOfRange, Code::kOutOfRange, Code::kOutOfRange},
      {410, "Gone", "m", Code::kOutOfRange, Code::kOutOfRange, Code::kOutOfRange},
      {413, "RequestEntityTooLarge", "m", Code::kInvalidArgument, Code::kInvalidArgument, Code::kInvalidArgument},
      {415, "UnsupportedMediaType", "m", Code::kInvalidArgument, Code::kInvalidArgument, Code::kInvalidArgument},
      {422, "Invalid", "m", Code::kInvalidArgument, Code::kInvalidArgument, Code::kInvalidArgument},
      {429, "TooManyRequests", "m", Code::kUnavailable, Code::kUnavailable, Code::kUnavailable},
      {500, "InternalError", "m", Code::kUnavailable, Code::kUnknown, Code::kUnknown},
      {500, "ServerTimeout", "m", Code::kUnavailable, Code::kUnknown, Code::kUnknown},
      {500, "InternalError", "resourceVersion should not be set on objects to be created", Code::kInvalidArgument,
       Code::kInvalidArgument, Code::kInvalidArgument},
      {502, "", "m", Code::kUnavailable, Code::kUnknown, Code::kUnknown},
      {503, "ServiceUnavailable", "the server is currently unable to handle the request", Code::kUnavailable,
       Code::kUnknown, Code::kUnknown},
      {503, "ServiceUnavailable", "the request has been made before all known HTTP paths have been installed",
       Code::kUnavailable, Code::kUnavailable, Code::kUnavailable},
      {503, "ServiceUnavailable", "apiserver is shutting down", Code::kUnavailable, Code::kUnavailable,
       Code::kUnavailable},
      {504, "Timeout", "m", Code::kUnavailable, Code::kUnknown, Code::kUnknown},
      {302, "", "m", Code::kInvalidArgument, Code::kInvalidArgument, Code::kInvalidArgument},
  }));
  CAPTURE(c.code, c.reason, c.message);
  const HttpResponse answer = Answer(c.code, Body(c.code, c.reason, c.message));
  CHECK(StatusOfAnswer(CallKind::kRead, "GET /x", answer, kNow).code() == c.read);
  CHECK(StatusOfAnswer(CallKind::kCreate, "POST /x", answer, kNow).code() == c.create);
  const absl::Status write = StatusOfAnswer(CallKind::kWrite, "PATCH /x", answer, kNow);
  CHECK(write.code() == c.write);
  CHECK(write.message() == c.message);
}

TEST_CASE("only an error that leaves the outcome open counts as unknown") {
  CHECK(OutcomeUnknown(StatusOfAnswer(CallKind::kWrite, "", Answer(504), kNow)));
  CHECK(OutcomeUnknown(StatusOfAnswer(CallKind::kWrite, "", Answer(503), kNow)));
  CHECK_FALSE(OutcomeUnknown(StatusOfAnswer(CallKind::kWrite, "", Answer(429), kNow)));
  CHECK_FALSE(OutcomeUnknown(StatusOfAnswer(CallKind::kRead, "", Answer(504), kNow)));
}

TEST_CASE("an answer that is not the API server's own is quoted on one line") {
  const absl::Status plain =
      StatusOfAnswer(CallKind::kRead, "GET /apis/x/v1/y", Answer(404, "404 page not found\n"), kNow);
  CHECK(plain.message() == "GET /apis/x/v1/y: HTTP 404 Not Found: 404 page not found");
  const absl::Status page = StatusOfAnswer(CallKind::kRead, "GET /",
                                           Answer(502, "<html>\n  <b>bad\ngateway</b>" + std::string(5000, 'x')), kNow);
  CHECK(page.message().substr(0, 50) == "GET /: HTTP 502 Bad Gateway: <html> <b>bad gateway");
  CHECK(page.message().size() < 400);
  CHECK(StatusOfAnswer(CallKind::kRead, "GET /", Answer(502), kNow).message() == "GET /: HTTP 502 Bad Gateway");
}

// Case values outlive the test case's run in which they were made.
constexpr char kDelayInBody[] = R"({"kind":"Status","message":"m","details":{"retryAfterSeconds":3}})";

TEST_CASE("Retry-After comes in seconds, as a date, or in the body") {
  struct Case {
    const char* header;
    const char* body;
    std::optional<absl::Duration> want;
  };
  const Case c = GENERATE(values<Case>({
      {"7", "", absl::Seconds(7)},
      {"0", "", absl::ZeroDuration()},
      {"Sat, 29 Nov 2025 21:20:30 GMT", "", absl::Seconds(30)},
      {"Sat, 29 Nov 2025 21:19:30 GMT", "", absl::ZeroDuration()},
      {"-5", "", absl::ZeroDuration()},
      {"99999999", "", absl::Hours(1)},
      {"soon", "", std::nullopt},
      {"", "", std::nullopt},
      {"", kDelayInBody, absl::Seconds(3)},
      {"7", kDelayInBody, absl::Seconds(7)},
      {"soon", kDelayInBody, absl::Seconds(3)},
  }));
  CAPTURE(c.header, c.body);
  HttpResponse answer = Answer(429, c.body);
  if (*c.header != '\0') answer.headers.Add("retry-after", c.header);
  CHECK(RetryAfter(StatusOfAnswer(CallKind::kWrite, "", answer, kNow)) == c.want);
}

TEST_CASE("causes that the message leaves out come after it with their field paths") {
  const char body[] = R"({"kind":"Status","message":"Job.batch \"x\" is invalid: spec.template: Required value",
    "reason":"Invalid","code":422,
    "details":{"causes":[{"reason":"FieldValueRequired","message":"Required value","field":"spec.template"},
                         {"reason":"FieldValueInvalid","message":"must be >= 0","field":"spec.parallelism"},
                         {"reason":"NamespaceTerminating"}]}})";
  const absl::Status status = StatusOfAnswer(CallKind::kCreate, "", Answer(422, body), kNow);
  CHECK(status == absl::InvalidArgumentError(
                      "Job.batch \"x\" is invalid: spec.template: Required value; spec.parallelism: must be >= 0"));
}

TEST_CASE("a patch that names the uid of an object that is gone is a conflict") {
  const char body[] = R"({"kind":"Status","message":"ConfigMap \"x\" is invalid: metadata.uid: field is immutable",
    "reason":"Invalid","code":422,"details":{"causes":[{"message":"field is immutable","field":"metadata.uid"}]}})";
  CHECK(absl::IsAborted(StatusOfAnswer(CallKind::kWrite, "", Answer(422, body), kNow)));
}

TEST_CASE("an error event of a watch ends it with a code that says how to go on") {
  struct Case {
    const char* object;
    absl::StatusCode want;
  };
  const Case c = GENERATE(values<Case>({
      {R"({"kind":"Status","message":"too old resource version","reason":"Expired","code":410})",
       absl::StatusCode::kOutOfRange},
      {R"({"kind":"Status","message":"m","reason":"Gone"})", absl::StatusCode::kOutOfRange},
      {R"({"kind":"Status","message":"m","reason":"InternalError","code":500})", absl::StatusCode::kUnavailable},
      {R"({"kind":"Status","message":"m","code":403})", absl::StatusCode::kPermissionDenied},
      {R"({"kind":"Status","message":"m","code":400})", absl::StatusCode::kUnavailable},
      {R"({"kind":"Status","message":"m","code":409})", absl::StatusCode::kUnavailable},
      {R"({})", absl::StatusCode::kUnavailable},
  }));
  CAPTURE(c.object);
  CHECK(StatusOfWatchError(*ParseJson(c.object)).code() == c.want);
}

}  // namespace
}  // namespace kq
