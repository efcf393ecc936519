#include "services/visibility/unit_query.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/common/status_macros.h"
#include "libs/http/http.h"

namespace kq::visibility {
namespace {

// What is quoted of a bad value.
constexpr size_t kShownBytes = 64;

constexpr std::array<absl::string_view, 11> kPhases = {"Enqueued",    "Reserved",       "Dequeued",   "Running",
                                                       "Succeed",     "Failed",         "SchedReady", "SchedSucceed",
                                                       "SchedFailed", "TimeoutBackoff", "Preempted"};

// Of every GET of the API machinery; answers here are the same with and without them.
constexpr std::array<absl::string_view, 6> kWithoutEffect = {
    "timeout", "timeoutSeconds", "pretty", "resourceVersion", "resourceVersionMatch", "allowWatchBookmarks"};

absl::StatusOr<int64_t> NumberOf(absl::string_view name, absl::string_view text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": \"", text.substr(0, kShownBytes), "\" is not a whole number that fits into 64 bits"));
  }
  if (number < 0) return absl::InvalidArgumentError(absl::StrCat(name, ": must not be negative"));
  return number;
}

// Whether the answer depends on it.
bool IsOfList(absl::string_view name) {
  return name == "offset" || name == "limit" || name == "queue" || name == "phase";
}

absl::Status CheckOther(absl::string_view name, absl::string_view value) {
  if (name == "watch") {
    if (value == "false" || value == "0") return absl::OkStatus();
    return absl::InvalidArgumentError("watch: these lists can't be watched; ask again instead");
  }
  if (std::find(kWithoutEffect.begin(), kWithoutEffect.end(), name) != kWithoutEffect.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("parameter \"", name.substr(0, kShownBytes),
                                                 "\" is not known here; there are phase, queue, offset and limit"));
}

}  // namespace

bool IsKnownParameter(absl::string_view name) { return IsOfList(name) || CheckOther(name, "false").ok(); }

absl::StatusOr<UnitQuery> ParseUnitQuery(absl::string_view target) {
  UnitQuery query;
  std::set<std::string> given;
  for (const auto& [name, value] : TargetQuery(target)) {
    if (IsOfList(name) && !given.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("parameter \"", name, "\" is given twice"));
    }
    if (name == "offset") {
      KQ_ASSIGN_OR_RETURN(query.offset, NumberOf(name, value));
    } else if (name == "limit") {
      KQ_ASSIGN_OR_RETURN(query.limit, NumberOf(name, value));
    } else if (name == "queue") {
      query.queue = value;
    } else if (name == "phase") {
      query.phase = value;
    } else {
      KQ_RETURN_IF_ERROR(CheckOther(name, value));
    }
  }
  if (!query.phase.empty() && std::find(kPhases.begin(), kPhases.end(), query.phase) == kPhases.end()) {
    return absl::InvalidArgumentError(absl::StrCat("phase: \"", query.phase.substr(0, kShownBytes), "\" is not one of ",
                                                   absl::StrJoin(kPhases, ", ")));
  }
  return query;
}

}  // namespace kq::visibility
