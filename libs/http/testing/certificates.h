#ifndef LIBS_HTTP_TESTING_CERTIFICATES_H_
#define LIBS_HTTP_TESTING_CERTIFICATES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Certificates for tests, made when they are asked for: no key lies in the
// repository. P-256 keys, since making one takes less than a millisecond.
namespace kq::testing {

// A certificate and its key in PEM. `certificate_pem` is what a server sends.
struct TestCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

struct TestCertificateOptions {
  std::string common_name;
  // Subject alternative names: DNS names, and IP addresses in their usual spelling.
  std::vector<std::string> names;
  std::vector<std::string> organizations;
  absl::Duration valid_from = -absl::Hours(1);  // counted from now
  absl::Duration valid_until = absl::Hours(24);
};

// A certificate authority. Not thread-safe; copyable.
class TestAuthority {
 public:
  explicit TestAuthority(absl::string_view common_name = "test authority");

  // What those who trust it are given.
  const std::string& certificate_pem() const { return own_.certificate_pem; }

  // For a server that is asked for by one of `options.names`.
  TestCertificate IssueServer(const TestCertificateOptions& options) const;
  // For a client; its common name is the user.
  TestCertificate IssueClient(const TestCertificateOptions& options) const;

 private:
  TestCertificate own_;
};

// A server certificate for "localhost", 127.0.0.1 and ::1.
TestCertificate LocalhostCertificate(const TestAuthority& authority);

// A folder for one test, removed at its end.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  // Writes a file as a whole, replacing an earlier one in one step, and returns
  // its path.
  std::string Write(absl::string_view name, absl::string_view text) const;
  std::string Path(absl::string_view name) const;

 private:
  std::string path_;
};

}  // namespace kq::testing

#endif  // LIBS_HTTP_TESTING_CERTIFICATES_H_
