#ifndef CLI_KQCTL_COMMANDS_H_
#define CLI_KQCTL_COMMANDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cli/kqctl/console.h"
#include "cli/kqctl/options.h"
#include "libs/common/flags.h"

// The commands of kqctl, one after the other.
namespace kq::kqctl {

struct Command {
  absl::string_view name;
  absl::string_view words;  // its positional words, as --help shows them
  int min_words, max_words;
  absl::string_view summary;
  void (*add_flags)(Options* options, FlagSet* flags);
  // The command itself. An error's message is shown to the user; its code gives the
  // exit code (kInvalidArgument: wrong use).
  absl::Status (*run)(const Options& options, const std::vector<std::string>& words, const Console& console);
};

// All of them, in the order of --help.
const std::vector<Command>& Commands();

// The flags of one command, with everything that its --help shows.
std::unique_ptr<FlagSet> FlagsOf(const Command& command, Options* options);

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_COMMANDS_H_
