#include "e2e/support/helm.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "e2e/support/test_cluster.h"

namespace kq::e2e {
namespace {

constexpr char kCodeMark[] = "\nexit code ";

}  // namespace

Helm::Helm(std::string kubeconfig) : kubeconfig_(std::move(kubeconfig)) {
  std::string folder = (std::filesystem::temp_directory_path() / "helm-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make " + folder);
  folder_ = folder;
  // A test's data are links, of each of which helm tells.
  Run(absl::StrCat("cp -RL ", DataFile(kChart), " ", folder_, "/"));
}

Helm::~Helm() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

HelmAnswer Helm::Try(const std::string& arguments) const {
  const std::string environment = absl::StrCat("HELM_CACHE_HOME=", folder_, " HELM_CONFIG_HOME=", folder_,
                                               " HELM_DATA_HOME=", folder_, " KUBECONFIG=", kubeconfig_, " ");
  const std::string text = Run(absl::StrCat(environment, "helm ", arguments, " 2>&1; echo '", kCodeMark, "'$?"));
  const size_t mark = text.rfind(kCodeMark);
  HelmAnswer answer{-1, text.substr(0, mark)};
  if (!absl::SimpleAtoi(text.substr(mark + sizeof(kCodeMark) - 1), &answer.code)) {
    throw std::runtime_error("no exit code: " + text);
  }
  return answer;
}

std::string Helm::Call(const std::string& arguments) const {
  HelmAnswer answer = Try(arguments);
  if (answer.code != 0) throw std::runtime_error(absl::StrCat("helm ", arguments, ":\n", answer.output));
  return std::move(answer.output);
}

HelmAnswer Helm::Render(const std::string& flags) const {
  return Try(absl::StrCat("template koord-queue ", chart(), " --namespace koord-queue ", flags));
}

std::string Helm::Install(const std::string& flags) const {
  return Call(absl::StrCat("install koord-queue ", chart(), " --namespace koord-queue ", flags));
}

std::string Helm::Upgrade(const std::string& flags) const {
  return Call(absl::StrCat("upgrade koord-queue ", chart(), " --namespace koord-queue ", flags));
}

std::string Helm::Uninstall() const { return Call("uninstall koord-queue --namespace koord-queue"); }

}  // namespace kq::e2e
