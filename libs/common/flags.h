#ifndef LIBS_COMMON_FLAGS_H_
#define LIBS_COMMON_FLAGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace kq {

// The flags of a program, in the form of Kubernetes' programs:
//
//   --name=value   --name value   --switch   --switch=false   -v 2   --   words
//
// One dash or two, `_` is `-`. Everything that is wrong is told at once, not just
// the first, so that a bad start is repaired in one go. A flag given twice: the
// last wins; lists collect.
//
//   Config config;                      // its values are the defaults
//   FlagSet flags("koord-queue", kVersion, "Admits jobs when their quota has room.");
//   flags.Section("Addresses");
//   flags.String("metrics-address", &config.metrics_address, "Where /metrics is served.");
//   flags.Duration("lease-duration", &config.lease_duration, "How long ...");
//   flags.Ignored("enableParentLimit", "it had no effect in the original either");
//   flags.Check([&] { return Validate(config); });
//   if (const std::optional<int> code = flags.ParseOrExitCode(argc, argv)) return *code;
//   for (const std::string& warning : flags.warnings()) KQ_LOG(Warning, warning);
//
// Targets must outlive the Parse; they keep their defaults where a flag is not
// given, and are unspecified after an error. Registering one name twice aborts.
// Not thread-safe; main owns it.
class FlagSet {
 public:
  FlagSet(absl::string_view program, absl::string_view version, absl::string_view summary = "");

  // Heads the flags that follow in --help.
  void Section(absl::string_view title);

  void String(absl::string_view name, std::string* target, absl::string_view help);
  void Bool(absl::string_view name, bool* target, absl::string_view help);
  // A whole number from `lowest` to `highest`; see IntRange.
  struct IntRange {
    int64_t lowest = INT64_MIN;
    int64_t highest = INT64_MAX;
  };
  void Int(absl::string_view name, int64_t* target, absl::string_view help, IntRange range);
  void Int(absl::string_view name, int64_t* target, absl::string_view help) { Int(name, target, help, IntRange()); }
  void Int(absl::string_view name, int* target, absl::string_view help, IntRange range);
  void Int(absl::string_view name, int* target, absl::string_view help) { Int(name, target, help, IntRange()); }
  void Double(absl::string_view name, double* target, absl::string_view help);
  // Go's form ("15s", "1m30s"); not negative.
  void Duration(absl::string_view name, absl::Duration* target, absl::string_view help);
  // "a,b,c". The first use replaces the default, further uses add.
  void StringList(absl::string_view name, std::vector<std::string>* target, absl::string_view help);
  // "A=true,B=false", as --feature-gates. Only the keys that `target` has are known.
  void BoolMap(absl::string_view name, std::map<std::string, bool>* target, absl::string_view help);
  // Any other type: `parse` takes the text and says what is wrong with it.
  void Custom(absl::string_view name, std::function<absl::Status(absl::string_view)> parse,
              absl::string_view default_text, absl::string_view help);
  // -v and --v: more log with higher numbers.
  void Verbosity(int* target);

  // `other` is a second name of the flag `name`; with a reason it is deprecated
  // and its use is a warning.
  void Alias(absl::string_view other, absl::string_view name, absl::string_view deprecated_because = "");
  // Accepted so that manifests of the original go on working, without effect; its
  // use is a warning with the reason. IgnoredSwitch takes no value word.
  void Ignored(absl::string_view name, absl::string_view why);
  void IgnoredSwitch(absl::string_view name, absl::string_view why);

  // Names the words that are not flags, for --help ("NAMESPACE/NAME"). Without
  // it such words are errors.
  void Positional(absl::string_view usage);
  // Runs after the flags are parsed; its error is listed with the others.
  void Check(std::function<absl::Status()> check);

  // The positional words. kInvalidArgument with one line per error. Does not ask
  // for --help and --version: see help_wanted() and version_wanted().
  absl::StatusOr<std::vector<std::string>> Parse(int argc, const char* const* argv);
  absl::StatusOr<std::vector<std::string>> Parse(const std::vector<std::string>& words);

  // For main: Parse, print what is to be printed, and the exit code if the
  // program is to end: 0 after --help and --version (on stdout), 2 after errors (on
  // stderr). nullopt: go on.
  std::optional<int> ParseOrExitCode(int argc, const char* const* argv);

  // How many of the words, from the first on, are flags and their values: what
  // stands before a command's name. Unknown flags count as without a value.
  size_t LeadingFlags(const std::vector<std::string>& words) const;

  const std::vector<std::string>& positional() const { return positional_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  bool help_wanted() const { return help_wanted_; }
  bool version_wanted() const { return version_wanted_; }
  // Whether the flag was on the command line (under any of its names).
  bool WasSet(absl::string_view name) const;

  std::string HelpText() const;
  // "koord-queue 0.1.0"
  std::string VersionText() const;

 private:
  enum class Kind { kValue, kSwitch, kIgnored, kIgnoredSwitch };
  struct Flag {
    std::string name;
    std::string help;
    std::string default_text;
    Kind kind = Kind::kValue;
    std::function<absl::Status(absl::string_view)> parse;
    size_t section = 0;  // index into sections_
    bool was_set = false;
  };
  struct Name {
    size_t flag = 0;  // index into flags_
    std::string deprecated_because;
  };

  void Register(Flag flag);
  void AddName(absl::string_view name, Name target);
  // Takes the flag at words[*at], and its value from the next word if need be.
  void ParseFlag(const std::vector<std::string>& words, size_t* at);
  // `typed` is the flag with its dashes, as the user wrote it.
  void Apply(const Name& name, absl::string_view typed, absl::string_view value);
  void Error(std::string problem) { errors_.push_back(std::move(problem)); }
  std::string Suggestion(absl::string_view name) const;

  const std::string program_, version_, summary_;
  std::string positional_usage_;
  std::vector<std::string> sections_;
  std::vector<Flag> flags_;
  std::map<std::string, Name, std::less<>> names_;
  std::vector<std::function<absl::Status()>> checks_;

  std::vector<std::string> positional_, warnings_, errors_;
  bool help_wanted_ = false;
  bool version_wanted_ = false;
};

}  // namespace kq

#endif  // LIBS_COMMON_FLAGS_H_
