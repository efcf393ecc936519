#ifndef CLI_KQCTL_OPTIONS_H_
#define CLI_KQCTL_OPTIONS_H_

#include <cstdint>
#include <string>

#include "libs/common/flags.h"
#include "libs/scheduler_client/connection_options.h"

namespace kq::kqctl {

enum class Output { kTable, kJson, kYaml };

// What units to show.
struct UnitOptions {
  std::string queue, quota, ns, phase;
  int64_t limit = 0, offset = 0;
};

// The flags of all commands; a command registers those it has.
struct Options {
  SchedulerConnectionOptions connection;
  Output output = Output::kTable;
  bool watch = false;
  UnitOptions units;
  std::string ns;                // of a unit that is named without one; empty: default
  int64_t decisions_limit = 50;  // 0: all that are kept
  bool without_units = false;
};

void AddOutputFlag(Output* output, FlagSet* flags);
void AddWatchFlag(bool* watch, FlagSet* flags);
void AddUnitFlags(UnitOptions* options, FlagSet* flags);

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_OPTIONS_H_
