#include "libs/common/flags.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

namespace kq {
namespace {

using Words = std::vector<std::string>;

struct Settings {
  std::string name = "team";
  bool enabled = false;
  bool on = true;
  int workers = 20;
  int64_t limit = 5;
  double rate = 1.5;
  absl::Duration period = absl::Seconds(90);
  std::vector<std::string> kinds = {"job"};
  std::map<std::string, bool> gates = {{"ElasticQuota", true}, {"QueueUnitActive", false}};
  int verbosity = 0;
};

FlagSet Flags(Settings* s) {
  FlagSet flags("koord-queue", "0.1.0", "Admits jobs when their quota has room.");
  flags.Verbosity(&s->verbosity);
  flags.Section("Work");
  flags.String("name", &s->name, "The name.");
  flags.Bool("enabled", &s->enabled, "Whether it is enabled.");
  flags.Bool("on", &s->on, "Whether it is on.");
  flags.Int("workers", &s->workers, "How many.", {.lowest = 1, .highest = 100});
  flags.Int("limit", &s->limit, "At most.", {.lowest = 0});
  flags.Double("rate", &s->rate, "How fast.");
  flags.Section("Time and kinds");
  flags.Duration("re-sync_period", &s->period, "How often.");
  flags.StringList("kinds", &s->kinds, "Which kinds.");
  flags.BoolMap("feature-gates", &s->gates, "Which gates.");
  flags.Alias("default-requeue-period", "re-sync-period", "use --re-sync-period");
  flags.Ignored("enableParentLimit", "it had no effect before either");
  flags.IgnoredSwitch("logtostderr", "logs always go to stderr");
  return flags;
}

// All errors of a command line, one a line.
std::string Problems(const Words& words) {
  Settings settings;
  FlagSet flags = Flags(&settings);
  const absl::Status status = flags.Parse(words).status();
  CHECK((status.ok() || status.code() == absl::StatusCode::kInvalidArgument));
  return std::string(status.message());
}

TEST_CASE("without words everything keeps its default", "[flags]") {
  Settings settings;
  FlagSet flags = Flags(&settings);
  REQUIRE(flags.Parse(Words{}).ok());
  CHECK(settings.name == "team");
  CHECK(settings.on);
  CHECK(settings.kinds == Words{"job"});
  CHECK(settings.period == absl::Seconds(90));
  CHECK_FALSE(flags.WasSet("name"));
}

TEST_CASE("values come after an equals sign or as the next word", "[flags]") {
  Settings settings;
  FlagSet flags = Flags(&settings);
  REQUIRE(flags
              .Parse({"--name=a=b", "--workers", "7", "--limit=0", "--rate", "-2.5", "--re-sync-period=1m30.5s",
                      "--kinds", "job, tfjob,,", "--kinds=mpijob", "--feature-gates=QueueUnitActive=true", "-v", "4"})
              .ok());
  CHECK(settings.name == "a=b");
  CHECK(settings.workers == 7);
  CHECK(settings.limit == 0);
  CHECK(settings.rate == -2.5);
  CHECK(settings.period == absl::Seconds(90.5));
  CHECK(settings.kinds == Words{"job", "tfjob", "mpijob"});
  CHECK(settings.gates == std::map<std::string, bool>{{"ElasticQuota", true}, {"QueueUnitActive", true}});
  CHECK(settings.verbosity == 4);
  CHECK(flags.WasSet("name"));
  CHECK(flags.WasSet("re_sync_period"));
  CHECK_FALSE(flags.WasSet("on"));
  CHECK(flags.warnings().empty());
}

TEST_CASE("an empty value is a value", "[flags]") {
  Settings settings;
  FlagSet flags = Flags(&settings);
  REQUIRE(flags.Parse({"--name=", "--kinds="}).ok());
  CHECK(settings.name.empty());
  CHECK(settings.kinds.empty());
}

TEST_CASE("switches stand alone or take their value after an equals sign", "[flags]") {
  Settings settings;
  FlagSet flags = Flags(&settings);
  REQUIRE(flags.Parse({"--enabled", "--on=false", "--v=2"}).ok());
  CHECK(settings.enabled);
  CHECK_FALSE(settings.on);
  CHECK(settings.verbosity == 2);
  CHECK(Problems({"--enabled", "false"}) == "unexpected word \"false\" (a switch takes its value as --name=false)");
  CHECK(Problems({"--enabled=maybe"}) == "flag --enabled: \"maybe\" is not true or false");
}

TEST_CASE("one dash, underscores and the last of two are accepted", "[flags]") {
  Settings settings;
  FlagSet flags = Flags(&settings);
  REQUIRE(flags.Parse({"-name", "a", "--re_sync_period=1s", "--name", "b"}).ok());
  CHECK(settings.name == "b");
  CHECK(settings.period == absl::Seconds(1));
}

TEST_CASE("every error is told at once", "[flags]") {
  CHECK(Problems({"--workers=0", "--worker=3", "stray", "--limit=-1", "--rate=fast", "--re-sync-period=15",
                  "--feature-gates=Nope=true,ElasticQuota=x", "--workers=99999999999", "--name"}) ==
        "flag --workers: \"0\" is not from 1 to 100\n"
        "unknown flag --worker; did you mean --workers?\n"
        "unexpected word \"stray\" (a switch takes its value as --name=false)\n"
        "flag --limit: \"-1\" is not 0 or more\n"
        "flag --rate: \"fast\" is not a number\n"
        "flag --re-sync-period: \"15\" is not a duration, such as 300ms, 15s or 1m30s\n"
        "flag --feature-gates: \"Nope=true,ElasticQuota=x\" names the unknown \"Nope\"\n"
        "flag --workers: \"99999999999\" is not from 1 to 100\n"
        "flag --name needs a value");
}

TEST_CASE("bad values are refused", "[flags]") {
  CHECK(Problems({"--limit=1.5"}) == "flag --limit: \"1.5\" is not a whole number");
  CHECK(Problems({"--limit="}) == "flag --limit: \"\" is not a whole number");
  CHECK(Problems({"--rate=inf"}) == "flag --rate: \"inf\" is not a number");
  CHECK(Problems({"--re-sync-period=-1s"}) ==
        "flag --re-sync-period: \"-1s\" is not a duration, such as 300ms, 15s or 1m30s");
  CHECK(Problems({"--feature-gates=ElasticQuota"}) ==
        "flag --feature-gates: \"ElasticQuota\" has a value for ElasticQuota that is not true or false");
  CHECK(Problems({"--v=11"}) == "flag --v: \"11\" is not from 0 to 10");
  CHECK(Problems({"---name=x"}) == "unknown flag ---name; did you mean --name?");
  CHECK(Problems({"--="}) == "unknown flag --");
  CHECK(Problems({"--zzz"}) == "unknown flag --zzz");
}

TEST_CASE("a flag is named in errors as it was typed", "[flags]") {
  Settings settings;
  FlagSet flags = Flags(&settings);
  flags.Alias("l", "limit");
  CHECK(flags.Parse({"-x", "-l", "many", "-limit=few", "-h=perhaps", "--worker", "-l"}).status().message() ==
        "unknown flag -x\n"
        "flag -l: \"many\" is not a whole number\n"
        "flag -limit: \"few\" is not a whole number\n"
        "flag -h: \"perhaps\" is not true or false\n"
        "unknown flag --worker; did you mean --workers?\n"
        "flag -l needs a value");
}

TEST_CASE("a long word is not repeated in full", "[flags]") {
  CHECK(Problems({"--limit=" + std::string(1000, 'x')}).size() < 150);
  CHECK(Problems({"--" + std::string(100'000, 'x')}).size() < 150);
}

TEST_CASE("checks across flags are listed too, in one go with other errors", "[flags]") {
  Settings settings;
  FlagSet flags = Flags(&settings);
  flags.Check([&settings]() -> absl::Status {
    if (settings.limit > settings.workers) return absl::InvalidArgumentError("--limit is above --workers");
    return absl::OkStatus();
  });
  CHECK(flags.Parse({"--limit=50"}).status() == absl::InvalidArgumentError("--limit is above --workers"));
  FlagSet again = Flags(&settings);
  again.Check([]() -> absl::Status { return absl::InvalidArgumentError("shown too"); });
  CHECK(again.Parse({"--nonsense"}).status() == absl::InvalidArgumentError("unknown flag --nonsense\nshown too"));
}

TEST_CASE("flags without effect and deprecated names are warned about", "[flags]") {
  Settings settings;
  FlagSet flags = Flags(&settings);
  REQUIRE(flags.Parse({"--enableParentLimit", "true", "--logtostderr", "--default-requeue-period=5s"}).ok());
  CHECK(settings.period == absl::Seconds(5));
  CHECK(flags.warnings() == Words{"flag --enableParentLimit has no effect: it had no effect before either",
                                  "flag --logtostderr has no effect: logs always go to stderr",
                                  "flag --default-requeue-period is deprecated: use --re-sync-period"});
}

TEST_CASE("words that are not flags are taken where the program wants them", "[flags]") {
  bool watch = false;
  FlagSet flags("kqctl units", "0.1.0");
  flags.Bool("watch", &watch, "Goes on.");
  flags.Alias("w", "watch");
  flags.Positional("NAME...");
  const absl::StatusOr<Words> words = flags.Parse({"a", "-w", "-", "--", "--watch=false", "-x"});
  REQUIRE(words.ok());
  CHECK(*words == Words{"a", "-", "--watch=false", "-x"});
  CHECK(flags.positional() == *words);
  CHECK(watch);
}

TEST_CASE("the help shows sections, defaults and what has no effect", "[flags]") {
  Settings settings;
  CHECK(Flags(&settings).HelpText() == R"(Usage: koord-queue [flags]

Admits jobs when their quota has room.

Work:
  --name VALUE  (default team)
      The name.
  --enabled  (default false)
      Whether it is enabled.
  --on  (default true)
      Whether it is on.
  --workers VALUE  (default 20)
      How many.
  --limit VALUE  (default 5)
      At most.
  --rate VALUE  (default 1.5)
      How fast.

Time and kinds:
  --re-sync_period VALUE  (default 1m30s)
      How often.
  --kinds VALUE  (default job)
      Which kinds.
  --feature-gates VALUE  (default ElasticQuota=true,QueueUnitActive=false)
      Which gates.

General:
  --help
      Shows this text.
  --version
      Shows the version.
  -v VALUE  (default 0)
      Log verbosity; higher numbers tell more.

Accepted without effect:
  --enableParentLimit, --logtostderr
)");
}

TEST_CASE("main ends with 0 after help and version and with 2 after errors", "[flags]") {
  struct Case {
    Words words;
    std::optional<int> code;
  };
  const auto c = GENERATE_REF(Catch::Generators::values<Case>({
      {{"--help"}, 0},
      {{"-h", "--nonsense"}, 0},
      {{"--version"}, 0},
      {{"--nonsense"}, 2},
      {{"--name=x"}, std::nullopt},
      {{}, std::nullopt},
  }));
  Settings settings;
  FlagSet flags = Flags(&settings);
  std::vector<const char*> argv = {"/usr/bin/koord-queue"};
  for (const std::string& word : c.words) argv.push_back(word.c_str());
  CHECK(flags.ParseOrExitCode(static_cast<int>(argv.size()), argv.data()) == c.code);
  CHECK(flags.VersionText() == "koord-queue 0.1.0");
}

}  // namespace
}  // namespace kq
