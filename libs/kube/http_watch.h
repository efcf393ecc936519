#ifndef LIBS_KUBE_HTTP_WATCH_H_
#define LIBS_KUBE_HTTP_WATCH_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/http/http_client.h"
#include "libs/kube/kube_api.h"

namespace kq {

// Puts lines together from pieces that end anywhere. Not thread-safe.
class LineBuffer {
 public:
  void Append(std::string piece);
  // Whether there is a whole line; `line` is without its newline and valid until the next call.
  bool Take(absl::string_view* line);
  // Bytes not taken yet.
  size_t Pending() const { return text_.size() - begin_; }

 private:
  std::string text_;
  size_t begin_ = 0;    // of the first line not taken
  size_t scanned_ = 0;  // no newline between begin_ and here
};

struct HttpWatchOptions {
  size_t event_limit_bytes = 256 << 20;
  // When the stream ends at the latest, whatever the server does: a connection
  // whose other end is gone may never say so.
  absl::Time deadline = absl::InfiniteFuture();
};

// The events in the body of a watch, one JSON object a line. `clock` must outlive it.
std::unique_ptr<WatchStream> NewHttpWatch(std::unique_ptr<HttpStream> stream, HttpWatchOptions options,
                                          const Clock* clock);

}  // namespace kq

#endif  // LIBS_KUBE_HTTP_WATCH_H_
