#include "perf/audit_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"
#include "libs/common/time_format.h"

namespace kq::perf {
namespace {

absl::Time TimeAt(const Json& event, absl::string_view field) {
  return ParseTime(StringAt(event, {field})).value_or(absl::InfinitePast());
}

}  // namespace

bool AuditedCall::IsWrite() const { return verb != "get" && verb != "list" && verb != "watch"; }

absl::StatusOr<std::optional<AuditedCall>> ParseAuditLine(absl::string_view line) {
  KQ_ASSIGN_OR_RETURN(const Json event, ParseJson(line));
  if (StringAt(event, {"kind"}) != "Event" || StringAt(event, {"auditID"}).empty()) {
    return absl::InvalidArgumentError("not an event of an audit log");
  }
  if (StringAt(event, {"stage"}) != "ResponseComplete") return std::nullopt;
  AuditedCall call;
  call.resource = StringAt(event, {"objectRef", "resource"});
  if (call.resource.empty()) return std::nullopt;
  const std::string subresource = StringAt(event, {"objectRef", "subresource"});
  if (!subresource.empty()) absl::StrAppend(&call.resource, "/", subresource);
  const std::string agent = StringAt(event, {"userAgent"});
  call.agent = agent.substr(0, agent.find('/'));
  call.verb = StringAt(event, {"verb"});
  call.object = absl::StrCat(StringAt(event, {"objectRef", "namespace"}), "/", StringAt(event, {"objectRef", "name"}));
  if (const Json* code = Find(event, {"responseStatus", "code"}); code != nullptr && code->is_int64()) {
    call.code = static_cast<int>(code->get_int64());
  }
  call.received = TimeAt(event, "requestReceivedTimestamp");
  call.answered = TimeAt(event, "stageTimestamp");
  return call;
}

void CallTally::Add(const AuditedCall& call) {
  Counts& counts = counts_[{call.agent, call.verb, call.resource}];
  if (!call.Succeeded()) {
    ++counts.refusals[call.code];
    return;
  }
  ++counts.calls;
  if (call.IsWrite()) ++counts.writes[call.object];
}

std::vector<CallTally::Row> CallTally::Rows() const {
  std::vector<Row> rows;
  for (const auto& [key, counts] : counts_) {
    Row row;
    std::tie(row.agent, row.verb, row.resource) = key;
    row.calls = counts.calls;
    row.refusals = counts.refusals;
    for (const auto& [code, times] : counts.refusals) row.refused += times;
    row.objects = static_cast<int64_t>(counts.writes.size());
    for (const auto& [object, times] : counts.writes) {
      if (times <= row.most) continue;
      row.most = times;
      row.example = object;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

int64_t CallTally::Writes(absl::string_view agent, absl::string_view resource, absl::string_view verb) const {
  int64_t sum = 0;
  for (const auto& [key, counts] : counts_) {
    if (std::get<0>(key) != agent || std::get<2>(key) != resource) continue;
    if (!verb.empty() && std::get<1>(key) != verb) continue;
    for (const auto& [object, times] : counts.writes) sum += times;
  }
  return sum;
}

absl::StatusOr<std::vector<AuditedCall>> ReadAuditLog(const std::string& path, int64_t from, int64_t* bad_lines) {
  std::ifstream in(path);
  if (!in.seekg(from)) return absl::UnavailableError(absl::StrCat(path, ": cannot be read"));
  std::vector<AuditedCall> calls;
  for (std::string line; std::getline(in, line);) {
    auto call = ParseAuditLine(line);
    if (!call.ok()) {
      ++*bad_lines;
    } else if (call->has_value()) {
      calls.push_back(**std::move(call));
    }
  }
  return calls;
}

int64_t SizeOf(const std::string& path) {
  struct stat file = {};
  return stat(path.c_str(), &file) == 0 ? file.st_size : 0;
}

}  // namespace kq::perf
