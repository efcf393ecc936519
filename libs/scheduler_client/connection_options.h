#ifndef LIBS_SCHEDULER_CLIENT_CONNECTION_OPTIONS_H_
#define LIBS_SCHEDULER_CLIENT_CONNECTION_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "libs/common/flags.h"

namespace kq {

// How to reach the scheduler. A value.
struct SchedulerConnectionOptions {
  std::vector<std::string> servers = {"127.0.0.1:10260"};
  // TLS if any of the three is given. Without a CA the system's are trusted. The
  // files are read anew at each connection, so that rotated ones count.
  std::string ca_file;
  std::string certificate_file;  // of this client
  std::string key_file;
  std::string server_name;                     // in the server's certificate, if not the host that is called
  absl::Duration timeout = absl::Seconds(10);  // of one answer

  bool tls() const { return !ca_file.empty() || !certificate_file.empty() || !key_file.empty(); }
};

// The flags, and the check that they go together.
void AddConnectionFlags(SchedulerConnectionOptions* options, FlagSet* flags);

}  // namespace kq

#endif  // LIBS_SCHEDULER_CLIENT_CONNECTION_OPTIONS_H_
