#ifndef SERVICES_DEBUG_API_PAGES_H_
#define SERVICES_DEBUG_API_PAGES_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/common/clock.h"
#include "libs/http/http.h"
#include "libs/http/http_server.h"
#include "libs/http/router.h"
#include "libs/kube/kube_api.h"
#include "libs/scheduler_client/picture.h"
#include "services/debug-api/replies.h"
#include "services/debug-api/views.h"

namespace kq::debug_api {

// What the pages are made of; all must outlive them.
struct PagesParts {
  const PictureSource* pictures = nullptr;
  KubeApi* api = nullptr;
  const Clock* clock = nullptr;
  // Asks the leader at `server` about one unit; blocks for a few seconds at most.
  std::function<LeaderAnswers(const std::string& server, const ObjectKey& unit)> ask_leader;
};

struct PagesOptions {
  // A picture that was heard of longer ago is not shown.
  absl::Duration max_picture_age = absl::Seconds(30);
  // How long /compare waits for a picture that is newer than its list, before it
  // calls something a difference.
  absl::Duration settle = absl::Seconds(4);
};

// The documents of the debug API:
//
//   GET /                       what there is, as text
//   GET /apis/v1/elasticquota   the books by quota
//   GET /apis/v1/queue          who waits, by queue             ?limit=
//   GET /apis/v1/userquota      who uses, by quota              ?limit=
//   GET /units/{ns}/{name}      everything about one unit
//   GET /compare                the books against the objects   ?limit=
//
// All but the first are JSON made of the newest picture, whose age in seconds is in
// the header X-Koord-Queue-Snapshot-Age; 503 while there is none or it is too old.
// Unknown parameters, numbers out of range and names that can be none are 400.
// Thread-safe.
class Pages {
 public:
  Pages(PagesParts parts, PagesOptions options) : parts_(std::move(parts)), options_(options) {}

  // They hold a pointer to the pages.
  std::vector<Route> Routes();

  // A picture is there, new enough to be shown.
  absl::Status Showing() const;

 private:
  struct Looked {
    Following following;
    absl::Duration age;
    Parameters parameters;
  };
  using Show = std::function<absl::StatusOr<Json>(const Looked&, const PathCaptures&)>;

  // A page of the newest picture.
  Route Page(const std::string& pattern, std::vector<std::string> parameters, Show show);
  // kUnavailable if there is nothing to show.
  absl::StatusOr<Looked> Look() const;

  absl::StatusOr<Json> Unit(const Looked& looked, const PathCaptures& captures) const;
  absl::StatusOr<Json> Comparison(const Looked& looked);

  const PagesParts parts_;
  const PagesOptions options_;
  std::atomic<bool> comparing_{false};
};

// Errors that the router gives as text, as a Status.
HttpResponse WithStatusBody(HttpResponse response);

}  // namespace kq::debug_api

#endif  // SERVICES_DEBUG_API_PAGES_H_
