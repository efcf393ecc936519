#include "libs/http/server_tls.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "libs/http/testing/certificates.h"

namespace kq {
namespace {

using testing::LocalhostCertificate;
using testing::TestAuthority;
using testing::TestCertificate;
using testing::TestFolder;

TEST_CASE("a certificate is no trouble until its key has had a second to follow") {
  const TestAuthority authority;
  const TestCertificate one = LocalhostCertificate(authority), two = LocalhostCertificate(authority);
  const TestFolder folder;
  const std::string certificate = folder.Write("tls.crt", one.certificate_pem);
  const std::string key = folder.Write("tls.key", one.key_pem);
  auto tls = ServerTls::Load({certificate, key, ""});
  REQUIRE(tls.ok());
  const ServerTls::Time start;
  const auto at = [&](int milliseconds) { return (*tls)->Current(start + std::chrono::milliseconds(milliseconds)); };
  const TlsContext first = at(0);

  folder.Write("tls.crt", two.certificate_pem);
  CHECK(at(1) == first);
  CHECK(at(900) == first);
  CHECK((*tls)->trouble().ok());
  SECTION("it follows") {
    folder.Write("tls.key", two.key_pem);
    CHECK(at(950) != first);
    CHECK((*tls)->trouble().ok());
  }
  SECTION("it does not, and then does") {
    CHECK(at(1001) == first);
    CHECK_FALSE((*tls)->trouble().ok());
    folder.Write("tls.key", two.key_pem);
    CHECK(at(1002) != first);
    CHECK((*tls)->trouble().ok());
  }
}

}  // namespace
}  // namespace kq
