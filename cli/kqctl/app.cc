#include "cli/kqctl/app.h"

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/kqctl/commands.h"
#include "cli/kqctl/options.h"
#include "cli/kqctl/table.h"
#include "libs/common/closest_word.h"
#include "libs/common/version.h"
#include "libs/scheduler_client/client.h"

namespace kq::kqctl {
namespace {

std::string GeneralHelp() {
  std::string text =
      "kqctl shows what the koord-queue scheduler knows: who waits, why, and what is used of each quota.\n\n"
      "Usage: kqctl COMMAND [flags]\n\nCommands:\n";
  for (const Command& command : Commands()) {
    absl::StrAppend(&text, "  ", command.name, std::string(12 - command.name.size(), ' '), command.summary, "\n");
  }
  absl::StrAppend(
      &text,
      "\nkqctl COMMAND --help tells more. Flags may stand before the command too. The scheduler is asked at\n"
      "--server=HOST:PORT[,...], by default 127.0.0.1:10260. In a cluster:\n"
      "  kubectl -n koord-queue port-forward service/koord-queue 10260\n"
      "\nExit codes: 0 done, 1 not found or refused by the server, 2 wrong use, 3 no leading server reached.\n");
  return text;
}

// The flags that may stand before the command, to tell them from it.
class LeadingWords {
 public:
  LeadingWords() : flags_("kqctl", kVersion) {
    AddConnectionFlags(&unused_.connection, &flags_);
    AddOutputFlag(&unused_.output, &flags_);
    AddUnitFlags(&unused_.units, &flags_);
  }
  // How many there are: flags and their values.
  size_t Count(const std::vector<std::string>& words) const { return flags_.LeadingFlags(words); }
  // For a line without a command, whose other mistakes matter less than that.
  void Read(const std::vector<std::string>& words) { flags_.Parse(words).IgnoreError(); }
  bool help_wanted() const { return flags_.help_wanted(); }
  bool version_wanted() const { return flags_.version_wanted(); }

 private:
  Options unused_;
  FlagSet flags_;
};

int WrongUse(absl::string_view program, absl::string_view problems, const Console& console) {
  for (const absl::string_view line : absl::StrSplit(problems, '\n')) *console.err << program << ": " << line << "\n";
  *console.err << "See " << program << " --help\n";
  return kUsage;
}

int CodeFor(const absl::Status& status) {
  if (status.ok()) return kOk;
  return IsUnreachable(status) ? kUnreachable : kRefused;
}

// What helps where nobody listens, or where TLS is spoken and no certificates were
// given: a scheduler in a cluster is reached by a tunnel. Empty for other errors.
absl::string_view ReachingHint(const absl::Status& status) {
  if (!absl::StrContains(status.message(), "connection refused") &&
      !absl::StrContains(status.message(), "TLS needs --ca-file")) {
    return "";
  }
  return "A scheduler that the chart installed is reached so, with the files that `helm -n koord-queue get notes\n"
         "koord-queue` tells how to get:\n"
         "  kubectl -n koord-queue port-forward service/koord-queue 10260 &\n"
         "  kqctl queues --ca-file=ca.crt --cert-file=client.crt --key-file=client.key\n";
}

// Null if there is none of that name.
const Command* FindCommand(absl::string_view name) {
  const auto& commands = Commands();
  const auto at = std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
  return at == commands.end() ? nullptr : &*at;
}

int UnknownCommand(absl::string_view name, const Console& console) {
  std::vector<std::string> known;
  for (const Command& command : Commands()) known.emplace_back(command.name);
  const std::string meant = ClosestWord(name, known);
  return WrongUse("kqctl",
                  absl::StrCat("unknown command \"", Printable(name), "\"",
                               meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?")),
                  console);
}

int RunCommand(const Command& command, const std::vector<std::string>& words, const Console& console) {
  const std::string program = absl::StrCat("kqctl ", command.name);
  Options options;
  const std::unique_ptr<FlagSet> flags = FlagsOf(command, &options);
  const absl::StatusOr<std::vector<std::string>> parsed = flags->Parse(words);
  if (flags->help_wanted()) {
    *console.out << flags->HelpText();
    return kOk;
  }
  if (flags->version_wanted()) {
    *console.out << flags->VersionText() << "\n";
    return kOk;
  }
  if (!parsed.ok()) return WrongUse(program, parsed.status().message(), console);
  const int given = static_cast<int>(parsed->size());
  if (given < command.min_words) return WrongUse(program, absl::StrCat(command.words, " is missing"), console);
  if (given > command.max_words) {
    return WrongUse(
        program, absl::StrCat("unexpected word \"", parsed->at(static_cast<size_t>(command.max_words)), "\""), console);
  }
  const absl::Status status = command.run(options, *parsed, console);
  console.out->flush();
  if (absl::IsInvalidArgument(status)) return WrongUse(program, status.message(), console);
  if (!status.ok()) *console.err << "kqctl: " << Printable(status.message()) << "\n" << ReachingHint(status);
  return CodeFor(status);
}

int RunHelp(const Console& console) {
  *console.out << GeneralHelp();
  return kOk;
}

// A line of flags alone, such as --help or --server=... --version.
int RunWithoutCommand(std::vector<std::string> words, LeadingWords* leading, const Console& console) {
  leading->Read(words);
  if (leading->help_wanted()) return RunHelp(console);
  if (!leading->version_wanted()) return WrongUse("kqctl", "the command is missing", console);
  words.erase(std::remove(words.begin(), words.end(), "--version"), words.end());
  return RunCommand(*FindCommand("version"), words, console);
}

}  // namespace

int RunKqctl(const std::vector<std::string>& words, const Console& console) {
  if (words.empty()) {
    *console.err << GeneralHelp();
    return kUsage;
  }
  LeadingWords leading;
  const size_t lead = leading.Count(words);
  if (lead == words.size()) return RunWithoutCommand(words, &leading, console);
  if (words[lead] == "help") return RunHelp(console);
  const Command* const command = FindCommand(words[lead]);
  if (command == nullptr) return UnknownCommand(words[lead], console);
  std::vector<std::string> rest = words;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(lead));
  return RunCommand(*command, rest, console);
}

}  // namespace kq::kqctl
