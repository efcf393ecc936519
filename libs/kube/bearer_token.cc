#include "libs/kube/bearer_token.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace kq {
namespace {

constexpr absl::Duration kReadAgainAfter = absl::Minutes(1);
constexpr size_t kTokenLimitBytes = 64 << 10;

// A token as it can go into a header: without white space around and within.
absl::StatusOr<std::string> Checked(absl::string_view text, absl::string_view from) {
  const absl::string_view token = absl::StripAsciiWhitespace(text);
  const bool printable = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (token.empty()) return absl::InvalidArgumentError(absl::StrCat(from, ": the token is empty"));
  if (!printable)
    return absl::InvalidArgumentError(absl::StrCat(from, ": not a token, it has spaces or controls in it"));
  return std::string(token);
}

absl::StatusOr<std::string> TokenFrom(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return absl::InvalidArgumentError(absl::StrCat(file, ": cannot be opened"));
  std::string text(kTokenLimitBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return absl::InvalidArgumentError(absl::StrCat(file, ": cannot be read"));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() == kTokenLimitBytes) return absl::InvalidArgumentError(absl::StrCat(file, ": too long for a token"));
  return Checked(text, file);
}

}  // namespace

absl::StatusOr<std::unique_ptr<BearerToken>> BearerToken::Open(const KubeConnection& connection, const Clock* clock) {
  auto token = absl::WrapUnique(new BearerToken(connection.token_file, clock));
  MutexLock lock(&token->mu_);
  if (!token->file_.empty()) {
    token->Read();
    if (!token->health_.ok()) return token->health_;
  } else if (!connection.token.empty()) {
    absl::StatusOr<std::string> checked = Checked(connection.token, "token");
    if (!checked.ok()) return checked.status();
    token->token_ = *std::move(checked);
  }
  return token;
}

std::string BearerToken::Current() {
  MutexLock lock(&mu_);
  if (!file_.empty() && clock_->TimeNow() - read_at_ >= kReadAgainAfter) Read();
  return token_;
}

bool BearerToken::Renew(const std::string& refused) {
  MutexLock lock(&mu_);
  // Another thread may have renewed it since the refused call was made.
  if (token_ == refused && !file_.empty()) Read();
  return token_ != refused;
}

absl::Status BearerToken::Health() const {
  MutexLock lock(&mu_);
  return health_;
}

void BearerToken::Read() {
  read_at_ = clock_->TimeNow();
  absl::StatusOr<std::string> token = TokenFrom(file_);
  health_ = token.status();
  if (token.ok()) token_ = *std::move(token);
}

}  // namespace kq
