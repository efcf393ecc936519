#ifndef CLI_KQCTL_OPTIONS_H_
#define CLI_KQCTL_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/common/flags.h"

namespace kq::kqctl {

// How to reach the scheduler.
struct ConnectionOptions {
  std::vector<std::string> servers = {"127.0.0.1:10260"};
  // TLS if any of the three is given. Without a CA the system's are trusted.
  std::string ca_file;
  std::string certificate_file;  // of this client
  std::string key_file;
  std::string server_name;  // in the server's certificate, if not the host that is called
  absl::Duration timeout = absl::Seconds(10);

  bool tls() const { return !ca_file.empty() || !certificate_file.empty() || !key_file.empty(); }
};

enum class Output { kTable, kJson, kYaml };

// What units to show.
struct UnitOptions {
  std::string queue, quota, ns, phase;
  int64_t limit = 0, offset = 0;
};

// The flags of all commands; a command registers those it has.
struct Options {
  ConnectionOptions connection;
  Output output = Output::kTable;
  bool watch = false;
  UnitOptions units;
  std::string ns = "default";    // of a unit that is named without one
  int64_t decisions_limit = 50;  // 0: all that are kept
  bool without_units = false;
};

void AddConnectionFlags(ConnectionOptions* options, FlagSet* flags);
void AddOutputFlag(Output* output, FlagSet* flags);
void AddWatchFlag(bool* watch, FlagSet* flags);
void AddUnitFlags(UnitOptions* options, FlagSet* flags);

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_OPTIONS_H_
