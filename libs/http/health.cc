#include "libs/http/health.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kq {

std::optional<HttpResponse> Health::Answer(absl::string_view target) const {
  const absl::string_view path = TargetPath(target);
  if (path == "/livez" || path == "/healthz") return Run(std::string(path.substr(1)), live_, target);
  if (path == "/readyz") return Run("readyz", ready_, target);
  return std::nullopt;
}

HttpResponse Health::Run(const std::string& path, const std::vector<Named>& checks, absl::string_view target) {
  bool verbose = false;
  std::set<std::string> excluded;
  for (auto& [name, value] : TargetQuery(target)) {
    if (name == "verbose") verbose = true;
    if (name == "exclude") excluded.insert(std::move(value));
  }
  bool failed = false;
  std::string text = "[+]ping ok\n";
  for (const Named& named : checks) {
    if (excluded.count(named.name) > 0) {
      absl::StrAppend(&text, "[+]", named.name, " excluded: ok\n");
      continue;
    }
    const HealthState state = named.check();
    if (state.status.ok()) {
      absl::StrAppend(&text, "[+]", named.name, " ok", state.note.empty() ? "" : ": ", state.note, "\n");
    } else {
      failed = true;
      absl::StrAppend(&text, "[-]", named.name, " failed: ", std::string(state.status.message()), "\n");
    }
  }
  absl::StrAppend(&text, path, failed ? " check failed\n" : " check passed\n");

  HttpResponse response;
  response.code = failed ? 503 : 200;
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.headers.Add("X-Content-Type-Options", "nosniff");
  response.headers.Add("Cache-Control", "no-cache, private");
  response.body = failed || verbose ? text : "ok";
  return response;
}

absl::Status Health::Ready() const {
  for (const Named& named : ready_) {
    if (const HealthState state = named.check(); !state.status.ok()) return state.status;
  }
  return absl::OkStatus();
}

}  // namespace kq
