#ifndef LIBS_COMMON_LOG_H_
#define LIBS_COMMON_LOG_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Structured logs in klog's text form, one line an entry on stderr:
//
//   I1129 21:26:16.123456    4711 cluster_watch.cc:87] "Watch ended" kind="QueueUnit" reason="410 Gone"
//
//   KQ_LOG(Info, "Watch ended", {{"kind", kind}, {"reason", reason}});
//   KQ_VLOG(2, "Unit parked", {{"unit", key}});      // only at --v=2 and above
//   KQ_LOG(Error, "Patch failed", {{"err", status}});
//
// Values are quoted and escaped, so that one entry is always one line. Times are
// UTC, whatever the machine's zone is. Secrets are never passed to a log.
// Thread-safe; a line is written with one call.
namespace kq {

enum class LogSeverity { kInfo, kWarning, kError };

// kText is klog's; kJson is one object a line, as Kubernetes' own JSON logs:
//
//   {"ts":1764451576.123456,"severity":"info","caller":"cluster_watch.cc:87","msg":"Watch ended","kind":"QueueUnit"}
enum class LogFormat { kText, kJson };

// A value of a key=value pair, already as text.
class LogValue {
 public:
  LogValue(absl::string_view text) : text_(text) {}                             // NOLINT: implicit by design
  LogValue(const std::string& text) : text_(text) {}                            // NOLINT
  LogValue(const char* text) : text_(text) {}                                   // NOLINT
  LogValue(const absl::Status& status) : text_(status.ToString()) {}            // NOLINT
  LogValue(absl::Duration duration) : text_(absl::FormatDuration(duration)) {}  // NOLINT
  LogValue(bool value) : text_(value ? "true" : "false"), quoted_(false) {}     // NOLINT
  template <typename Integer, typename = std::enable_if_t<std::is_integral_v<Integer>>>
  LogValue(Integer value) : text_(absl::StrCat(value)), quoted_(false) {}  // NOLINT

  const std::string& text() const { return text_; }
  bool quoted() const { return quoted_; }

 private:
  std::string text_;
  bool quoted_ = true;
};

using LogFields = std::initializer_list<std::pair<absl::string_view, LogValue>>;

// Entries above this verbosity are dropped. Set once, by main.
void SetLogVerbosity(int verbosity);
bool LogVerbosityAtLeast(int verbosity);
// Set once, by main.
void SetLogFormat(LogFormat format);
// Entries less severe than this are dropped. Set once, by main: for programs such
// as a simulation, in which errors are the normal case.
void SetLogThreshold(LogSeverity least);

// Writes one entry; use the macros.
void WriteLog(LogSeverity severity, const char* file, int line, absl::string_view message, LogFields fields = {});

// An entry without its fields. The texts must outlive it.
struct LogEntry {
  LogSeverity severity = LogSeverity::kInfo;
  absl::string_view file;  // a path; its last part is shown
  int line = 0;
  absl::Time now;
  int thread = 0;  // in the text form only
  absl::string_view message;
};

// The line that WriteLog would write, without the newline. Pure; for tests.
std::string FormatLogLine(const LogEntry& entry, LogFields fields);
std::string FormatJsonLogLine(const LogEntry& entry, LogFields fields);

}  // namespace kq

#define KQ_LOG(severity, ...) ::kq::WriteLog(::kq::LogSeverity::k##severity, __FILE__, __LINE__, __VA_ARGS__)
#define KQ_VLOG(verbosity, ...)                                          \
  do {                                                                   \
    if (::kq::LogVerbosityAtLeast(verbosity)) KQ_LOG(Info, __VA_ARGS__); \
  } while (false)

#endif  // LIBS_COMMON_LOG_H_
