#include "cli/kqctl/completion.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/kqctl/commands.h"

namespace kq::kqctl {
namespace {

// The flags of a command, as its --help lists them ("--queue").
std::vector<std::string> FlagNames(const Command& command) {
  Options options;
  const std::string help = FlagsOf(command, &options)->HelpText();
  std::vector<std::string> names;
  for (absl::string_view line : absl::StrSplit(help, '\n')) {
    if (absl::StartsWith(line, "Accepted without effect")) break;  // of no use to anybody
    if (!absl::ConsumePrefix(&line, "  --")) continue;
    names.push_back(absl::StrCat("--", line.substr(0, line.find(' '))));
  }
  return names;
}

// The fixed words that may follow a command.
std::vector<std::string> WordsOf(const Command& command) {
  if (!absl::StrContains(command.words, "|")) return {};
  return absl::StrSplit(command.words, '|');
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.emplace_back(command.name);
  return names;
}

std::string BashScript() {
  std::string cases;
  for (const Command& command : Commands()) {
    std::vector<std::string> words = FlagNames(command);
    for (const std::string& word : WordsOf(command)) words.push_back(word);
    absl::StrAppend(&cases, "    ", command.name, ") words=\"", absl::StrJoin(words, " "), "\" ;;\n");
  }
  return absl::StrCat(
      "# bash completion for kqctl:  source <(kqctl completion bash)\n"
      "_kqctl() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} words\n"
      "  case ${COMP_WORDS[COMP_CWORD-1]} in\n"
      "    -o|--output) words=\"table json yaml\"; COMPREPLY=($(compgen -W \"$words\" -- \"$current\")); return ;;\n"
      "    --ca-file|--cert-file|--key-file) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
      "  esac\n"
      "  case ${COMP_WORDS[1]} in\n",
      cases, "    *) words=\"", absl::StrJoin(CommandNames(), " "),
      "\" ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}\n"
      "complete -F _kqctl kqctl\n");
}

// For zsh between single quotes and brackets.
std::string ZshText(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}, {":", "\\:"}, {"[", "\\["}, {"]", "\\]"}});
}

std::string ZshScript() {
  std::string commands, cases;
  for (const Command& command : Commands()) {
    absl::StrAppend(&commands, "    '", command.name, ":", ZshText(command.summary), "'\n");
    std::vector<std::string> words = FlagNames(command);
    for (const std::string& word : WordsOf(command)) words.push_back(word);
    absl::StrAppend(&cases, "    ", command.name, ") compadd -- ", absl::StrJoin(words, " "), " ;;\n");
  }
  return absl::StrCat(
      "#compdef kqctl\n"
      "# zsh completion for kqctl:  source <(kqctl completion zsh)\n"
      "_kqctl() {\n"
      "  local -a commands=(\n",
      commands,
      "  )\n"
      "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  case ${words[CURRENT-1]} in\n"
      "    -o|--output) compadd table json yaml; return ;;\n"
      "    --ca-file|--cert-file|--key-file) _files; return ;;\n"
      "  esac\n"
      "  case ${words[2]} in\n",
      cases,
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _kqctl ]; then _kqctl \"$@\"; else compdef _kqctl kqctl; fi\n");
}

std::string FishScript() {
  std::string script = "# fish completion for kqctl:  kqctl completion fish | source\ncomplete -c kqctl -f\n";
  for (const Command& command : Commands()) {
    const std::string summary = absl::StrReplaceAll(command.summary, {{"\\", "\\\\"}, {"'", "\\'"}});
    absl::StrAppend(&script, "complete -c kqctl -n __fish_use_subcommand -a ", command.name, " -d '", summary, "'\n");
    const std::string seen = absl::StrCat("complete -c kqctl -n '__fish_seen_subcommand_from ", command.name, "'");
    for (absl::string_view flag : FlagNames(command)) {
      absl::ConsumePrefix(&flag, "--");
      absl::StrAppend(&script, seen, " -l ", flag);
      if (flag == "output") absl::StrAppend(&script, " -s o -x -a 'table json yaml'");
      if (absl::EndsWith(flag, "-file")) absl::StrAppend(&script, " -r -F");
      absl::StrAppend(&script, "\n");
    }
    for (const std::string& word : WordsOf(command)) absl::StrAppend(&script, seen, " -a ", word, "\n");
  }
  return script;
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(absl::string_view shell) {
  if (shell == "bash") return BashScript();
  if (shell == "zsh") return ZshScript();
  if (shell == "fish") return FishScript();
  return absl::InvalidArgumentError(absl::StrCat("\"", shell, "\" is not bash, zsh or fish"));
}

}  // namespace kq::kqctl
