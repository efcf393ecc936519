#ifndef LIBS_HTTP_REQUEST_PARSER_H_
#define LIBS_HTTP_REQUEST_PARSER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "libs/http/http.h"

namespace kq {

struct RequestLimits {
  size_t header_bytes = 16 << 10;
  size_t body_bytes = 1 << 20;
};

// Makes one request out of bytes, and refuses what two servers could read in two
// ways (request smuggling): more than one length, a length beside chunks, chunks
// that are not the only transfer encoding, a missing or second Host. Trailers of
// a chunked body are dropped, so that none can pass for a header. Does no I/O.
//
//   kHeader -> kBody -> kDone
//      '---------'----> kRefused, with a status code
//
// Not thread-safe.
class RequestParser {
 public:
  enum class Stage { kHeader, kBody, kDone, kRefused };

  explicit RequestParser(RequestLimits limits);
  ~RequestParser();

  // Looks at `bytes`, all that are there, and returns how many were used; the
  // others must be given again, with more behind them if nothing was used and
  // the stage is the same. Uses nothing once done or refused.
  size_t Take(absl::string_view bytes);

  Stage stage() const;
  // Why it was refused.
  int refusal() const;
  const std::string& reason() const;

  // From kBody on: whether the client waits for "100 Continue".
  bool expects_continue() const;
  // Whether the client wants to keep the connection, and knows chunks (HTTP/1.1).
  bool keep_alive() const;
  bool knows_chunks() const;

  // REQUIRES: the stage is kDone. Leaves the parser ready for the next request.
  HttpRequest TakeRequest();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace kq

#endif  // LIBS_HTTP_REQUEST_PARSER_H_
