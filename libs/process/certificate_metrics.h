#ifndef LIBS_PROCESS_CERTIFICATE_METRICS_H_
#define LIBS_PROCESS_CERTIFICATE_METRICS_H_

#include <string>

#include "libs/common/metrics.h"

namespace kq {

// When the certificate in a file (PEM, the first of a chain) ends, as
// koord_queue_certificate_expiry_timestamp_seconds{use="..."}; 0, which is long
// over, if the file cannot be read. It is read at each scrape, so that one that was
// renewed counts. Without a file there is no series.
void AddCertificateMetrics(MetricRegistry* registry, std::string use, std::string file);

}  // namespace kq

#endif  // LIBS_PROCESS_CERTIFICATE_METRICS_H_
