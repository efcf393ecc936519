#ifndef LIBS_HTTP_SERVER_COUNTS_H_
#define LIBS_HTTP_SERVER_COUNTS_H_

#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "libs/common/mutex.h"

namespace kq {

// What a server has met with since it started: each of its limits has a count. A value.
struct HttpServerCounts {
  int64_t connections = 0;          // open now, those over the limit among them
  int64_t connections_refused = 0;  // over connection_limit, to be told 503
  int64_t connections_dropped = 0;  // over that too, and closed at once
  int64_t connections_evicted = 0;  // quiet ones, whose place one over the limit got
  int64_t handshakes_failed = 0;    // of TLS: a bad certificate, or too slow
  int64_t answers_timed_out = 0;    // the peer did not read: write_timeout
  int64_t answers_broken_off = 0;   // the peer has gone
  std::map<int, int64_t> refused =
      {};  // requests that the server answered by itself, by code (400, 408, 413, 431, ...)
};

// Where the server's parts count. Thread-safe.
class HttpServerCounters {
 public:
  void Add(int64_t HttpServerCounts::*what, int64_t amount = 1) {
    const MutexLock lock(&mu_);
    counts_.*what += amount;
  }
  void AddRefused(int code) {
    const MutexLock lock(&mu_);
    ++counts_.refused[code];
  }
  HttpServerCounts Read() const {
    const MutexLock lock(&mu_);
    return counts_;
  }

 private:
  mutable Mutex mu_;
  HttpServerCounts counts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq

#endif  // LIBS_HTTP_SERVER_COUNTS_H_
