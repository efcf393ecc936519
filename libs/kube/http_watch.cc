#include "libs/kube/http_watch.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "libs/common/json.h"
#include "libs/kube/kube_status.h"
#include "libs/kube/raw_json.h"

namespace kq {

void LineBuffer::Append(std::string piece) {
  if (begin_ == text_.size()) {
    text_ = std::move(piece);
    begin_ = scanned_ = 0;
    return;
  }
  text_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  text_ += piece;
}

bool LineBuffer::Take(absl::string_view* line) {
  const size_t end = text_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = text_.size();
    return false;
  }
  *line = absl::string_view(text_).substr(begin_, end - begin_);
  begin_ = scanned_ = end + 1;
  return true;
}

namespace {

absl::Status Undecoded(absl::string_view line, absl::string_view why) {
  const ObjectKey key = KeyInText(RawMember(line, "object"));
  const std::string name = key.name.empty() ? "an object without a readable name" : key.ToString();
  return absl::InvalidArgumentError(absl::StrCat("event of ", name, ": ", why));
}

std::optional<WatchEvent::Type> TypeOf(const std::string& name) {
  if (name == "ADDED") return WatchEvent::Type::kAdded;
  if (name == "MODIFIED") return WatchEvent::Type::kModified;
  if (name == "DELETED") return WatchEvent::Type::kDeleted;
  if (name == "BOOKMARK") return WatchEvent::Type::kBookmark;
  return std::nullopt;
}

class HttpWatch : public WatchStream {
 public:
  HttpWatch(std::unique_ptr<HttpStream> stream, HttpWatchOptions options, const Clock* clock)
      : stream_(std::move(stream)), options_(options), clock_(clock) {}

  absl::StatusOr<std::optional<WatchEvent>> Next(absl::Duration timeout) override {
    const absl::Time until = clock_->TimeNow() + timeout;
    while (end_.ok() && !cancelled_.load()) {
      absl::string_view line;
      if (lines_.Take(&line)) {
        if (absl::StripAsciiWhitespace(line).empty()) continue;
        return Decode(line);
      }
      const absl::Time now = clock_->TimeNow();
      if (now >= options_.deadline) {
        end_ = absl::UnavailableError("the watch was kept open longer than asked for");
        break;
      }
      absl::StatusOr<std::string> piece =
          stream_->Read(std::max(absl::ZeroDuration(), std::min(until, options_.deadline) - now));
      if (!piece.ok()) {
        end_ = EndOf(piece.status());
      } else if (piece->empty()) {
        if (clock_->TimeNow() < options_.deadline) return std::nullopt;
      } else {
        lines_.Append(*std::move(piece));
        CheckLimit();
      }
    }
    if (cancelled_.load()) return absl::CancelledError("the watch was cancelled");
    return end_;
  }

  void Cancel() override {
    cancelled_.store(true);
    stream_->Cancel();
  }

 private:
  absl::StatusOr<std::optional<WatchEvent>> Decode(absl::string_view line) {
    absl::StatusOr<Json> document = ParseJsonInOnePiece(line);
    if (!document.ok()) return Undecoded(line, document.status().message());
    Json* const object = document->is_object() ? document->get_object().if_contains("object") : nullptr;
    if (object == nullptr || !object->is_object()) return Undecoded(line, "it has no object");
    const std::string type = StringAt(*document, {"type"});
    if (type == "ERROR") {
      end_ = StatusOfWatchError(*object);
      return end_;
    }
    const std::optional<WatchEvent::Type> known = TypeOf(type);
    if (!known.has_value()) return Undecoded(line, absl::StrCat("unknown type \"", type, "\""));
    if (VersionOf(*object) == 0) return Undecoded(line, "metadata.resourceVersion is missing or no number");
    if (*known != WatchEvent::Type::kBookmark && KeyOf(*object).name.empty()) {
      return Undecoded(line, "metadata.name is missing");
    }
    return WatchEvent{*known, std::move(*object)};
  }

  // The end of the body is as good as a cut to who watches; only 410 says list again.
  absl::Status EndOf(const absl::Status& read) const {
    if (!absl::IsOutOfRange(read)) return absl::UnavailableError(read.message());
    if (lines_.Pending() > 0) return absl::UnavailableError("the watch ended in the middle of an event");
    return absl::UnavailableError("the watch ended");
  }

  void CheckLimit() {
    if (lines_.Pending() <= options_.event_limit_bytes) return;
    // Watching again from the same version would meet the same event.
    end_ = absl::OutOfRangeError(absl::StrCat("an event is longer than ", options_.event_limit_bytes, " bytes"));
  }

  const std::unique_ptr<HttpStream> stream_;
  const HttpWatchOptions options_;
  const Clock* const clock_;
  LineBuffer lines_;
  absl::Status end_;  // not OK once the stream is over
  std::atomic<bool> cancelled_{false};
};

}  // namespace

std::unique_ptr<WatchStream> NewHttpWatch(std::unique_ptr<HttpStream> stream, HttpWatchOptions options,
                                          const Clock* clock) {
  return std::make_unique<HttpWatch>(std::move(stream), options, clock);
}

}  // namespace kq
