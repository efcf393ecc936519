#include "services/debug-api/config.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace kq::debug_api {
namespace {

struct Parsed {
  Config config;
  std::string errors;  // empty: none
};

Parsed Parse(const std::vector<std::string>& words) {
  Parsed parsed;
  FlagSet flags("koord-queue-debug-api", "1");
  RegisterFlags(&flags, &parsed.config);
  const auto rest = flags.Parse(words);
  if (!rest.ok()) parsed.errors = std::string(rest.status().message());
  return parsed;
}

TEST_CASE("by default the documented port is served on loopback, without a warning", "[debug-api]") {
  const Config config = Parse({}).config;
  CHECK(config.address == "127.0.0.1:19876");
  CHECK(config.health_address == kNowhere);
  CHECK(config.scheduler.servers == std::vector<std::string>{"127.0.0.1:10260"});
  CHECK(config.pages.max_picture_age == absl::Seconds(30));
  CHECK(WarningsOf(config).empty());
}

TEST_CASE("beyond loopback without client certificates there is a warning", "[debug-api]") {
  struct Case {
    std::vector<std::string> words;
    std::string want;  // empty: no warning
  };
  const std::string says = " has no authentication: whoever reaches it sees every user's jobs";
  const auto c = GENERATE_REF(values<Case>({
      {{"--bind-address=127.0.0.2:1"}, ""},
      {{"--bind-address=[::1]:1"}, ""},
      {{"--bind-address=:19876"}, "The debug API at :19876" + says + ", in clear text"},
      {{"--bind-address=10.0.0.1:1"}, "The debug API at 10.0.0.1:1" + says + ", in clear text"},
      {{"--bind-address=10.0.0.1:1", "--tls-cert-file=c", "--tls-private-key-file=k"},
       "The debug API at 10.0.0.1:1" + says},
      {{"--bind-address=10.0.0.1:1", "--tls-cert-file=c", "--tls-private-key-file=k", "--client-ca-file=a"}, ""},
  }));
  CAPTURE(c.words);
  const Parsed parsed = Parse(c.words);
  CHECK(parsed.errors == "");
  const std::vector<std::string> warnings = WarningsOf(parsed.config);
  CHECK(warnings == (c.want.empty() ? std::vector<std::string>{} : std::vector<std::string>{c.want}));
}

TEST_CASE("all mistakes are told at once", "[debug-api]") {
  const std::string errors = Parse({"--bind-address=here", "--health-bind-address=there", "--tls-cert-file=c",
                                    "--server=nobody", "--max-picture-age=0s", "--logging-format=xml"})
                                 .errors;
  for (const char* flag : {"--bind-address", "--health-bind-address", "--tls-private-key-file", "--server",
                           "--max-picture-age", "--logging-format"}) {
    CAPTURE(flag);
    CHECK_THAT(errors, Catch::Contains(flag));
  }
  CHECK_THAT(Parse({"--client-ca-file=a"}).errors, Catch::Contains("--client-ca-file needs --tls-cert-file"));
}

}  // namespace
}  // namespace kq::debug_api
