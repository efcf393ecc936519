#ifndef LIBS_KUBE_TESTING_SCRIPTED_HTTP_CLIENT_H_
#define LIBS_KUBE_TESTING_SCRIPTED_HTTP_CLIENT_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/mutex.h"
#include "libs/http/http_client.h"

namespace kq {

// A body that comes in given pieces. An empty piece, and each Read after the
// last one, is a Read that timed out; an error is returned as it is.
class ScriptedHttpStream : public HttpStream {
 public:
  using Pieces = std::vector<absl::StatusOr<std::string>>;
  ScriptedHttpStream(int code, Pieces pieces) : code_(code), pieces_(pieces.begin(), pieces.end()) {}

  int code() const override { return code_; }
  const HttpHeaders& headers() const override { return headers_; }
  absl::StatusOr<std::string> Read(absl::Duration) override {
    if (pieces_.empty()) return std::string();
    absl::StatusOr<std::string> piece = std::move(pieces_.front());
    pieces_.pop_front();
    return piece;
  }
  void Cancel() override {}

  // The piece that says that the body has ended.
  static absl::Status End() { return absl::OutOfRangeError("end of body"); }

 private:
  const int code_;
  const HttpHeaders headers_;
  std::deque<absl::StatusOr<std::string>> pieces_;
};

// Gives the answers it was told, one for each request, and remembers the requests.
// A request without an answer is kInternal. Thread-safe.
class ScriptedHttpClient : public HttpClient {
 public:
  void Answer(absl::StatusOr<HttpResponse> answer) {
    MutexLock lock(&mu_);
    answers_.push_back(std::move(answer));
  }
  void Answer(int code, std::string body) {
    HttpResponse answer;
    answer.code = code;
    answer.body = std::move(body);
    Answer(std::move(answer));
  }
  void AnswerStream(int code, ScriptedHttpStream::Pieces pieces) {
    MutexLock lock(&mu_);
    streams_.push_back(std::make_unique<ScriptedHttpStream>(code, std::move(pieces)));
  }

  absl::StatusOr<HttpResponse> Call(const HttpRequest& request, absl::Duration) override {
    MutexLock lock(&mu_);
    requests_.push_back(request);
    if (answers_.empty()) return absl::InternalError("no answer in the script");
    absl::StatusOr<HttpResponse> answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }
  absl::StatusOr<std::unique_ptr<HttpStream>> Open(const HttpRequest& request, absl::Duration) override {
    MutexLock lock(&mu_);
    requests_.push_back(request);
    if (streams_.empty()) return absl::UnavailableError("no stream in the script");
    std::unique_ptr<HttpStream> stream = std::move(streams_.front());
    streams_.pop_front();
    return stream;
  }

  int64_t ConnectionsOpened() const override { return 0; }

  std::vector<HttpRequest> Requests() const {
    MutexLock lock(&mu_);
    return requests_;
  }

 private:
  mutable Mutex mu_;
  std::deque<absl::StatusOr<HttpResponse>> answers_ ABSL_GUARDED_BY(mu_);
  std::deque<std::unique_ptr<HttpStream>> streams_ ABSL_GUARDED_BY(mu_);
  std::vector<HttpRequest> requests_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq

#endif  // LIBS_KUBE_TESTING_SCRIPTED_HTTP_CLIENT_H_
