#include "services/visibility/authentication.h"

#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "libs/common/status_macros.h"

namespace kq::visibility {
namespace {

constexpr char kEverybody[] = "system:authenticated";
constexpr size_t kMaxTokenBytes = 16 << 10;

std::string Digest(const std::string& text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

User Authenticated(User user) {
  if (std::find(user.groups.begin(), user.groups.end(), kEverybody) == user.groups.end())
    user.groups.emplace_back(kEverybody);
  return user;
}

std::vector<std::string> Texts(const Json* list) {
  std::vector<std::string> texts;
  if (list == nullptr || !list->is_array()) return texts;
  for (const Json& item : list->get_array()) {
    if (item.is_string()) texts.emplace_back(item.get_string());
  }
  return texts;
}

// The user in the answer to a TokenReview.
absl::StatusOr<User> Reviewed(const Json& review) {
  const Json* authenticated = Find(review, {"status", "authenticated"});
  if (authenticated == nullptr || !authenticated->is_bool() || !authenticated->get_bool())
    return absl::UnauthenticatedError("the token is not valid");
  User user;
  user.name = StringAt(review, {"status", "user", "username"});
  user.uid = StringAt(review, {"status", "user", "uid"});
  user.groups = Texts(Find(review, {"status", "user", "groups"}));
  if (const Json* extra = Find(review, {"status", "user", "extra"}); extra != nullptr && extra->is_object()) {
    for (const auto& entry : extra->get_object()) user.extra[std::string(entry.key())] = Texts(&entry.value());
  }
  if (user.name.empty()) return absl::UnauthenticatedError("the token names no user");
  return user;
}

}  // namespace

Authenticator::Authenticator(Options options, KubeApi* api, const Clock* clock)
    : options_(options),
      api_(api),
      clock_(clock),
      reviewed_(options.cache_limit, options.remember),
      reviews_("tokenreviews", clock) {}

void Authenticator::SetRequestHeader(RequestHeaderConfig config) {
  const MutexLock lock(&mu_);
  headers_ = std::make_shared<const RequestHeaderConfig>(std::move(config));
}

absl::StatusOr<User> Authenticator::Authenticate(const HttpRequest& request, const HttpPeer& peer) {
  std::shared_ptr<const RequestHeaderConfig> headers;
  {
    const MutexLock lock(&mu_);
    headers = headers_;
  }
  if (headers != nullptr && IsProxy(*headers, peer.common_name)) {
    if (std::optional<User> user = UserOfHeaders(*headers, request.headers)) return Authenticated(*std::move(user));
  }
  const std::string* authorization = request.headers.Find("Authorization");
  if (authorization == nullptr) return absl::UnauthenticatedError("no credentials");
  absl::string_view token = *authorization;
  if (!absl::StartsWithIgnoreCase(token, "Bearer ")) return absl::UnauthenticatedError("only bearer tokens are taken");
  token.remove_prefix(7);
  token = absl::StripAsciiWhitespace(token);
  if (token.empty() || token.size() > kMaxTokenBytes) return absl::UnauthenticatedError("the token is not valid");
  KQ_ASSIGN_OR_RETURN(User user, Review(std::string(token)));
  return Authenticated(std::move(user));
}

absl::StatusOr<User> Authenticator::Review(const std::string& token) {
  const std::string digest = Digest(token);
  if (std::optional<absl::StatusOr<User>> known = reviewed_.Find(digest, clock_->TimeNow())) return *std::move(known);
  const Json review = {
      {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenReview"}, {"spec", {{"token", token}}}};
  const absl::StatusOr<Json> answer = api_->Create({"authentication.k8s.io", "v1", "tokenreviews"}, "", review);
  if (!answer.ok()) {
    // Whatever went wrong, the request is not taken. The API server may quote what it refuses.
    reviews_.Set(
        absl::Status(answer.status().code(), absl::StrReplaceAll(answer.status().message(), {{token, "<the token>"}})));
    return absl::UnavailableError("the API server cannot be asked whose token this is");
  }
  reviews_.Set(absl::OkStatus());
  absl::StatusOr<User> user = Reviewed(*answer);
  reviewed_.Put(digest, user, clock_->TimeNow());
  return user;
}

}  // namespace kq::visibility
