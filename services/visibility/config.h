#ifndef SERVICES_VISIBILITY_CONFIG_H_
#define SERVICES_VISIBILITY_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "libs/common/flags.h"
#include "libs/process/environment.h"
#include "libs/process/settings.h"
#include "libs/scheduler_client/connection_options.h"

namespace kq::visibility {

// Everything that can be configured, from flags and the environment; its values
// are the defaults.
struct Config {
  Environment environment;
  ApiServerSettings api;
  SchedulerConnectionOptions scheduler;

  // Serving.
  std::string address = ":8082";
  std::string metrics_address = "127.0.0.1:8083";
  int connection_limit = 2048;
  int threads = 4;
  int long_answers = 64;
  absl::Duration max_picture_age = absl::Seconds(30);
  absl::Duration remember_reviews = absl::Seconds(10);

  // The certificate: files, or one issued by an authority of our own.
  std::string tls_certificate_file;
  std::string tls_key_file;
  std::string state_folder;  // empty: a new one under the folder for temporary files
  std::string service_name = "koord-queue-visibility-server";
  std::string service_namespace;  // empty: the pod's, else koord-queue
  std::string ca_secret = "koord-queue-visibility-ca";
  std::string api_service = "v1alpha1.visibility.koord-queue.x-k8s.io";
  std::vector<std::string> certificate_names;  // besides the Service's

  LogSettings log;
  std::vector<std::string> warnings;

  std::string ServiceNamespace() const;
  bool IssuesCertificate() const { return tls_certificate_file.empty(); }
};

// Reads the command line. Returns the exit code if the process is to end: 0 after
// --help and --version, 2 after errors, all of which are printed at once.
std::optional<int> ParseConfig(int argc, const char* const* argv, Config* config);

// The flags, filling `config`; for ParseConfig and tests.
void RegisterFlags(FlagSet* flags, Config* config);

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_CONFIG_H_
