#include "cli/kqctl/commands.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/kqctl/completion.h"
#include "cli/kqctl/printing.h"
#include "cli/kqctl/quota_tree.h"
#include "cli/kqctl/views.h"
#include "libs/common/json.h"
#include "libs/common/status_macros.h"
#include "libs/common/version.h"
#include "libs/common/yaml.h"
#include "libs/scheduler_client/client.h"
#include "libs/scheduler_client/connection_options.h"

namespace kq::kqctl {
namespace {

namespace v1 = queueing::v1;
using Words = std::vector<std::string>;

// A stream that broke is opened again; between two tries, and between two
// pictures on the screen, there is so much time at least.
constexpr absl::Duration kBetweenTries = absl::Milliseconds(500);

absl::Status PrintMachine(const google::protobuf::Message& message, Output output, const Console& console) {
  KQ_ASSIGN_OR_RETURN(const std::string text, MachineText(message, output));
  *console.out << text;
  return absl::OkStatus();
}

// Calls `show` now and after each change, also across the change of a leader, until
// no leader is found within the timeout.
absl::Status ShowForEver(const Options& options, const Console& console,
                         const std::function<absl::Status(SchedulerClient*)>& show) {
  absl::Time reached = console.clock->TimeNow();
  while (true) {
    absl::StatusOr<std::unique_ptr<SchedulerClient>> client = SchedulerClient::Connect(options.connection);
    absl::Status status = client.status();
    if (client.ok()) {
      status = (*client)->Watch([&]() -> absl::Status {
        KQ_RETURN_IF_ERROR(show(client->get()));
        console.clock->SleepFor(kBetweenTries);
        reached = console.clock->TimeNow();
        return absl::OkStatus();
      });
    }
    if (!IsUnreachable(status)) return status;
    if (console.clock->TimeNow() - reached >= options.connection.timeout) return status;
    *console.err << "kqctl: " << status.message() << "; trying again\n";
    console.clock->SleepFor(kBetweenTries);
  }
}

absl::StatusOr<v1::Snapshot> Overview(SchedulerClient* client) {
  v1::GetSnapshotRequest request;
  request.set_without_units(true);
  return client->Snapshot(request);
}

// Shows a message as one of a series, for scripts.
absl::Status ShowMachine(const google::protobuf::Message& message, Output output, Redraw* redraw) {
  if (output == Output::kJson) {
    redraw->ShowText(OneLineJson(message) + "\n");
    return absl::OkStatus();
  }
  KQ_ASSIGN_OR_RETURN(const std::string text, MachineText(message, output));
  redraw->ShowText("---\n" + text);
  return absl::OkStatus();
}

absl::Status RunQueues(const Options& options, const Words&, const Console& console) {
  if (options.watch) {
    Redraw redraw(console);
    return ShowForEver(options, console, [&](SchedulerClient* client) -> absl::Status {
      KQ_ASSIGN_OR_RETURN(v1::Snapshot snapshot, Overview(client));
      snapshot.clear_id();  // every picture has another one
      snapshot.clear_quotas();
      if (options.output != Output::kTable) return ShowMachine(snapshot, options.output, &redraw);
      redraw.Show(QueuesTable(snapshot), {.key_columns = 1, .volatile_column = {}, .state_column = 1}, "");
      return absl::OkStatus();
    });
  }
  KQ_ASSIGN_OR_RETURN(const std::unique_ptr<SchedulerClient> client, SchedulerClient::Connect(options.connection));
  KQ_ASSIGN_OR_RETURN(v1::Snapshot snapshot, Overview(client.get()));
  if (options.output == Output::kTable) {
    *console.out << QueuesTable(snapshot).Text(console.columns);
    return absl::OkStatus();
  }
  snapshot.clear_quotas();
  return PrintMachine(snapshot, options.output, console);
}

v1::ListUnitsRequest UnitsRequest(const UnitOptions& options) {
  v1::ListUnitsRequest request;
  request.set_queue(options.queue);
  request.set_quota(options.quota);
  request.set_below(!options.quota.empty());
  request.set_namespace_(options.ns);
  request.set_phase(options.phase);
  request.set_limit(options.limit);
  request.set_offset(options.offset);
  return request;
}

// What a page leaves out; empty if it is all.
std::string PageFooter(const v1::ListUnitsResponse& page, int64_t offset) {
  if (page.remaining() == 0) return "";
  return absl::StrCat(page.units_size(), " of ", page.total(),
                      " units; the next ones: --offset=", offset + page.units_size(), "\n");
}

absl::Status RunUnits(const Options& options, const Words&, const Console& console) {
  const v1::ListUnitsRequest request = UnitsRequest(options.units);
  if (options.watch) {
    Redraw redraw(console);
    // Namespace and name, the age, and the place.
    const Redraw::Columns columns{.key_columns = 2, .volatile_column = 7, .state_column = 4};
    return ShowForEver(options, console, [&](SchedulerClient* client) -> absl::Status {
      KQ_ASSIGN_OR_RETURN(v1::ListUnitsResponse page, client->ListUnits(request));
      if (options.output == Output::kTable) {
        redraw.Show(UnitsTable(page.units(), console.clock->TimeNow()), columns, PageFooter(page, request.offset()));
        return absl::OkStatus();
      }
      page.clear_id();  // every picture has another one
      return ShowMachine(page, options.output, &redraw);
    });
  }
  KQ_ASSIGN_OR_RETURN(const std::unique_ptr<SchedulerClient> client, SchedulerClient::Connect(options.connection));
  KQ_ASSIGN_OR_RETURN(const v1::ListUnitsResponse page, client->ListUnits(request));
  if (options.output != Output::kTable) return PrintMachine(page, options.output, console);
  *console.out << UnitsTable(page.units(), console.clock->TimeNow()).Text(console.columns);
  *console.err << PageFooter(page, request.offset());
  return absl::OkStatus();
}

absl::Status RunQuotas(const Options& options, const Words&, const Console& console) {
  KQ_ASSIGN_OR_RETURN(const std::unique_ptr<SchedulerClient> client, SchedulerClient::Connect(options.connection));
  KQ_ASSIGN_OR_RETURN(v1::Snapshot snapshot, Overview(client.get()));
  if (options.output == Output::kTable) {
    *console.out << QuotaTreeText(snapshot, console.unicode ? Glyphs::kUnicode : Glyphs::kAscii);
    return absl::OkStatus();
  }
  snapshot.clear_queues();
  return PrintMachine(snapshot, options.output, console);
}

// A unit as the command line names it.
struct NamedUnit {
  std::string ns, name;
  bool anywhere = false;  // nobody said in which namespace; `ns` is a guess

  std::string Text() const { return absl::StrCat(ns, "/", name); }
  // For an answer without the unit: where it was looked for, if that was a guess.
  std::string Where() const {
    return anywhere ? absl::StrCat("; looked in namespace ", ns, ": give NAMESPACE/NAME or -n NAMESPACE") : "";
  }
};

// NS/NAME, or NAME in the namespace of --namespace.
absl::StatusOr<NamedUnit> UnitNamed(const std::string& word, const std::string& ns) {
  const std::vector<std::string> parts = absl::StrSplit(word, '/');
  if (parts.size() == 1 && !word.empty()) return NamedUnit{ns.empty() ? "default" : ns, word, ns.empty()};
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", word, "\" is not NAMESPACE/NAME"));
  }
  return NamedUnit{parts[0], parts[1]};
}

absl::Status RunExplain(const Options& options, const Words& words, const Console& console) {
  KQ_ASSIGN_OR_RETURN(const NamedUnit unit, UnitNamed(words[0], options.ns));
  v1::ExplainRequest request;
  request.set_namespace_(unit.ns);
  request.set_name(unit.name);
  KQ_ASSIGN_OR_RETURN(const std::unique_ptr<SchedulerClient> client, SchedulerClient::Connect(options.connection));
  const absl::StatusOr<v1::Explanation> explanation = client->Explain(request);
  if (absl::IsNotFound(explanation.status())) {
    return absl::NotFoundError(absl::StrCat(
        explanation.status().message(), unit.Where(), ". It may have finished: kubectl get queueunit ", unit.name,
        " -n ", unit.ns, " -o wide shows its phase, kqctl decisions ", unit.Text(),
        " what was decided; see also kubectl -n ", unit.ns, " get events --field-selector involvedObject.name=",
        unit.name, "; or the Job is not suspended, or has no label quota.scheduling.koordinator.sh/name: kubectl -n ",
        unit.ns, " get job ", unit.name, " --show-labels"));
  }
  if (!explanation.ok()) return explanation.status();
  if (options.output != Output::kTable) return PrintMachine(*explanation, options.output, console);
  *console.out << ExplanationText(*explanation, console.clock->TimeNow());
  return absl::OkStatus();
}

absl::Status RunDecisions(const Options& options, const Words& words, const Console& console) {
  v1::DecisionsRequest request;
  request.set_limit(options.decisions_limit);
  std::string none = "no decisions are kept in memory";
  if (!words.empty()) {
    KQ_ASSIGN_OR_RETURN(const NamedUnit unit, UnitNamed(words[0], options.ns));
    request.set_namespace_(unit.ns);
    request.set_name(unit.name);
    none = absl::StrCat("no decisions about ", unit.Text(), " are kept in memory", unit.Where());
  }
  KQ_ASSIGN_OR_RETURN(const std::unique_ptr<SchedulerClient> client, SchedulerClient::Connect(options.connection));
  KQ_ASSIGN_OR_RETURN(const v1::DecisionsResponse response, client->Decisions(request));
  if (options.output != Output::kTable) return PrintMachine(response, options.output, console);
  *console.out << DecisionsTable(response).Text(console.columns);
  if (response.decisions_size() == 0) *console.err << none << "\n";
  if (response.dropped() > 0) {
    *console.err << response.dropped() << " older decisions are no longer kept in memory\n";
  }
  return absl::OkStatus();
}

absl::Status RunSnapshot(const Options& options, const Words&, const Console& console) {
  v1::GetSnapshotRequest request;
  request.set_without_units(options.without_units || options.output == Output::kTable);
  KQ_ASSIGN_OR_RETURN(const std::unique_ptr<SchedulerClient> client, SchedulerClient::Connect(options.connection));
  KQ_ASSIGN_OR_RETURN(const v1::Snapshot snapshot, client->Snapshot(request));
  if (options.output != Output::kTable) return PrintMachine(snapshot, options.output, console);
  *console.out << SnapshotSummary(snapshot, console.clock->TimeNow()) << "\n"
               << QueuesTable(snapshot).Text(console.columns) << "\n"
               << QuotaTreeText(snapshot, console.unicode ? Glyphs::kUnicode : Glyphs::kAscii);
  return absl::OkStatus();
}

absl::Status RunVersion(const Options& options, const Words&, const Console& console) {
  const std::string version(kVersion), commit(GitCommit());
  const Json json = JsonObject{{"version", version}, {"commit", commit}};
  switch (options.output) {
    case Output::kTable:
      *console.out << "kqctl " << version << " (commit " << commit << ")\n";
      break;
    case Output::kJson:
      *console.out << PrettyJsonText(json) << "\n";
      break;
    case Output::kYaml:
      *console.out << YamlText(json);
      break;
  }
  return absl::OkStatus();
}

absl::Status RunCompletion(const Options&, const Words& words, const Console& console) {
  KQ_ASSIGN_OR_RETURN(const std::string script, CompletionScript(words[0]));
  *console.out << script;
  return absl::OkStatus();
}

void AddReadFlags(Options* options, FlagSet* flags) {
  AddOutputFlag(&options->output, flags);
  AddConnectionFlags(&options->connection, flags);
}

void AddNamespaceFlag(Options* options, FlagSet* flags) {
  flags->String("namespace", &options->ns, "Of a unit that is named without one; default if none is given. Short: -n.");
  flags->Alias("n", "namespace");
}

void QueuesFlags(Options* options, FlagSet* flags) {
  AddOutputFlag(&options->output, flags);
  AddWatchFlag(&options->watch, flags);
  AddConnectionFlags(&options->connection, flags);
}

void UnitsFlags(Options* options, FlagSet* flags) {
  AddUnitFlags(&options->units, flags);
  QueuesFlags(options, flags);
}

void ExplainFlags(Options* options, FlagSet* flags) {
  flags->Section("Which unit");
  AddNamespaceFlag(options, flags);
  AddReadFlags(options, flags);
}

void DecisionsFlags(Options* options, FlagSet* flags) {
  flags->Section("Which decisions");
  AddNamespaceFlag(options, flags);
  flags->Int("limit", &options->decisions_limit, "The newest so many; 0 means all that the scheduler keeps in memory.",
             {0, INT64_MAX});
  AddReadFlags(options, flags);
}

void SnapshotFlags(Options* options, FlagSet* flags) {
  AddOutputFlag(&options->output, flags);
  flags->Bool("without-units", &options->without_units, "In json and yaml: only counts and sums, no units.");
  AddConnectionFlags(&options->connection, flags);
}

// For a command that asks no scheduler: a shell's alias may give these to every command.
void IgnoreConnectionFlags(FlagSet* flags) {
  for (const absl::string_view name : {"server", "timeout", "ca-file", "cert-file", "key-file", "server-name"}) {
    flags->Ignored(name, "no scheduler is asked");
  }
}

void VersionFlags(Options* options, FlagSet* flags) {
  AddOutputFlag(&options->output, flags);
  IgnoreConnectionFlags(flags);
}

void CompletionFlags(Options*, FlagSet* flags) { IgnoreConnectionFlags(flags); }

}  // namespace

const std::vector<Command>& Commands() {
  static const auto* const kCommands = new std::vector<Command>{
      {"queues", "", 0, 0, "Shows the queues in the order in which they are tried.", QueuesFlags, RunQueues},
      {"units", "", 0, 0,
       "Lists queue units that are not finished: those that wait, in order, and those that hold quota.", UnitsFlags,
       RunUnits},
      {"quotas", "", 0, 0, "Shows the quota tree: what is used of min and max, per resource.", AddReadFlags, RunQuotas},
      {"explain", "NAMESPACE/NAME", 1, 1,
       "Explains why a unit waits: its position, what is short by how much at which quota, and what would end the "
       "wait.",
       ExplainFlags, RunExplain},
      {"decisions", "[NAMESPACE/NAME]", 0, 1,
       "Lists the scheduler's newest decisions, oldest first; all or those about one unit.", DecisionsFlags,
       RunDecisions},
      {"snapshot", "", 0, 0, "Shows everything that the scheduler shows; with -o json or yaml in full.", SnapshotFlags,
       RunSnapshot},
      {"version", "", 0, 0, "Shows the version of this program.", VersionFlags, RunVersion},
      {"completion", "bash|zsh|fish", 1, 1, "Prints a script that completes command lines of kqctl in your shell.",
       CompletionFlags, RunCompletion},
  };
  return *kCommands;
}

std::unique_ptr<FlagSet> FlagsOf(const Command& command, Options* options) {
  auto flags = std::make_unique<FlagSet>(absl::StrCat("kqctl ", command.name), kVersion, command.summary);
  if (!command.words.empty()) flags->Positional(command.words);
  command.add_flags(options, flags.get());
  return flags;
}

}  // namespace kq::kqctl
