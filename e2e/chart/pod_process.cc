#include "e2e/chart/pod_process.h"

#include <signal.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "e2e/support/account_kubeconfig.h"
#include "libs/http/http_client.h"

namespace kq::e2e {
namespace {

constexpr char kNamespace[] = "koord-queue";
constexpr absl::Duration kCallTimeout = absl::Seconds(10);
constexpr absl::Duration kStopTimeout = absl::Seconds(10);  // what Kubernetes grants

const KubeResource kDeployments = {"apps", "v1", "deployments"};
const KubeResource kSecrets = {"", "v1", "secrets"};
const KubeResource kConfigMaps = {"", "v1", "configmaps"};

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) Fail(absl::StrCat("cannot write ", path));
}

// The entry of a list that has this name.
const Json& Named(const Json& list, const std::string& name) {
  for (const Json& one : list.as_array()) {
    if (StringAt(one, {"name"}) == name) return one;
  }
  Fail(absl::StrCat("there is no \"", name, "\" in ", JsonText(list)));
}

}  // namespace

PodProcess::PodProcess(TestCluster* cluster, PodProcessOptions options)
    : cluster_(cluster), options_(std::move(options)), ports_(options_.ports) {
  std::string folder = (std::filesystem::temp_directory_path() / "pod-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) Fail(absl::StrCat("cannot make ", folder));
  folder_ = folder;
  const std::string& name = options_.pod.empty() ? options_.deployment : options_.pod;
  log_ = LogFile(absl::StrCat(name, "-", options_.container, folder.substr(folder.rfind('-')), ".log"));
  ReadDeployment();
}

PodProcess::~PodProcess() {
  child_ = nullptr;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void PodProcess::ReadDeployment() {
  const absl::StatusOr<Json> deployment = cluster_->api().Get(kDeployments, {kNamespace, options_.deployment});
  if (!deployment.ok()) Fail(deployment.status().ToString());
  pod_spec_ = deployment->at("spec").at("template").at("spec");
  account_ = StringAt(pod_spec_, {"serviceAccountName"});
  const Json& container = Named(pod_spec_.at("containers"), options_.container);
  if (const Json* mounts = Find(container, {"volumeMounts"})) {
    for (const Json& mount : mounts->as_array()) {
      mounts_[StringAt(mount, {"mountPath"})] = absl::StrCat(folder_, "/", StringAt(mount, {"name"}));
    }
  }
  RefreshVolumes();
  for (const Json& argument : container.at("args").as_array()) {
    arguments_.push_back(Localized(std::string(argument.as_string())));
  }
  const std::string selector = StringAt(*deployment, {"spec", "selector", "matchLabels", "control-plane"});
  const std::string which = options_.pod.empty() ? "" : absl::StrCat(",metadata.name=", options_.pod);
  pod_ = cluster_->Kubectl(absl::StrCat("get pods -n ", kNamespace, " -l control-plane=", selector,
                                        " --field-selector=status.phase=Running", which,
                                        " -o jsonpath='{.items[0].metadata.name}'"));
}

void PodProcess::RefreshVolumes() {
  for (const auto& [mount, folder] : mounts_) MakeVolume(folder.substr(folder_.size() + 1), folder);
}

void PodProcess::MakeVolume(const std::string& volume, const std::string& folder) {
  std::filesystem::create_directory(folder);
  const Json& found = Named(pod_spec_.at("volumes"), volume);
  if (const Json* secret = Find(found, {"secret"})) return MakeFiles(kSecrets, *secret, "secretName", folder);
  if (const Json* config = Find(found, {"configMap"})) return MakeFiles(kConfigMaps, *config, "name", folder);
  if (Find(found, {"emptyDir"}) == nullptr) Fail(absl::StrCat("volume ", JsonText(found)));
}

void PodProcess::MakeFiles(const KubeResource& resource, const Json& source, const char* name,
                           const std::string& folder) {
  const absl::StatusOr<Json> object = cluster_->api().Get(resource, {kNamespace, StringAt(source, {name})});
  if (!object.ok()) Fail(object.status().ToString());
  const std::string version = absl::StrCat("..", ++versions_);
  std::filesystem::create_directory(absl::StrCat(folder, "/", version));
  for (const auto& entry : object->at("data").as_object()) {
    const std::string key(entry.key());
    const std::string value(entry.value().as_string());
    const Json* items = Find(source, {"items"});
    const bool wanted = items == nullptr || absl::StrContains(JsonText(*items), absl::StrCat("\"key\":\"", key, "\""));
    if (!wanted) continue;
    std::string decoded = value;
    if (resource == kSecrets && !absl::Base64Unescape(value, &decoded)) Fail(absl::StrCat(key, ": not base64"));
    WriteText(absl::StrCat(folder, "/", version, "/", key), decoded);
    const std::string link = absl::StrCat(folder, "/", key);
    if (!std::filesystem::is_symlink(link)) std::filesystem::create_symlink("..data/" + key, link);
  }
  std::filesystem::create_symlink(version, folder + "/..new");
  std::filesystem::rename(folder + "/..new", folder + "/..data");
}

std::string PodProcess::Localized(const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos) return argument;
  const std::string flag(absl::StripPrefix(argument.substr(0, equals), "--"));
  const std::string value = argument.substr(equals + 1);
  if (absl::EndsWith(flag, "bind-address")) {
    if (ports_.count(flag) == 0) ports_[flag] = FreePort();
    return absl::StrCat("--", flag, "=127.0.0.1:", ports_[flag]);
  }
  if (flag == "server") return absl::StrCat("--server=", options_.scheduler);
  for (const auto& [mount, folder] : mounts_) {
    if (value == mount || absl::StartsWith(value, mount + "/")) {
      return absl::StrCat("--", flag, "=", folder, value.substr(mount.size()));
    }
  }
  return argument;
}

std::string PodProcess::WriteKubeconfig() const {
  const std::string& source = options_.kubeconfig.empty() ? cluster_->kubeconfig() : options_.kubeconfig;
  std::string path = folder_ + "/kubeconfig";
  WriteAccountKubeconfig(*cluster_, {kNamespace, account_}, source, path);
  return path;
}

void PodProcess::Start() {
  std::vector<std::string> command = {"/usr/bin/env", absl::StrCat("POD_NAME=", pod_),
                                      absl::StrCat("POD_NAMESPACE=", kNamespace), DataFile(options_.program)};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  command.push_back(absl::StrCat("--kubeconfig=", WriteKubeconfig()));
  command.insert(command.end(), options_.flags.begin(), options_.flags.end());
  auto child = ChildProcess::Start(command, log_);
  if (!child.ok()) Fail(child.status().ToString());
  child_ = std::make_unique<ChildProcess>(*std::move(child));
}

bool PodProcess::Running() { return child_ != nullptr && child_->Running(); }

absl::StatusOr<int> PodProcess::Stop() {
  if (child_ == nullptr) return absl::FailedPreconditionError("not started");
  child_->Signal(SIGTERM);
  return child_->Wait(kStopTimeout);
}

void PodProcess::Kill() { child_ = nullptr; }

std::pair<int, std::string> PodProcess::Fetch(const std::string& flag, const std::string& path) const {
  HttpClientOptions options;
  options.url = absl::StrCat("http://127.0.0.1:", Port(flag));
  const auto client = NewHttpClient(options);
  if (!client.ok()) Fail(client.status().ToString());
  HttpRequest request;
  request.target = path;
  const absl::StatusOr<HttpResponse> answer = (*client)->Call(request, kCallTimeout);
  if (!answer.ok()) return {0, answer.status().ToString()};
  return {answer->code, answer->body};
}

bool PodProcess::Leads() const {
  return absl::StrContains(Fetch("metrics-bind-address", "/metrics").second, "\nkoord_queue_leader 1\n");
}

std::string PodProcess::LogText() const { return FileText(log_); }

std::string PodProcess::Folder(const std::string& mount) const {
  const auto found = mounts_.find(mount);
  return found == mounts_.end() ? "" : found->second;
}

}  // namespace kq::e2e
