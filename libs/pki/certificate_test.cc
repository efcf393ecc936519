#include "libs/pki/certificate.h"

#include <catch2/catch.hpp>

namespace kq {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'900'000'000);

CertificateRequest Request(const std::string& name, absl::Duration validity) {
  CertificateRequest request;
  request.common_name = name;
  request.not_before = kNow;
  request.not_after = kNow + validity;
  return request;
}

TEST_CASE("an authority issues certificates that end when they should") {
  const auto authority = MakeAuthority(Request("ca", absl::Hours(100)));
  REQUIRE(authority.ok());
  CHECK(CertificateEnd(authority->certificate_pem).value() == kNow + absl::Hours(100));
  CertificateRequest request = Request("server", absl::Hours(10));
  request.names = {"a.b.svc", "127.0.0.1", "::1"};
  const auto server = IssueCertificate(*authority, CertificateUse::kServer, request);
  REQUIRE(server.ok());
  CHECK(CertificateEnd(server->certificate_pem).value() == kNow + absl::Hours(10));
  CHECK(server->key_pem != authority->key_pem);
}

TEST_CASE("an authority that is none issues nothing") {
  const auto one = MakeAuthority(Request("one", absl::Hours(1))), other = MakeAuthority(Request("b", absl::Hours(1)));
  REQUIRE(one.ok());
  REQUIRE(other.ok());
  const CertificateRequest request = Request("server", absl::Hours(1));
  CHECK(CheckAuthority(*one).ok());
  const auto leaf = IssueCertificate(*one, CertificateUse::kServer, request);
  REQUIRE(leaf.ok());
  for (const CertificateAndKey& bad :
       {CertificateAndKey{"", ""}, CertificateAndKey{one->certificate_pem, "x"},
        CertificateAndKey{one->certificate_pem, other->key_pem}, CertificateAndKey{"x", one->key_pem}, *leaf}) {
    CHECK(absl::IsInvalidArgument(CheckAuthority(bad)));
    CHECK(absl::IsInvalidArgument(IssueCertificate(bad, CertificateUse::kServer, request).status()));
  }
}

TEST_CASE("a name cannot smuggle in another one") {
  const auto authority = MakeAuthority(Request("ca", absl::Hours(1)));
  REQUIRE(authority.ok());
  for (const char* name : {"", "a,DNS:b", "a\nb"}) {
    CertificateRequest request = Request("server", absl::Hours(1));
    request.names = {name};
    CHECK_FALSE(IssueCertificate(*authority, CertificateUse::kServer, request).ok());
  }
}

TEST_CASE("a bundle is taken apart, and what is no certificate is left out") {
  const auto one = MakeAuthority(Request("one", absl::Hours(1))), other = MakeAuthority(Request("b", absl::Hours(1)));
  REQUIRE(one.ok());
  REQUIRE(other.ok());
  const std::string bundle = "# words\n" + one->certificate_pem + "\n\n" + other->certificate_pem;
  CHECK(SplitCertificates(bundle) == std::vector<std::string>{one->certificate_pem, other->certificate_pem});
  CHECK(SplitCertificates("").empty());
  CHECK(SplitCertificates(one->key_pem).empty());
}

}  // namespace
}  // namespace kq
