#ifndef PERF_AUDIT_LOG_H_
#define PERF_AUDIT_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/json.h"

// What the API server's audit log (JSON lines, audit.k8s.io/v1) says of who called
// what how often. Pure, but for the function that reads a file.
namespace kq::perf {

struct AuditedCall {
  std::string agent;     // the program's part of its User-Agent: "koord-queue"
  std::string verb;      // get, list, watch, create, update, patch, delete, ...
  std::string resource;  // with its subresource: "queueunits/status"
  std::string object;    // "namespace/name"; the name is missing in lists and in some creates
  int code = 0;          // HTTP
  absl::Time received;
  absl::Time answered;

  bool IsWrite() const;
  bool Succeeded() const { return code >= 200 && code < 300; }
};

// One line. nullopt: no object was asked for (/readyz), or the request is not over
// (a watch begins). kInvalidArgument: not a line of an audit log.
absl::StatusOr<std::optional<AuditedCall>> ParseAuditLine(absl::string_view line);

// Counts calls. Not thread-safe.
class CallTally {
 public:
  void Add(const AuditedCall& call);

  struct Row {
    std::string agent, verb, resource;
    int64_t calls = 0;                // that succeeded
    int64_t refused = 0;              // 4xx and 5xx: conflicts, not found
    int64_t objects = 0;              // different ones, of writes that succeeded
    int64_t most = 0;                 // writes to one of them
    std::string example;              // that one
    std::map<int, int64_t> refusals;  // by code
  };
  // By agent, verb and resource.
  std::vector<Row> Rows() const;
  // Writes that succeeded of one agent to one resource, whatever the verb but for
  // `verb` if given.
  int64_t Writes(absl::string_view agent, absl::string_view resource, absl::string_view verb = "") const;

  int64_t bad_lines = 0;

 private:
  struct Counts {
    int64_t calls = 0;
    std::map<int, int64_t> refusals;
    std::map<std::string, int64_t> writes;  // by object
  };
  std::map<std::tuple<std::string, std::string, std::string>, Counts> counts_;
};

// All finished calls from byte `from` of the file to its end. kUnavailable: it cannot be read.
absl::StatusOr<std::vector<AuditedCall>> ReadAuditLog(const std::string& path, int64_t from, int64_t* bad_lines);
// How long the file is now; 0 if there is none.
int64_t SizeOf(const std::string& path);

}  // namespace kq::perf

#endif  // PERF_AUDIT_LOG_H_
