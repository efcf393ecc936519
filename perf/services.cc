#include "perf/services.h"

#include <signal.h>

#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "e2e/support/test_cluster.h"

namespace kq::perf {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

e2e::ChildProcess Start(std::vector<std::string> command, const std::vector<std::string>& more,
                        const std::string& log) {
  command.insert(command.end(), more.begin(), more.end());
  auto child = e2e::ChildProcess::Start(command, log);
  if (!child.ok()) throw std::runtime_error(child.status().ToString());
  return *std::move(child);
}

void StopOne(std::optional<e2e::ChildProcess>* child) {
  if (!child->has_value()) return;
  (*child)->Signal(SIGTERM);
  const auto code = (*child)->Wait(kPatience);
  child->reset();
  if (!code.ok() || *code != 0) throw std::runtime_error("a service did not end well; see its log");
}

}  // namespace

void Services::StartScheduler(const std::vector<std::string>& more) {
  grpc_port_ = e2e::FreePort();
  scheduler_ = Start({options_.scheduler, absl::StrCat("--kubeconfig=", options_.kubeconfig),
                      absl::StrCat("--lease-namespace=", options_.lease_namespace),
                      absl::StrCat("--grpc-bind-address=127.0.0.1:", grpc_port_), "--metrics-bind-address=127.0.0.1:0"},
                     more, absl::StrCat(options_.log_folder, "/koord-queue.log"));
}

void Services::StartControllers(const std::vector<std::string>& more) {
  controllers_ = Start({options_.controllers, absl::StrCat("--kubeconfig=", options_.kubeconfig),
                        "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0"},
                       more, absl::StrCat(options_.log_folder, "/koord-queue-controllers.log"));
}

void Services::Stop() {
  StopOne(&controllers_);
  StopOne(&scheduler_);
}

void Services::AddTo(Processes* processes) const {
  if (scheduler_.has_value()) processes->Add("koord-queue", scheduler_->pid());
  if (controllers_.has_value()) processes->Add("koord-queue-controllers", controllers_->pid());
}

}  // namespace kq::perf
