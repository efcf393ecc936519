#include "libs/common/log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "absl/strings/str_format.h"
#include "libs/common/clock.h"
#include "libs/common/internal/json_string.h"

namespace kq {
namespace {

std::atomic<int> g_verbosity{0};
std::atomic<LogFormat> g_format{LogFormat::kText};
std::atomic<LogSeverity> g_threshold{LogSeverity::kInfo};

int ThreadId() {
  thread_local const int id = static_cast<int>(::syscall(SYS_gettid));
  return id;
}

absl::string_view FileName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

char Letter(LogSeverity severity) {
  switch (severity) {
    case LogSeverity::kInfo:
      return 'I';
    case LogSeverity::kWarning:
      return 'W';
    case LogSeverity::kError:
      return 'E';
  }
  return '?';
}

absl::string_view SeverityName(LogSeverity severity) {
  switch (severity) {
    case LogSeverity::kInfo:
      return "info";
    case LogSeverity::kWarning:
      return "warning";
    case LogSeverity::kError:
      return "error";
  }
  return "unknown";
}

// There is nobody left to tell if stderr cannot be written.
void WriteToStderr(absl::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    line.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void SetLogVerbosity(int verbosity) { g_verbosity.store(verbosity, std::memory_order_relaxed); }
bool LogVerbosityAtLeast(int verbosity) { return g_verbosity.load(std::memory_order_relaxed) >= verbosity; }
void SetLogFormat(LogFormat format) { g_format.store(format, std::memory_order_relaxed); }
void SetLogThreshold(LogSeverity least) { g_threshold.store(least, std::memory_order_relaxed); }

void WriteLog(LogSeverity severity, const char* file, int line, absl::string_view message, LogFields fields) {
  if (severity < g_threshold.load(std::memory_order_relaxed)) return;
  const LogEntry entry{severity, file, line, Clock::Real().TimeNow(), ThreadId(), message};
  std::string text;
  switch (g_format.load(std::memory_order_relaxed)) {
    case LogFormat::kText:
      text = FormatLogLine(entry, fields);
      break;
    case LogFormat::kJson:
      text = FormatJsonLogLine(entry, fields);
      break;
  }
  text.push_back('\n');
  WriteToStderr(text);
}

std::string FormatLogLine(const LogEntry& entry, LogFields fields) {
  std::string out(1, Letter(entry.severity));
  absl::StrAppend(&out, absl::FormatTime("%m%d %H:%M:%E6S", entry.now, absl::UTCTimeZone()));
  absl::StrAppendFormat(&out, " %7d %s:%d] ", entry.thread, FileName(entry.file), entry.line);
  AppendJsonString(entry.message, &out);
  for (const auto& [key, value] : fields) {
    absl::StrAppend(&out, " ", key, "=");
    if (value.quoted()) {
      AppendJsonString(value.text(), &out);
    } else {
      out.append(value.text());
    }
  }
  return out;
}

std::string FormatJsonLogLine(const LogEntry& entry, LogFields fields) {
  const int64_t micros = absl::ToUnixMicros(entry.now);
  std::string out = absl::StrFormat("{\"ts\":%d.%06d,\"severity\":\"%s\",\"caller\":", micros / 1000000,
                                    micros % 1000000, SeverityName(entry.severity));
  AppendJsonString(absl::StrCat(FileName(entry.file), ":", entry.line), &out);
  out.append(",\"msg\":");
  AppendJsonString(entry.message, &out);
  for (const auto& [key, value] : fields) {
    out.push_back(',');
    AppendJsonString(key, &out);
    out.push_back(':');
    if (value.quoted()) {
      AppendJsonString(value.text(), &out);
    } else {
      out.append(value.text());
    }
  }
  out.push_back('}');
  return out;
}

}  // namespace kq
