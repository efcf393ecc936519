#ifndef LIBS_COMMON_STATUS_MACROS_H_
#define LIBS_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace kq {

// The same code with "context: " before the message. For the one place where a
// Status crosses a layer.
inline absl::Status WithContext(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  absl::Status out(status.code(), absl::StrCat(context, ": ", status.message()));
  status.ForEachPayload([&out](absl::string_view url, const absl::Cord& payload) { out.SetPayload(url, payload); });
  return out;
}

}  // namespace kq

// The names and meaning of a newer Abseil's ABSL_RETURN_IF_ERROR and ABSL_ASSIGN_OR_RETURN.
#define KQ_RETURN_IF_ERROR(expression)                            \
  do {                                                            \
    if (absl::Status kq_status = (expression); !kq_status.ok()) { \
      return kq_status;                                           \
    }                                                             \
  } while (false)

#define KQ_STATUS_CONCAT_(a, b) a##b
#define KQ_STATUS_CONCAT(a, b) KQ_STATUS_CONCAT_(a, b)
#define KQ_ASSIGN_OR_RETURN(declaration, expression) \
  KQ_ASSIGN_OR_RETURN_(KQ_STATUS_CONCAT(kq_or_, __LINE__), declaration, expression)
#define KQ_ASSIGN_OR_RETURN_(temporary, declaration, expression) \
  auto temporary = (expression);                                 \
  if (!temporary.ok()) return std::move(temporary).status();     \
  declaration = *std::move(temporary)

#endif  // LIBS_COMMON_STATUS_MACROS_H_
