#include "libs/kube/kubeconfig.h"

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "libs/common/json.h"
#include "libs/common/status_macros.h"
#include "libs/common/yaml.h"

namespace kq {
namespace {

// Far beyond any kubeconfig, certificate bundle or token.
constexpr size_t kFileLimitBytes = 4 << 20;

absl::Status Invalid(absl::string_view field, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", problem));
}

absl::Status Unsupported(absl::string_view field, absl::string_view advice) {
  return absl::UnimplementedError(absl::StrCat(field, " is not supported; ", advice));
}

absl::StatusOr<std::string> ReadFile(const std::string& path, absl::string_view field) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return Invalid(field, absl::StrCat(path, " is a folder"));
  std::ifstream in(path, std::ios::binary);
  if (!in) return Invalid(field, absl::StrCat("cannot open ", path));
  std::string text;
  char buffer[4096];
  while (in.read(buffer, sizeof(buffer)), in.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(in.gcount()));
    if (text.size() > kFileLimitBytes) return Invalid(field, absl::StrCat(path, " is larger than 4 MiB"));
  }
  if (in.bad()) return Invalid(field, absl::StrCat("cannot read ", path));
  return text;
}

std::string Resolved(const std::string& folder, const std::string& path) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

// One entry of `clusters`, `users` or `contexts`, and where it is in the file.
struct Entry {
  const JsonObject* fields = nullptr;
  std::string path;
};

// Finds the entry called `name` in the list `plural`; its content is under `singular`.
absl::StatusOr<Entry> FindEntry(const JsonObject& root, absl::string_view plural, absl::string_view singular,
                                const std::string& name) {
  KQ_ASSIGN_OR_RETURN(const JsonArray* const list, ArrayField(root, plural, ""));
  std::vector<std::string> names;
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const std::string path = FieldPath(plural, i);
    const JsonObject* const entry = (*list)[i].if_object();
    if (entry == nullptr) return Invalid(path, "expected an object");
    KQ_ASSIGN_OR_RETURN(std::string found, StringField(*entry, "name", path));
    if (found == name) {
      KQ_ASSIGN_OR_RETURN(const JsonObject* const fields, ObjectField(*entry, singular, path));
      if (fields == nullptr) return Invalid(FieldPath(path, singular), "missing");
      return Entry{fields, FieldPath(path, singular)};
    }
    names.push_back(std::move(found));
  }
  const std::string known = names.empty() ? "none" : absl::StrJoin(names, ", ");
  return Invalid(plural, absl::StrCat("there is no ", singular, " \"", name, "\"; there is: ", known));
}

// Whether a field is there and says something: null, "", [] and {} do not.
bool Says(const JsonObject& object, absl::string_view name) {
  const Json* value = object.if_contains({name.data(), name.size()});
  if (value == nullptr || value->is_null()) return false;
  if (value->is_string()) return !value->get_string().empty();
  if (value->is_array()) return !value->get_array().empty();
  if (value->is_object()) return !value->get_object().empty();
  return true;
}

// PEM text from `<name>-data` (base64) or else the file `<name>`; empty if neither is there.
absl::StatusOr<std::string> Pem(const Entry& entry, const std::string& name, const std::string& folder) {
  const std::string data_path = FieldPath(entry.path, name + "-data");
  KQ_ASSIGN_OR_RETURN(const std::string data, StringField(*entry.fields, name + "-data", entry.path));
  KQ_ASSIGN_OR_RETURN(const std::string file, StringField(*entry.fields, name, entry.path));
  std::string pem;
  std::string from = data_path;
  if (!data.empty()) {
    if (!absl::Base64Unescape(data, &pem)) return Invalid(data_path, "not base64");
  } else if (!file.empty()) {
    from = FieldPath(entry.path, name);
    KQ_ASSIGN_OR_RETURN(pem, ReadFile(Resolved(folder, file), from));
  } else {
    return pem;
  }
  if (!absl::StrContains(pem, "-----BEGIN ")) return Invalid(from, "not in PEM form (no -----BEGIN line)");
  return pem;
}

// Checks the form of `server` and takes slashes off its end.
absl::StatusOr<std::string> CheckedServer(absl::string_view server, absl::string_view field) {
  if (server.empty()) return Invalid(field, "missing");
  absl::string_view rest = server;
  if (!absl::ConsumePrefix(&rest, "https://") && !absl::ConsumePrefix(&rest, "http://")) {
    return Invalid(field, absl::StrCat("\"", server, "\" must begin with https:// or http://"));
  }
  if (absl::StrContains(rest, "@")) return Invalid(field, "a user in the URL is not allowed");
  if (rest.find_first_of("?# \t\r\n") != absl::string_view::npos) {
    return Invalid(field, absl::StrCat("\"", server, "\" must be scheme, host, port and path only"));
  }
  const absl::string_view authority = rest.substr(0, rest.find('/'));
  if (authority.empty() || authority[0] == ':') return Invalid(field, absl::StrCat("\"", server, "\" has no host"));
  const size_t bracket = authority.rfind(']');  // the end of an IPv6 address
  const size_t colon = authority.find(':', bracket == absl::string_view::npos ? 0 : bracket);
  if (colon != absl::string_view::npos) {
    int port = 0;
    if (!absl::SimpleAtoi(authority.substr(colon + 1), &port) || port < 1 || port > 65535) {
      return Invalid(field, absl::StrCat("\"", server, "\" has a bad port"));
    }
  }
  while (absl::ConsumeSuffix(&server, "/")) {
  }
  return std::string(server);
}

absl::Status ReadCluster(const Entry& cluster, const std::string& folder, KubeConnection* out) {
  const JsonObject& fields = *cluster.fields;
  if (Says(fields, "proxy-url")) {
    return Unsupported(FieldPath(cluster.path, "proxy-url"), "give an address that can be reached without a proxy");
  }
  KQ_ASSIGN_OR_RETURN(const std::string server, StringField(fields, "server", cluster.path));
  KQ_ASSIGN_OR_RETURN(out->server, CheckedServer(server, FieldPath(cluster.path, "server")));
  KQ_ASSIGN_OR_RETURN(out->server_name, StringField(fields, "tls-server-name", cluster.path));
  KQ_ASSIGN_OR_RETURN(out->skip_tls_verify, BoolField(fields, "insecure-skip-tls-verify", cluster.path));
  KQ_ASSIGN_OR_RETURN(out->ca_pem, Pem(cluster, "certificate-authority", folder));
  if (out->skip_tls_verify && !out->ca_pem.empty()) {
    return Invalid(FieldPath(cluster.path, "insecure-skip-tls-verify"),
                   "contradicts the certificate-authority that is given too");
  }
  return absl::OkStatus();
}

absl::Status RefuseUnsupported(const Entry& user) {
  constexpr absl::string_view kUseToken =
      "use a token instead, for example one of `kubectl create token SERVICEACCOUNT --namespace=NAMESPACE`";
  for (const absl::string_view name : {"exec", "auth-provider", "username", "password"}) {
    if (Says(*user.fields, name)) return Unsupported(FieldPath(user.path, name), kUseToken);
  }
  for (const absl::string_view name : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    if (Says(*user.fields, name)) {
      return Unsupported(FieldPath(user.path, name), "give the credentials of that user instead of impersonating it");
    }
  }
  return absl::OkStatus();
}

absl::Status ReadUser(const Entry& user, const std::string& folder, KubeConnection* out) {
  KQ_RETURN_IF_ERROR(RefuseUnsupported(user));
  KQ_ASSIGN_OR_RETURN(out->client_certificate_pem, Pem(user, "client-certificate", folder));
  KQ_ASSIGN_OR_RETURN(out->client_key_pem, Pem(user, "client-key", folder));
  if (out->client_certificate_pem.empty() != out->client_key_pem.empty()) {
    return Invalid(user.path, "client-certificate and client-key must be given together");
  }
  KQ_ASSIGN_OR_RETURN(out->token, StringField(*user.fields, "token", user.path));
  KQ_ASSIGN_OR_RETURN(const std::string token_file, StringField(*user.fields, "tokenFile", user.path));
  if (!token_file.empty()) {
    out->token_file = Resolved(folder, token_file);
    const std::string field = FieldPath(user.path, "tokenFile");
    KQ_ASSIGN_OR_RETURN(const std::string token, ReadFile(out->token_file, field));
    if (absl::StripAsciiWhitespace(token).empty()) return Invalid(field, absl::StrCat(out->token_file, " is empty"));
  }
  return absl::OkStatus();
}

// The context asked for, or current-context.
absl::StatusOr<std::string> ContextName(const JsonObject& root, const std::string& asked) {
  if (!asked.empty()) return asked;
  KQ_ASSIGN_OR_RETURN(std::string current, StringField(root, "current-context", ""));
  if (current.empty()) return Invalid("current-context", "not set, and no context was named");
  return current;
}

}  // namespace

absl::StatusOr<KubeConnection> ParseKubeconfig(absl::string_view yaml, const std::string& folder,
                                               const std::string& context) {
  KQ_ASSIGN_OR_RETURN(const Json document, ParseYaml(yaml));
  const JsonObject* const root = document.if_object();
  if (root == nullptr) return absl::InvalidArgumentError("a kubeconfig is an object with clusters, users and contexts");
  KQ_ASSIGN_OR_RETURN(const std::string kind, StringField(*root, "kind", "", "Config"));
  if (kind != "Config") return Invalid("kind", absl::StrCat("expected Config, found ", kind));

  KubeConnection connection;
  KQ_ASSIGN_OR_RETURN(connection.context, ContextName(*root, context));
  KQ_ASSIGN_OR_RETURN(const Entry chosen, FindEntry(*root, "contexts", "context", connection.context));
  KQ_ASSIGN_OR_RETURN(connection.ns, StringField(*chosen.fields, "namespace", chosen.path));

  KQ_ASSIGN_OR_RETURN(const std::string cluster_name, StringField(*chosen.fields, "cluster", chosen.path));
  if (cluster_name.empty()) return Invalid(FieldPath(chosen.path, "cluster"), "missing");
  KQ_ASSIGN_OR_RETURN(const Entry cluster, FindEntry(*root, "clusters", "cluster", cluster_name));
  KQ_RETURN_IF_ERROR(ReadCluster(cluster, folder, &connection));

  // Without a user the connection is anonymous.
  KQ_ASSIGN_OR_RETURN(const std::string user_name, StringField(*chosen.fields, "user", chosen.path));
  if (!user_name.empty()) {
    KQ_ASSIGN_OR_RETURN(const Entry user, FindEntry(*root, "users", "user", user_name));
    KQ_RETURN_IF_ERROR(ReadUser(user, folder, &connection));
  }
  return connection;
}

absl::StatusOr<KubeConnection> LoadKubeconfig(const std::string& path, const std::string& context) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && absl::StrContains(path, ":")) {
    return Invalid("kubeconfig", absl::StrCat("\"", path, "\": give one file, not a list of files"));
  }
  KQ_ASSIGN_OR_RETURN(const std::string yaml, ReadFile(path, "kubeconfig"));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  auto connection = ParseKubeconfig(yaml, folder, context);
  if (!connection.ok()) return WithContext(connection.status(), path);
  return connection;
}

absl::StatusOr<KubeConnection> InClusterConnection(const std::string& host, const std::string& port,
                                                   const std::string& mount) {
  if (host.empty() || port.empty()) {
    return absl::InvalidArgumentError(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is not a pod, give a kubeconfig");
  }
  KubeConnection connection;
  connection.context = "in-cluster";
  const std::string address = absl::StrContains(host, ":") ? absl::StrCat("[", host, "]") : host;  // IPv6
  KQ_ASSIGN_OR_RETURN(connection.server,
                      CheckedServer(absl::StrCat("https://", address, ":", port), "KUBERNETES_SERVICE_PORT"));
  connection.token_file = mount + "/token";
  KQ_ASSIGN_OR_RETURN(const std::string token, ReadFile(connection.token_file, "service account token"));
  if (absl::StripAsciiWhitespace(token).empty()) {
    return Invalid("service account token", absl::StrCat(connection.token_file, " is empty"));
  }
  KQ_ASSIGN_OR_RETURN(connection.ca_pem, ReadFile(mount + "/ca.crt", "service account ca.crt"));
  KQ_ASSIGN_OR_RETURN(const std::string ns, ReadFile(mount + "/namespace", "service account namespace"));
  connection.ns = std::string(absl::StripAsciiWhitespace(ns));
  return connection;
}

}  // namespace kq
