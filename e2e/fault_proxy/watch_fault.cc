#include "e2e/fault_proxy/watch_fault.h"

#include <algorithm>

#include "libs/common/json.h"

namespace kq {

size_t WatchFault::Pass(absl::string_view bytes) {
  if (!fault_.has_value()) return bytes.size();
  if (due_) return 0;
  size_t passed = 0;
  if (fault_->after_events > 0) {
    size_t end = 0;
    while (events_ < fault_->after_events) {
      const size_t newline = bytes.find('\n', end);
      if (newline == absl::string_view::npos) return bytes.size();
      end = newline + 1;
      ++events_;
    }
    passed = end;
  } else {
    const auto left = static_cast<size_t>(fault_->after_bytes - bytes_);
    if (left > bytes.size()) {
      bytes_ += static_cast<int64_t>(bytes.size());
      return bytes.size();
    }
    passed = left;
  }
  due_ = true;
  return passed;
}

std::string WatchFault::GoneEvent() {
  const Json event = JsonObject{{"type", "ERROR"},
                                {"object", JsonObject{{"kind", "Status"},
                                                      {"apiVersion", "v1"},
                                                      {"status", "Failure"},
                                                      {"message", "too old resource version (fault proxy)"},
                                                      {"reason", "Expired"},
                                                      {"code", 410}}}};
  return JsonText(event) + "\n";
}

}  // namespace kq
