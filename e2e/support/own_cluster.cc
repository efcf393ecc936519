#include "e2e/support/own_cluster.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "e2e/support/test_cluster.h"

namespace kq::e2e {
namespace {

// Whether the process is gone, or waits for its parent to look at it: its ports are free only then. (/proc/PID/exe goes
// earlier, while sockets may still be open.)
bool HasEnded(int pid) {
  const std::string stat = FileText(absl::StrCat("/proc/", pid, "/stat"));
  const size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos || stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X';
}

// cluster/build writes a lock into the folder of the programs, which a test may not,
// and wants to know a home, which a test has not.
std::string WithOwnPrograms(const std::string& folder) {
  const char* programs = std::getenv("CLUSTER_BIN");
  if (programs == nullptr) throw std::runtime_error("CLUSTER_BIN must name the programs of cluster/build");
  std::filesystem::create_directory(folder);
  for (const auto& program : std::filesystem::directory_iterator(programs)) {
    const std::string name = program.path().filename().string();
    if (name != ".lock") std::filesystem::create_symlink(program.path(), absl::StrCat(folder, "/", name));
  }
  return absl::StrCat("HOME=", folder, " CLUSTER_BIN=", folder, " ");
}

std::string Script(const std::string& name) { return std::filesystem::absolute(DataFile("cluster/" + name)).string(); }

}  // namespace

OwnCluster::OwnCluster(const std::string& without) {
  std::string folder = (std::filesystem::temp_directory_path() / "own-cluster-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make " + folder);
  state_ = folder;
  kubeconfig_ = state_ + "/kubeconfig";
  environment_ = absl::StrCat(WithOwnPrograms(state_ + "/bin"), "CLUSTER_WITHOUT='", without, "' ");
  // If this test is killed, its cluster goes too.
  Run(absl::StrCat("setsid bash -c 'while kill -0 ", getpid(), "; do sleep 1; done; exec ", Script("down"),
                   " --delete ", state_, "' >/dev/null 2>&1 </dev/null &"));
  try {
    Up();
  } catch (...) {
    Down();
    throw;
  }
}

OwnCluster::~OwnCluster() { Down(); }

void OwnCluster::Up() const { Run(absl::StrCat(environment_, Script("up"), " ", state_)); }

void OwnCluster::Down() const {
  try {
    Run(absl::StrCat(Script("down"), " --delete ", state_));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
  }
  std::error_code ignored;
  std::filesystem::remove_all(state_, ignored);
}

void OwnCluster::KillApiServer() const {
  int pid = 0;
  const std::string file = state_ + "/kube-apiserver.pid";
  std::string text = FileText(file);
  if (!absl::SimpleAtoi(text, &pid) || pid <= 0) throw std::runtime_error(file + ": no pid");
  if (kill(pid, SIGKILL) != 0) throw std::runtime_error(file + ": no such process");
  // It is not a child of ours, so that it cannot be waited for otherwise.
  if (!Await(absl::Seconds(10), [&] { return HasEnded(pid); })) {
    throw std::runtime_error("the API server survives kill -9");
  }
}

void OwnCluster::StartApiServer() const { Up(); }

}  // namespace kq::e2e
