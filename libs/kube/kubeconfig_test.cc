#include "libs/kube/kubeconfig.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace kq {
namespace {

const char kCa[] = "-----BEGIN CERTIFICATE-----\nca\n-----END CERTIFICATE-----\n";
const char kCert[] = "-----BEGIN CERTIFICATE-----\ncert\n-----END CERTIFICATE-----\n";
const char kKey[] = "-----BEGIN EC PRIVATE KEY-----\nkey\n-----END EC PRIVATE KEY-----\n";

// A folder that is gone after the test.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kubeconfig-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }

 private:
  std::string path_;
};

// A kubeconfig with one context, whose cluster and user have these fields as well.
std::string Config(absl::string_view cluster, absl::string_view user) {
  return absl::StrCat(
      "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
      "contexts: [{name: here, context: {cluster: c, user: u, namespace: team-a}}]\n"
      "clusters: [{name: c, cluster: {server: \"https://127.0.0.1:6443\"",
      cluster.empty() ? "" : ", ", cluster, "}}]\nusers: [{name: u, user: {", user, "}}]\n");
}

TEST_CASE("inline certificates, key and token are read") {
  const auto connection = ParseKubeconfig(
      Config(absl::StrCat("certificate-authority-data: ", absl::Base64Escape(kCa), ", tls-server-name: api"),
             absl::StrCat("client-certificate-data: ", absl::Base64Escape(kCert),
                          ", client-key-data: ", absl::Base64Escape(kKey), ", token: abc")),
      "");
  REQUIRE(connection.ok());
  CHECK(connection->server == "https://127.0.0.1:6443");
  CHECK(connection->context == "here");
  CHECK(connection->ns == "team-a");
  CHECK(connection->ca_pem == kCa);
  CHECK(connection->server_name == "api");
  CHECK_FALSE(connection->skip_tls_verify);
  CHECK(connection->client_certificate_pem == kCert);
  CHECK(connection->client_key_pem == kKey);
  CHECK(connection->token == "abc");
  CHECK(connection->token_file.empty());
}

TEST_CASE("paths are relative to the folder of the kubeconfig") {
  const Folder folder;
  folder.Write("pki/ca.crt", kCa);
  folder.Write("me.crt", kCert);
  folder.Write("conf/me.key", kKey);
  folder.Write("conf/token", "from-file\n");
  const std::string path = folder.Write(
      "conf/config", Config("certificate-authority: ../pki/ca.crt",
                            absl::StrCat("client-certificate: ", folder.path(), "/me.crt, client-key: me.key, ",
                                         "tokenFile: token, token: inline")));
  const auto connection = LoadKubeconfig(path);
  REQUIRE(connection.ok());
  CHECK(connection->ca_pem == kCa);
  CHECK(connection->client_certificate_pem == kCert);
  CHECK(connection->client_key_pem == kKey);
  CHECK(connection->token_file == folder.path() + "/conf/token");
  CHECK(connection->token == "inline");
}

TEST_CASE("inline data wins over a file") {
  const auto connection = ParseKubeconfig(
      Config(absl::StrCat("certificate-authority: /nowhere, certificate-authority-data: ", absl::Base64Escape(kCa)),
             ""),
      "");
  REQUIRE(connection.ok());
  CHECK(connection->ca_pem == kCa);
}

const char kTwoContexts[] = R"(
contexts:
- {name: first, context: {cluster: c, user: anna}}
- {name: second, context: {cluster: d}}
clusters:
- {name: c, cluster: {server: "https://c:6443"}}
- {name: d, cluster: {server: "http://[::1]:8080/k8s/d/", insecure-skip-tls-verify: true}}
users: [{name: anna, user: {token: t}}]
)";

TEST_CASE("a context can be chosen and one without a user is anonymous") {
  const auto first = ParseKubeconfig(kTwoContexts, "", "first");
  REQUIRE(first.ok());
  CHECK(first->server == "https://c:6443");
  CHECK(first->token == "t");
  const auto second = ParseKubeconfig(kTwoContexts, "", "second");
  REQUIRE(second.ok());
  CHECK(second->server == "http://[::1]:8080/k8s/d");
  CHECK(second->skip_tls_verify);
  CHECK(second->token.empty());
}

TEST_CASE("what is asked for and not there is named with what there is") {
  const auto missing = ParseKubeconfig(kTwoContexts, "", "third");
  CHECK(missing.status() ==
        absl::InvalidArgumentError("contexts: there is no context \"third\"; there is: first, second"));
  CHECK(ParseKubeconfig(kTwoContexts, "").status() ==
        absl::InvalidArgumentError("current-context: not set, and no context was named"));
}

TEST_CASE("every mistake is kInvalidArgument and names its field") {
  const Folder folder;
  folder.Write("empty", " \n");
  folder.Write("text", "no PEM");
  const std::string good = Config("", "token: t");
  const auto replaced = [&good](absl::string_view from, absl::string_view to) {
    REQUIRE(absl::StrContains(good, from));
    return absl::StrReplaceAll(good, {{from, to}});
  };
  const struct {
    std::string yaml, want;
  } cases[] = {
      {"", "a kubeconfig is an object"},
      {"[1]", "a kubeconfig is an object"},
      {"kind: Pod", "kind: expected Config, found Pod"},
      {"current-context: x", "contexts: there is no context \"x\"; there is: none"},
      {"current-context: [x]", "current-context: expected a string"},
      {"current-context: x\ncontexts: {}", "contexts: expected a list"},
      {"current-context: x\ncontexts: [1]", "contexts[0]: expected an object"},
      {"current-context: x\ncontexts: [{name: x}]", "contexts[0].context: missing"},
      {replaced("cluster: c, ", ""), "contexts[0].context.cluster: missing"},
      {replaced("user: u,", "user: v,"), "users: there is no user \"v\"; there is: u"},
      {replaced("cluster: c,", "cluster: d,"), "clusters: there is no cluster \"d\"; there is: c"},
      {replaced("server: \"https://127.0.0.1:6443\"", "x: y"), "clusters[0].cluster.server: missing"},
      {replaced("https://127.0.0.1:6443", "127.0.0.1:6443"),
       "clusters[0].cluster.server: \"127.0.0.1:6443\" must begin"},
      {replaced("127.0.0.1:6443", ""), "clusters[0].cluster.server: \"https://\" has no host"},
      {replaced("127.0.0.1:6443", "h:70000"), "clusters[0].cluster.server: \"https://h:70000\" has a bad port"},
      {replaced("127.0.0.1:6443", "h:"), "clusters[0].cluster.server: \"https://h:\" has a bad port"},
      {replaced("127.0.0.1:6443", "me:pw@h"), "clusters[0].cluster.server: a user in the URL"},
      {replaced("127.0.0.1:6443", "h?x=1"), "clusters[0].cluster.server: \"https://h?x=1\" must be"},
      {Config("certificate-authority: none", ""), "clusters[0].cluster.certificate-authority: cannot open"},
      {Config("certificate-authority: .", ""), "clusters[0].cluster.certificate-authority: "},
      {Config("certificate-authority: text", ""), "clusters[0].cluster.certificate-authority: not in PEM form"},
      {Config("certificate-authority-data: '%%%'", ""), "clusters[0].cluster.certificate-authority-data: not base64"},
      {Config("certificate-authority-data: aGVsbG8=", ""),
       "clusters[0].cluster.certificate-authority-data: not in PEM form"},
      {Config("insecure-skip-tls-verify: maybe", ""),
       "clusters[0].cluster.insecure-skip-tls-verify: expected a boolean"},
      {Config(absl::StrCat("insecure-skip-tls-verify: true, certificate-authority-data: ", absl::Base64Escape(kCa)),
              ""),
       "clusters[0].cluster.insecure-skip-tls-verify: contradicts"},
      {Config("", absl::StrCat("client-key-data: ", absl::Base64Escape(kKey))),
       "users[0].user: client-certificate and client-key must be given together"},
      {Config("", "token: [1]"), "users[0].user.token: expected a string"},
      {Config("", "tokenFile: none"), "users[0].user.tokenFile: cannot open"},
      {Config("", "tokenFile: empty"), "users[0].user.tokenFile: "},
  };
  for (const auto& c : cases) {
    const absl::Status status = ParseKubeconfig(c.yaml, folder.path()).status();
    CAPTURE(c.yaml, c.want, status.ToString());
    CHECK(absl::IsInvalidArgument(status));
    CHECK(absl::StartsWith(status.message(), c.want));
  }
}

TEST_CASE("what is not supported is refused with what to do instead") {
  const struct {
    std::string yaml, want;
  } cases[] = {
      {Config("", "exec: {command: aws}"),
       "users[0].user.exec is not supported; use a token instead, for example one of "
       "`kubectl create token SERVICEACCOUNT --namespace=NAMESPACE`"},
      {Config("", "auth-provider: {name: gcp}"), "users[0].user.auth-provider is not supported; use a token"},
      {Config("", "username: a, password: b"), "users[0].user.username is not supported; use a token"},
      {Config("", "token: t, as: root"), "users[0].user.as is not supported; give the credentials"},
      {Config("", "token: t, as-groups: [x]"), "users[0].user.as-groups is not supported; give the credentials"},
      {Config("proxy-url: 'http://p'", ""), "clusters[0].cluster.proxy-url is not supported; give an address"},
  };
  for (const auto& c : cases) {
    const absl::Status status = ParseKubeconfig(c.yaml, "").status();
    CAPTURE(c.yaml, status.ToString());
    CHECK(absl::IsUnimplemented(status));
    CHECK(absl::StartsWith(status.message(), c.want));
  }
}

TEST_CASE("fields that are there but empty ask for nothing") {
  CHECK(
      ParseKubeconfig(Config("proxy-url: ''", "exec: null, username: '', as-groups: [], as-user-extra: {}"), "").ok());
}

TEST_CASE("a file that is not there, a folder and a list of files are told apart") {
  const Folder folder;
  CHECK(absl::StrContains(LoadKubeconfig(folder.path() + "/none").status().message(), "cannot open"));
  CHECK(absl::StrContains(LoadKubeconfig(folder.path()).status().message(), "is a folder"));
  CHECK(absl::StrContains(LoadKubeconfig("/a/x:/b/y").status().message(), "one file, not a list"));
  const std::string bad = folder.Write("bad", "kind: Pod");
  CHECK(LoadKubeconfig(bad).status().message() == bad + ": kind: expected Config, found Pod");
}

TEST_CASE("a pod finds its service account") {
  const Folder folder;
  folder.Write("token", "t\n");
  folder.Write("ca.crt", kCa);
  folder.Write("namespace", "koord-queue");
  const auto connection = InClusterConnection("10.0.0.1", "443", folder.path());
  REQUIRE(connection.ok());
  CHECK(connection->server == "https://10.0.0.1:443");
  CHECK(connection->context == "in-cluster");
  CHECK(connection->ns == "koord-queue");
  CHECK(connection->ca_pem == kCa);
  CHECK(connection->token_file == folder.path() + "/token");
  CHECK(InClusterConnection("fd00::1", "443", folder.path())->server == "https://[fd00::1]:443");
}

TEST_CASE("outside a pod the in-cluster connection says so") {
  const Folder folder;
  CHECK(absl::StrContains(InClusterConnection("", "", folder.path()).status().message(), "give a kubeconfig"));
  CHECK(absl::StrContains(InClusterConnection("h", "x", folder.path()).status().message(), "bad port"));
  CHECK(absl::StrContains(InClusterConnection("h", "1", folder.path()).status().message(), "service account token"));
  folder.Write("token", "");
  CHECK(absl::StrContains(InClusterConnection("h", "1", folder.path()).status().message(), "is empty"));
}

}  // namespace
}  // namespace kq
