#include "services/visibility/config.h"

#include "libs/common/mistakes.h"
#include "libs/common/status_macros.h"
#include "libs/common/version.h"
#include "libs/http/listen_address.h"

namespace kq::visibility {
namespace {

absl::Status CheckServing(const Config& config) {
  Mistakes mistakes;
  mistakes.Add(WithContext(ListenOn(config.address).status(), "--bind-address"));
  mistakes.Add(WithContext(ListenOn(config.metrics_address).status(), "--metrics-bind-address"));
  if (config.tls_certificate_file.empty() != config.tls_key_file.empty())
    mistakes.Add("--tls-cert-file and --tls-private-key-file: both or none");
  if (config.max_picture_age <= absl::ZeroDuration()) mistakes.Add("--max-picture-age: must be more than 0");
  if (config.service_name.empty()) mistakes.Add("--service-name: must not be empty");
  if (config.IssuesCertificate() && config.ca_secret.empty())
    mistakes.Add("--ca-secret: must not be empty without --tls-cert-file");
  return mistakes.Sum();
}

void RegisterServingFlags(FlagSet* flags, Config* config) {
  flags->Section("Serving");
  flags->String("bind-address", &config->address, "Where the aggregated API is served, over TLS.");
  flags->String("metrics-bind-address", &config->metrics_address, "Where /metrics is served, plain HTTP.");
  flags->Duration("max-picture-age", &config->max_picture_age,
                  "Units are shown from no older snapshot of the scheduler; then the answer is 503.");
  flags->Int("connection-limit", &config->connection_limit,
             "Connections at once; one more gets a quiet one's place, or 503.", {1, 100'000});
  flags->Int("threads", &config->threads, "Threads that make answers.", {1, 64});
  flags->Int("long-answers", &config->long_answers, "Answers of many pieces that are sent at once; more get 429.",
             {1, 100'000});
  flags->Duration("remember-reviews", &config->remember_reviews,
                  "The API server's word on who somebody is, and what they may do, counts so long.");
}

void RegisterCertificateFlags(FlagSet* flags, Config* config) {
  flags->Section("Certificate");
  flags->String(
      "tls-cert-file", &config->tls_certificate_file,
      "Certificate to serve with, read again when it changes. Empty: one is issued by an authority of our own.");
  flags->String("tls-private-key-file", &config->tls_key_file, "Its key.");
  flags->String("ca-secret", &config->ca_secret, "Secret in which the replicas share their authority.");
  flags->String("service-name", &config->service_name, "Service by which the API server calls.");
  flags->String("service-namespace", &config->service_namespace,
                "Its namespace, and the Secret's. Empty: POD_NAMESPACE, else koord-queue.");
  flags->String(
      "apiservice", &config->api_service,
      "APIService whose caBundle is kept up to date, and never beside insecureSkipTLSVerify. Empty: none is.");
  flags->StringList("certificate-names", &config->certificate_names, "Names in the certificate besides the Service's.");
  flags->String("state-dir", &config->state_folder,
                "Folder for the key and certificates in use. Empty: a new one for temporary files.");
}

}  // namespace

std::string Config::ServiceNamespace() const {
  if (!service_namespace.empty()) return service_namespace;
  return environment.pod_namespace.empty() ? "koord-queue" : environment.pod_namespace;
}

void RegisterFlags(FlagSet* flags, Config* config) {
  flags->Section("Scheduler");
  AddConnectionFlags(&config->scheduler, flags);
  RegisterServingFlags(flags, config);
  RegisterCertificateFlags(flags, config);
  config->api.Register(flags);
  config->log.Register(flags);
  flags->Check([config] { return CheckServing(*config); });
  flags->Check([config] { return config->api.Check(); });
  flags->Check([config] { return config->log.Check(); });
}

std::optional<int> ParseConfig(int argc, const char* const* argv, Config* config) {
  FlagSet flags("koord-queue-visibility", kVersion, "Shows who waits in queues and quotas, as an aggregated API.");
  RegisterFlags(&flags, config);
  if (const std::optional<int> code = flags.ParseOrExitCode(argc, argv)) return code;
  config->warnings = flags.warnings();
  return std::nullopt;
}

}  // namespace kq::visibility
