#include "libs/http/resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "libs/common/mutex.h"

namespace kq {
namespace {

absl::StatusOr<std::vector<SocketAddress>> AskSystem(const std::string& host, int port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &list);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("resolve ", host, ": ", error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    addresses.push_back({std::string(reinterpret_cast<const char*>(at->ai_addr), at->ai_addrlen), at->ai_family});
  }
  freeaddrinfo(list);
  if (addresses.empty()) return absl::UnavailableError(absl::StrCat("resolve ", host, ": no address"));
  return addresses;
}

}  // namespace

bool IsIpAddress(absl::string_view host) {
  const std::string text(host);
  in6_addr space;
  return inet_pton(AF_INET, text.c_str(), &space) == 1 || inet_pton(AF_INET6, text.c_str(), &space) == 1;
}

struct Resolver::State {
  struct Question {
    std::string host;
    int port = 0;
    bool abandoned = false;
    bool answered = false;
    absl::StatusOr<std::vector<SocketAddress>> answer;
  };

  explicit State(size_t limit) : limit(limit) {}

  void Run();

  const size_t limit;
  Mutex mu;
  CondVar asked;
  CondVar answered;
  bool stopping ABSL_GUARDED_BY(mu) = false;
  // The fields of the questions too.
  std::deque<std::shared_ptr<Question>> waiting ABSL_GUARDED_BY(mu);
  std::thread thread ABSL_GUARDED_BY(mu);  // started by the first question
};

void Resolver::State::Run() {
  for (;;) {
    std::shared_ptr<Question> question;
    std::string host;
    int port = 0;
    {
      MutexLock lock(&mu);
      while (waiting.empty() && !stopping) asked.WaitFor(&mu, absl::InfiniteDuration());
      if (stopping) return;
      question = std::move(waiting.front());
      waiting.pop_front();
      if (question->abandoned) continue;
      host = question->host;
      port = question->port;
    }
    auto answer = AskSystem(host, port, AI_ADDRCONFIG);
    MutexLock lock(&mu);
    question->answer = std::move(answer);
    question->answered = true;
    answered.SignalAll();
  }
}

Resolver::Resolver(size_t limit) : state_(std::make_unique<State>(limit)) {}

Resolver::~Resolver() {
  std::thread thread;
  {
    MutexLock lock(&state_->mu);
    state_->stopping = true;
    state_->asked.SignalAll();
    thread = std::move(state_->thread);
  }
  if (thread.joinable()) thread.join();
}

absl::StatusOr<std::vector<SocketAddress>> Resolver::Resolve(const std::string& host, int port, Deadline deadline) {
  if (IsIpAddress(host)) return AskSystem(host, port, AI_NUMERICHOST);
  const auto question = std::make_shared<State::Question>();
  question->host = host;
  question->port = port;
  MutexLock lock(&state_->mu);
  if (state_->waiting.size() >= state_->limit) {
    return absl::UnavailableError(absl::StrCat("resolve ", host, ": too many names wait for the name service"));
  }
  if (!state_->thread.joinable()) state_->thread = std::thread([state = state_.get()] { state->Run(); });
  state_->waiting.push_back(question);
  state_->asked.Signal();
  while (!question->answered && !deadline.Passed()) state_->answered.WaitFor(&state_->mu, deadline.Left());
  if (question->answered) return std::move(question->answer);
  question->abandoned = true;
  return absl::UnavailableError(absl::StrCat("resolve ", host, ": timed out"));
}

}  // namespace kq
