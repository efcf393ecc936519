#ifndef LIBS_HTTP_RESPONSE_TEXT_H_
#define LIBS_HTTP_RESPONSE_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/http/http.h"

namespace kq {

// How the end of a body is told.
enum class BodyFraming { kLength, kChunks, kClose };
enum class AfterAnswer { kKeep, kClose };

// The header of an answer as it goes over the wire. Fields that belong to the
// server (Content-Length, Transfer-Encoding, Connection, Date) are its own; those
// of the response are left out. kInvalidArgument if a code or field cannot be sent.
absl::StatusOr<std::string> ResponseHeader(const HttpResponse& response, BodyFraming framing, AfterAnswer after,
                                           absl::Time now);

// Whether an answer with this code has a body at all.
bool CodeHasBody(int code);
// One piece of a chunked body. REQUIRES: it is not empty.
std::string Chunk(absl::string_view piece);
constexpr absl::string_view kLastChunk = "0\r\n\r\n";

}  // namespace kq

#endif  // LIBS_HTTP_RESPONSE_TEXT_H_
