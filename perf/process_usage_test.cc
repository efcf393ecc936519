#include "perf/process_usage.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace kq::perf {
namespace {

TEST_CASE("a process knows what it used itself", "[perf]") {
  const absl::StatusOr<Usage> usage = UsageOf(getpid());
  REQUIRE(usage.ok());
  CHECK(usage->cpu >= absl::ZeroDuration());
  CHECK(usage->rss_bytes > 100'000);
}

TEST_CASE("a process that is not there is not found", "[perf]") { CHECK(absl::IsNotFound(UsageOf(-1).status())); }

TEST_CASE("a cluster's processes are known by their pid files", "[perf]") {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string state = absl::StrCat(folder == nullptr ? "/tmp" : folder, "/state-", getpid());
  std::filesystem::create_directories(state);
  std::ofstream(state + "/etcd.pid") << getpid() << "\n";
  const Processes processes = Processes::OfCluster(state);
  CHECK(processes.Has("etcd"));
  CHECK_FALSE(processes.Has("kube-apiserver"));
  CHECK(processes.Now().count("etcd") == 1);
}

}  // namespace
}  // namespace kq::perf
