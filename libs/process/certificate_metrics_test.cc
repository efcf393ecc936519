#include "libs/process/certificate_metrics.h"

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/http/testing/certificates.h"
#include "libs/pki/certificate.h"

namespace kq {
namespace {

constexpr absl::string_view kFamily = "koord_queue_certificate_expiry_timestamp_seconds";

std::string Line(const std::string& use, int64_t seconds) {
  return absl::StrCat(kFamily, "{use=\"", use, "\"} ", seconds, "\n");
}

std::string EndingAt(absl::Time end) {
  return MakeAuthority({.common_name = "a",
                        .organizations = {},
                        .names = {},
                        .not_before = absl::FromUnixSeconds(1700000000),
                        .not_after = end})
      ->certificate_pem;
}

TEST_CASE("the end of each certificate is shown, of a renewed one too") {
  testing::TestFolder folder;
  MetricRegistry registry;
  AddCertificateMetrics(&registry, "https", folder.Write("a.crt", EndingAt(absl::FromUnixSeconds(1800000000))));
  AddCertificateMetrics(&registry, "grpc", folder.Write("b.crt", EndingAt(absl::FromUnixSeconds(1900000000))));
  CHECK(absl::StrContains(registry.Text(), Line("https", 1800000000)));
  CHECK(absl::StrContains(registry.Text(), Line("grpc", 1900000000)));
  folder.Write("a.crt", EndingAt(absl::FromUnixSeconds(2000000000)));
  CHECK(absl::StrContains(registry.Text(), Line("https", 2000000000)));
}

TEST_CASE("a certificate that cannot be read has ended; without a file there is nothing to show") {
  testing::TestFolder folder;
  MetricRegistry registry;
  AddCertificateMetrics(&registry, "https", folder.Write("a.crt", "no certificate"));
  AddCertificateMetrics(&registry, "grpc", "");
  CHECK(absl::StrContains(registry.Text(), Line("https", 0)));
  CHECK_FALSE(absl::StrContains(registry.Text(), "grpc"));
}

}  // namespace
}  // namespace kq
