#include "libs/http/testing/certificates.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "libs/common/clock.h"
#include "libs/pki/certificate.h"

namespace kq::testing {
namespace {

// Tests have no use for a Status here: what fails ends them.
void Require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(absl::StrCat("test certificate: ", what));
}

TestCertificate Taken(const absl::StatusOr<CertificateAndKey>& made) {
  Require(made.ok(), std::string(made.status().message()).c_str());
  return {made->certificate_pem, made->key_pem};
}

CertificateRequest RequestOf(const TestCertificateOptions& options) {
  const absl::Time now = Clock::Real().TimeNow();
  return {options.common_name, options.organizations, options.names, now + options.valid_from,
          now + options.valid_until};
}

}  // namespace

TestAuthority::TestAuthority(absl::string_view common_name) {
  TestCertificateOptions options;
  options.common_name = std::string(common_name);
  own_ = Taken(MakeAuthority(RequestOf(options)));
}

TestCertificate TestAuthority::IssueServer(const TestCertificateOptions& options) const {
  return Taken(IssueCertificate({own_.certificate_pem, own_.key_pem}, CertificateUse::kServer, RequestOf(options)));
}

TestCertificate TestAuthority::IssueClient(const TestCertificateOptions& options) const {
  return Taken(IssueCertificate({own_.certificate_pem, own_.key_pem}, CertificateUse::kClient, RequestOf(options)));
}

TestCertificate LocalhostCertificate(const TestAuthority& authority) {
  TestCertificateOptions options;
  options.common_name = "test server";
  options.names = {"localhost", "127.0.0.1", "::1"};
  return authority.IssueServer(options);
}

TestFolder::TestFolder() {
  const char* parent = std::getenv("TEST_TMPDIR");
  path_ = absl::StrCat(parent != nullptr ? parent : std::filesystem::temp_directory_path().string(), "/kq-XXXXXX");
  Require(mkdtemp(path_.data()) != nullptr, "folder");
}

TestFolder::~TestFolder() {
  std::error_code ignored;  // what stays lies in the test's temporary folder
  std::filesystem::remove_all(path_, ignored);
}

std::string TestFolder::Path(absl::string_view name) const { return absl::StrCat(path_, "/", name); }

std::string TestFolder::Write(absl::string_view name, absl::string_view text) const {
  std::string path = Path(name), fresh = path + ".new";
  {
    std::ofstream out(fresh, std::ios::binary);
    out << std::string(text);
    Require(out.flush().good(), "file");
  }
  std::filesystem::rename(fresh, path);
  return path;
}

}  // namespace kq::testing
