#include "libs/scheduler_client/connection_options.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace kq {
namespace {

absl::Status CheckServer(const std::string& server) {
  if (const size_t scheme = server.find("://"); scheme != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("--server: \"", server, "\" begins with a scheme: give HOST:PORT; ",
                                                   "--ca-file, or --cert-file with --key-file, make it TLS"));
  }
  const size_t colon = server.rfind(':');
  int port = 0;
  if (colon != std::string::npos && colon > 0 && absl::SimpleAtoi(server.substr(colon + 1), &port) && port > 0 &&
      port <= 65535) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("--server: \"", server, "\" is not HOST:PORT"));
}

absl::Status CheckConnection(const SchedulerConnectionOptions& options) {
  if (options.servers.empty()) return absl::InvalidArgumentError("--server: at least one is needed");
  for (const std::string& server : options.servers) {
    if (absl::Status status = CheckServer(server); !status.ok()) return status;
  }
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return absl::InvalidArgumentError("--cert-file and --key-file go together");
  }
  if (!options.server_name.empty() && !options.tls()) {
    return absl::InvalidArgumentError("--server-name needs TLS: --ca-file, or --cert-file with --key-file");
  }
  if (options.timeout < absl::Milliseconds(1)) return absl::InvalidArgumentError("--timeout: must be at least 1ms");
  return absl::OkStatus();
}

}  // namespace

void AddConnectionFlags(SchedulerConnectionOptions* options, FlagSet* flags) {
  flags->Section("Connection");
  // Not a list flag, which collects: the scheduler that a second --server is to replace could answer in its place.
  const auto parse_servers = [options](absl::string_view text) {
    options->servers.clear();
    for (const absl::string_view item : absl::StrSplit(text, ',')) {
      const absl::string_view server = absl::StripAsciiWhitespace(item);
      if (!server.empty()) options->servers.emplace_back(server);
    }
    return absl::OkStatus();
  };
  flags->Custom("server", parse_servers, absl::StrJoin(options->servers, ","),
                "HOST:PORT[,...] of the scheduler's gRPC service; several are asked, and the one that leads answers. "
                "The last --server counts.");
  flags->Duration("timeout", &options->timeout, "How long to wait for an answer.");
  flags->String("ca-file", &options->ca_file, "TLS: the authority of the server's certificate (PEM).");
  flags->String("cert-file", &options->certificate_file, "TLS: the certificate to show to the server (PEM).");
  flags->String("key-file", &options->key_file, "TLS: its key (PEM).");
  flags->String("server-name", &options->server_name,
                "TLS: the name in the server's certificate, if it is not the host that is called.");
  flags->Check([options] { return CheckConnection(*options); });
}

}  // namespace kq
