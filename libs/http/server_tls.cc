#include "libs/http/server_tls.h"

#include <sys/stat.h>

#include <array>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/status_macros.h"

namespace kq {
namespace {

constexpr std::streamsize kFileLimitBytes = 4 << 20;
// How long files may not fit each other before that is told, and when they are read again meanwhile.
constexpr std::chrono::seconds kPatience(1);

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kFileLimitBytes, '\0');
  in.read(text.data(), kFileLimitBytes);
  if (!in.eof()) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read, or is over 4 MiB"));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServerTls>> ServerTls::Load(ServerTlsFiles files) {
  std::unique_ptr<ServerTls> tls(new ServerTls(std::move(files)));
  tls->stamps_ = tls->Look();
  KQ_ASSIGN_OR_RETURN(tls->current_, tls->Read());
  return tls;
}

ServerTls::Stamps ServerTls::Look() const {
  Stamps stamps;
  const std::array<const std::string*, 3> paths = {&files_.certificate, &files_.key, &files_.client_ca};
  for (size_t i = 0; i < stamps.size(); ++i) {
    struct stat found {};
    if (paths[i]->empty() || stat(paths[i]->c_str(), &found) != 0) continue;
    stamps[i] = {static_cast<int64_t>(found.st_ino), found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
  }
  return stamps;
}

absl::StatusOr<TlsContext> ServerTls::Read() const {
  ServerTlsOptions options;
  KQ_ASSIGN_OR_RETURN(options.certificate_pem, ReadFile(files_.certificate));
  KQ_ASSIGN_OR_RETURN(options.key_pem, ReadFile(files_.key));
  if (!files_.client_ca.empty()) {
    KQ_ASSIGN_OR_RETURN(options.client_ca_pem, ReadFile(files_.client_ca));
    // An empty file must not mean that nobody is checked.
    if (options.client_ca_pem.empty()) return absl::InvalidArgumentError(absl::StrCat(files_.client_ca, ": is empty"));
  }
  absl::StatusOr<TlsContext> context = NewServerTls(options);
  if (!context.ok()) return WithContext(context.status(), files_.certificate);
  return context;
}

TlsContext ServerTls::Current(Time now) {
  const Stamps stamps = Look();
  const bool changed = stamps != stamps_;
  if (!changed && !(failing_since_.has_value() && now >= retry_at_)) return current_;
  // Looked at before reading: what changes meanwhile is seen the next time.
  stamps_ = stamps;
  retry_at_ = now + kPatience;
  absl::StatusOr<TlsContext> fresh = Read();
  if (fresh.ok()) {
    current_ = *std::move(fresh);
    failing_since_.reset();
    trouble_ = absl::OkStatus();
    KQ_LOG(Info, "Server certificate loaded again", {{"file", files_.certificate}});
    return current_;
  }
  if (!failing_since_.has_value()) failing_since_ = now;
  // Between the writes of a certificate and of its key the two do not fit.
  if (now - *failing_since_ < kPatience || (!changed && !trouble_.ok())) return current_;
  trouble_ = fresh.status();
  KQ_LOG(Warning, "Server certificate cannot be loaded, the one in use stays", {{"err", trouble_}});
  return current_;
}

}  // namespace kq
