#ifndef LIBS_KUBE_KUBE_STATUS_H_
#define LIBS_KUBE_KUBE_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/json.h"
#include "libs/http/http.h"

// What a refusal of the API server means: from its HTTP code, its Status body
// ({"kind":"Status","reason":"Conflict",...}) and Retry-After to a code of
// kube_api.h. Pure functions.
//
// The question that matters for a write is whether it may have taken effect:
//
//   4xx, except 408         no. 429 is kUnavailable: the server did not begin. A 422
//                           about metadata.uid, which is how a patch meets another
//                           object of the same name, is kAborted
//   503 with a promise      no, kUnavailable: a server that is not ready or shuts
//                           down says so before it looks at the request
//   500, 502, 504, 408,     unknown. Also a 500 of reason ServerTimeout, which is
//   any other 5xx           what a lost connection to etcd gives
//
// A read has no effect, so each of these is kUnavailable for a read.
namespace kq {

enum class CallKind { kRead, kCreate, kWrite };

// The error that `answer`, with a code outside 200-299, stands for. The message
// is the server's, with those of details.causes that it leaves out after it
// ("spec.parallelism: must be greater than or equal to 0"). A body that is not from the
// API server (a plain text, a proxy's page) is quoted, up to 300 bytes, after `what`
// and the code. Retry-After goes into RetryAfter().
absl::Status StatusOfAnswer(CallKind kind, absl::string_view what, const HttpResponse& answer, absl::Time now);

// The error in the object of an ERROR event, which ends a watch: kOutOfRange to
// list again; the codes for 401, 403 and 404; kUnavailable for all else.
absl::Status StatusOfWatchError(const Json& object);

}  // namespace kq

#endif  // LIBS_KUBE_KUBE_STATUS_H_
