#ifndef SERVICES_VISIBILITY_REQUEST_LOG_H_
#define SERVICES_VISIBILITY_REQUEST_LOG_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "libs/http/http.h"

// What -v=4 writes of requests and answers:
//
//   "Request refused" what="queues/queueunits" code=401
//   "Request" method="GET" target="/apis/.../queueunits?limit=2" body="" bytes=0
//   "Response" target="/apis/.../queueunits?limit=2" code=200 body="{..." bytes=65536
//   "Response continued" target="..." body="..." bytes=65536
//   "Response ended" target="..." bytes=147251
//
// Nothing that a caller sent is written before it is known who he is and that he may
// ask: of others only one of our own words and the code. Of targets the path and the
// parameters that are known here. Headers never. 4 KiB of a request's body, 256 KiB of
// an answer's with all its pieces; `bytes` is the real size. What looks like a token or
// a password is replaced.
namespace kq::visibility {

// A target, and the first `limit` bytes of a body, as the log shows them.
std::string ShownTarget(absl::string_view target);
std::string ShownBody(absl::string_view body, size_t limit);

void LogRefused(absl::string_view what, int code);
// Returns the answer, which goes on telling the log of its pieces as they are sent.
HttpResponse LogAnswered(const HttpRequest& request, HttpResponse response);

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_REQUEST_LOG_H_
