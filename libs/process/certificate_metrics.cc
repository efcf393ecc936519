#include "libs/process/certificate_metrics.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/time/time.h"
#include "libs/pki/certificate.h"

namespace kq {

void AddCertificateMetrics(MetricRegistry* registry, std::string use, std::string file) {
  if (file.empty()) return;
  registry->AddCollector([use = std::move(use), file = std::move(file)](MetricSink& sink) {
    std::ifstream in(file, std::ios::binary);
    const absl::StatusOr<absl::Time> end = CertificateEnd(std::string(std::istreambuf_iterator<char>(in), {}));
    sink.Gauge("koord_queue_certificate_expiry_timestamp_seconds",
               "When a certificate of this process ends, in seconds since unix epoch; 0 if it cannot be read.",
               {{"use", use}}, end.ok() ? absl::ToDoubleSeconds(*end - absl::UnixEpoch()) : 0);
  });
}

}  // namespace kq
