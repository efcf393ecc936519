#include "libs/common/flags.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/common/closest_word.h"
#include "libs/common/time_format.h"

namespace kq {
namespace {

constexpr size_t kMaxWord = 64 * 1024;

absl::Status Wanted(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("is not ", what)); }

// The value in an error message, not too long.
std::string Shown(absl::string_view value) {
  return value.size() <= 64 ? absl::StrCat("\"", value, "\"") : absl::StrCat("\"", value.substr(0, 61), "...\"");
}

std::vector<std::string> SplitList(absl::string_view text) {
  std::vector<std::string> items;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    const absl::string_view trimmed = absl::StripAsciiWhitespace(item);
    if (!trimmed.empty()) items.emplace_back(trimmed);
  }
  return items;
}

// strconv.ParseBool's words.
absl::Status ParseBool(absl::string_view text, bool* value) {
  for (const absl::string_view word :
       {"1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"}) {
    if (text != word) continue;
    *value = absl::string_view("1tT").find(text[0]) != absl::string_view::npos;
    return absl::OkStatus();
  }
  return Wanted("true or false");
}

absl::Status ParseInt(absl::string_view text, FlagSet::IntRange range, int64_t* value) {
  int64_t number;
  if (!absl::SimpleAtoi(text, &number)) return Wanted("a whole number");
  if (number < range.lowest || number > range.highest) {
    if (range.highest == INT64_MAX) return Wanted(absl::StrCat(range.lowest, " or more"));
    return Wanted(absl::StrCat("from ", range.lowest, " to ", range.highest));
  }
  *value = number;
  return absl::OkStatus();
}

std::string BoolMapText(const std::map<std::string, bool>& values) {
  return absl::StrJoin(values, ",", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, "=", entry.second ? "true" : "false");
  });
}

absl::Status ParseBoolMap(absl::string_view text, std::map<std::string, bool>* target) {
  for (const std::string& item : SplitList(text)) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(item, absl::MaxSplits('=', 1));
    const auto known = target->find(std::string(parts.first));
    if (known == target->end()) {
      return absl::InvalidArgumentError(absl::StrCat("names the unknown ", Shown(parts.first)));
    }
    if (const absl::Status status = ParseBool(parts.second, &known->second); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("has a value for ", parts.first, " that ", status.message()));
    }
  }
  return absl::OkStatus();
}

// `text` in lines of at most `width` letters, each after `indent`.
std::string Wrapped(absl::string_view text, absl::string_view indent, size_t width) {
  std::string out, line;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      absl::StrAppend(&out, indent, std::exchange(line, {}), "\n");
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  if (!line.empty()) absl::StrAppend(&out, indent, line, "\n");
  return out;
}

}  // namespace

FlagSet::FlagSet(absl::string_view program, absl::string_view version, absl::string_view summary)
    : program_(program), version_(version), summary_(summary), sections_{""} {
  Flag help{.name = "help", .help = "Shows this text.", .default_text = "", .kind = Kind::kSwitch, .parse = {}};
  help.parse = [this](absl::string_view text) { return ParseBool(text, &help_wanted_); };
  Register(std::move(help));
  Alias("h", "help");
  Flag show{.name = "version", .help = "Shows the version.", .default_text = "", .kind = Kind::kSwitch, .parse = {}};
  show.parse = [this](absl::string_view text) { return ParseBool(text, &version_wanted_); };
  Register(std::move(show));
}

void FlagSet::Section(absl::string_view title) { sections_.emplace_back(title); }

void FlagSet::String(absl::string_view name, std::string* target, absl::string_view help) {
  const auto parse = [target](absl::string_view text) {
    *target = std::string(text);
    return absl::OkStatus();
  };
  Custom(name, parse, *target, help);
}

void FlagSet::Bool(absl::string_view name, bool* target, absl::string_view help) {
  Flag flag{.name = std::string(name),
            .help = std::string(help),
            .default_text = *target ? "true" : "false",
            .kind = Kind::kSwitch,
            .parse = [target](absl::string_view text) { return ParseBool(text, target); }};
  Register(std::move(flag));
}

void FlagSet::Int(absl::string_view name, int64_t* target, absl::string_view help, IntRange range) {
  Custom(
      name, [target, range](absl::string_view text) { return ParseInt(text, range, target); }, absl::StrCat(*target),
      help);
}

void FlagSet::Int(absl::string_view name, int* target, absl::string_view help, IntRange range) {
  range.lowest = std::max<int64_t>(range.lowest, std::numeric_limits<int>::min());
  range.highest = std::min<int64_t>(range.highest, std::numeric_limits<int>::max());
  const auto parse = [target, range](absl::string_view text) {
    int64_t number = *target;
    absl::Status status = ParseInt(text, range, &number);
    *target = static_cast<int>(number);
    return status;
  };
  Custom(name, parse, absl::StrCat(*target), help);
}

void FlagSet::Double(absl::string_view name, double* target, absl::string_view help) {
  const auto parse = [target](absl::string_view text) {
    double number;
    if (!absl::SimpleAtod(text, &number) || !std::isfinite(number)) return Wanted("a number");
    *target = number;
    return absl::OkStatus();
  };
  Custom(name, parse, absl::StrCat(*target), help);
}

void FlagSet::Duration(absl::string_view name, absl::Duration* target, absl::string_view help) {
  const auto parse = [target](absl::string_view text) {
    const absl::StatusOr<absl::Duration> duration = ParseDuration(text);
    if (!duration.ok() || *duration < absl::ZeroDuration()) return Wanted("a duration, such as 300ms, 15s or 1m30s");
    *target = *duration;
    return absl::OkStatus();
  };
  Custom(name, parse, DurationText(*target), help);
}

void FlagSet::StringList(absl::string_view name, std::vector<std::string>* target, absl::string_view help) {
  const auto parse = [target, first = true](absl::string_view text) mutable {
    if (std::exchange(first, false)) target->clear();
    for (std::string& item : SplitList(text)) target->push_back(std::move(item));
    return absl::OkStatus();
  };
  Custom(name, parse, absl::StrJoin(*target, ","), help);
}

void FlagSet::BoolMap(absl::string_view name, std::map<std::string, bool>* target, absl::string_view help) {
  Custom(
      name, [target](absl::string_view text) { return ParseBoolMap(text, target); }, BoolMapText(*target), help);
}

void FlagSet::Custom(absl::string_view name, std::function<absl::Status(absl::string_view)> parse,
                     absl::string_view default_text, absl::string_view help) {
  Register({.name = std::string(name),
            .help = std::string(help),
            .default_text = std::string(default_text),
            .kind = Kind::kValue,
            .parse = std::move(parse)});
}

void FlagSet::Verbosity(int* target) {
  Int("v", target, "Log verbosity; higher numbers tell more.", {.lowest = 0, .highest = 10});
}

void FlagSet::Alias(absl::string_view other, absl::string_view name, absl::string_view deprecated_because) {
  const auto known = names_.find(absl::StrReplaceAll(name, {{"_", "-"}}));
  if (known == names_.end()) {
    std::fprintf(stderr, "flag --%s: alias of an unknown flag\n", std::string(other).c_str());
    std::abort();
  }
  AddName(other, {.flag = known->second.flag, .deprecated_because = std::string(deprecated_because)});
}

void FlagSet::Ignored(absl::string_view name, absl::string_view why) {
  Register(
      {.name = std::string(name), .help = std::string(why), .default_text = "", .kind = Kind::kIgnored, .parse = {}});
}

void FlagSet::IgnoredSwitch(absl::string_view name, absl::string_view why) {
  Register({.name = std::string(name),
            .help = std::string(why),
            .default_text = "",
            .kind = Kind::kIgnoredSwitch,
            .parse = {}});
}

void FlagSet::Positional(absl::string_view usage) { positional_usage_ = std::string(usage); }
void FlagSet::Check(std::function<absl::Status()> check) { checks_.push_back(std::move(check)); }

void FlagSet::Register(Flag flag) {
  flag.section = sections_.size() - 1;
  AddName(flag.name, {.flag = flags_.size(), .deprecated_because = ""});
  flags_.push_back(std::move(flag));
}

void FlagSet::AddName(absl::string_view name, Name target) {
  if (!names_.emplace(absl::StrReplaceAll(name, {{"_", "-"}}), std::move(target)).second) {
    std::fprintf(stderr, "flag --%s is registered twice\n", std::string(name).c_str());
    std::abort();
  }
}

absl::StatusOr<std::vector<std::string>> FlagSet::Parse(int argc, const char* const* argv) {
  return Parse(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

absl::StatusOr<std::vector<std::string>> FlagSet::Parse(const std::vector<std::string>& words) {
  bool flags_ended = false;
  for (size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (!flags_ended && word == "--") {
      flags_ended = true;
    } else if (!flags_ended && word.size() > 1 && word[0] == '-') {
      ParseFlag(words, &at);
    } else if (positional_usage_.empty()) {
      Error(absl::StrCat("unexpected word ", Shown(word), " (a switch takes its value as --name=false)"));
    } else {
      positional_.push_back(word);
    }
  }
  // Also after errors: a flag that could not be read has kept its default.
  if (!help_wanted_ && !version_wanted_) {
    for (const auto& check : checks_) {
      if (const absl::Status status = check(); !status.ok()) Error(std::string(status.message()));
    }
  }
  if (!errors_.empty()) return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
  return positional_;
}

void FlagSet::ParseFlag(const std::vector<std::string>& words, size_t* at) {
  const absl::string_view word = words[*at];
  if (word.size() > kMaxWord) return Error(absl::StrCat("a flag of ", word.size(), " bytes: ", Shown(word)));
  absl::string_view spelled = word;
  for (int dashes = 0; dashes < 2; ++dashes) absl::ConsumePrefix(&spelled, "-");
  const size_t equals = spelled.find('=');
  const bool has_value = equals != absl::string_view::npos;
  absl::string_view value = has_value ? spelled.substr(equals + 1) : "";
  spelled = spelled.substr(0, equals);
  const absl::string_view typed = word.substr(0, std::min(word.find('='), word.size()));

  const auto known = names_.find(absl::StrReplaceAll(spelled, {{"_", "-"}}));
  if (known == names_.end()) return Error(absl::StrCat("unknown flag ", typed.substr(0, 66), Suggestion(spelled)));
  const Kind kind = flags_[known->second.flag].kind;
  if (!has_value) {
    if (kind == Kind::kSwitch || kind == Kind::kIgnoredSwitch) {
      value = "true";
    } else if (*at + 1 < words.size()) {
      value = words[++*at];
    } else {
      return Error(absl::StrCat("flag ", typed, " needs a value"));
    }
  }
  Apply(known->second, typed, value);
}

size_t FlagSet::LeadingFlags(const std::vector<std::string>& words) const {
  size_t at = 0;
  while (at < words.size() && words[at].size() > 1 && words[at][0] == '-' && words[at] != "--") {
    absl::string_view spelled = words[at++];
    for (int dashes = 0; dashes < 2; ++dashes) absl::ConsumePrefix(&spelled, "-");
    const auto known = names_.find(absl::StrReplaceAll(spelled, {{"_", "-"}}));  // none with a "=" in it
    if (known == names_.end()) continue;
    const Kind kind = flags_[known->second.flag].kind;
    const bool takes_word = kind == Kind::kValue || kind == Kind::kIgnored;
    if (takes_word && at < words.size()) ++at;
  }
  return at;
}

void FlagSet::Apply(const Name& name, absl::string_view typed, absl::string_view value) {
  Flag& flag = flags_[name.flag];
  flag.was_set = true;
  if (!name.deprecated_because.empty()) {
    warnings_.push_back(absl::StrCat("flag ", typed, " is deprecated: ", name.deprecated_because));
  }
  if (flag.kind == Kind::kIgnored || flag.kind == Kind::kIgnoredSwitch) {
    warnings_.push_back(absl::StrCat("flag ", typed, " has no effect: ", flag.help));
    return;
  }
  if (const absl::Status status = flag.parse(value); !status.ok()) {
    Error(absl::StrCat("flag ", typed, ": ", Shown(value), " ", status.message()));
  }
}

std::string FlagSet::Suggestion(absl::string_view name) const {
  std::vector<std::string> known;
  for (const auto& [spelled, target] : names_) known.push_back(spelled);
  const std::string found = ClosestWord(name, known);
  return found.empty() ? "" : absl::StrCat("; did you mean ", found.size() == 1 ? "-" : "--", found, "?");
}

std::optional<int> FlagSet::ParseOrExitCode(int argc, const char* const* argv) {
  const absl::Status status = Parse(argc, argv).status();
  if (help_wanted_ || version_wanted_) {
    std::fputs(help_wanted_ ? HelpText().c_str() : absl::StrCat(VersionText(), "\n").c_str(), stdout);
    return 0;
  }
  if (status.ok()) return std::nullopt;
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    std::fputs(absl::StrCat(program_, ": ", line, "\n").c_str(), stderr);
  }
  std::fputs(absl::StrCat("See ", program_, " --help\n").c_str(), stderr);
  return 2;
}

bool FlagSet::WasSet(absl::string_view name) const {
  const auto known = names_.find(absl::StrReplaceAll(name, {{"_", "-"}}));
  return known != names_.end() && flags_[known->second.flag].was_set;
}

std::string FlagSet::VersionText() const { return absl::StrCat(program_, " ", version_); }

std::string FlagSet::HelpText() const {
  std::string out =
      absl::StrCat("Usage: ", program_, " [flags]", positional_usage_.empty() ? "" : " ", positional_usage_, "\n");
  if (!summary_.empty()) absl::StrAppend(&out, "\n", Wrapped(summary_, "", 100));
  // The flags every program has come last.
  for (size_t i = 1; i <= sections_.size(); ++i) {
    const size_t section = i % sections_.size();
    std::string flags;
    for (const Flag& flag : flags_) {
      if (flag.section != section || flag.kind == Kind::kIgnored || flag.kind == Kind::kIgnoredSwitch) continue;
      const bool is_switch = flag.kind == Kind::kSwitch;
      absl::StrAppend(&flags, flag.name.size() == 1 ? "  -" : "  --", flag.name, is_switch ? "" : " VALUE");
      if (!flag.default_text.empty()) absl::StrAppend(&flags, "  (default ", flag.default_text, ")");
      absl::StrAppend(&flags, "\n", Wrapped(flag.help, "      ", 94));
    }
    if (flags.empty()) continue;
    absl::StrAppend(&out, "\n", sections_[section].empty() ? "General" : sections_[section], ":\n", flags);
  }
  std::string ignored;
  for (const Flag& flag : flags_) {
    if (flag.kind == Kind::kIgnored || flag.kind == Kind::kIgnoredSwitch) {
      absl::StrAppend(&ignored, ignored.empty() ? "" : ", ", "--", flag.name);
    }
  }
  if (!ignored.empty()) absl::StrAppend(&out, "\nAccepted without effect:\n", Wrapped(ignored, "  ", 98));
  return out;
}

}  // namespace kq
