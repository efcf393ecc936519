// Any bytes as method and target of a request to the debug API: no way leads out of
// its pages, nobody is asked about a unit that is not in the picture, and whatever
// is refused is a Status of valid JSON.
//
//   bazel test --config=fuzz //services/debug-api:pages_fuzz
//   bazel run --config=fuzz //services/debug-api:pages_fuzz -- -max_total_time=60 DIR
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "libs/common/json.h"
#include "libs/common/simulated_clock.h"
#include "libs/http/router.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "libs/scheduler_client/testing/fake_picture_source.h"
#include "services/debug-api/pages.h"

namespace {

using namespace kq;             // NOLINT: a program of its own
using namespace kq::debug_api;  // NOLINT

void Demand(bool condition) {
  if (!condition) std::abort();
}

// Unit n/a in queue and quota team; the API server has nothing.
struct World {
  World() {
    api.AddResource({"scheduling.x-k8s.io", "v1alpha1", "queueunits"}, {.kind = "QueueUnit"});
    api.AddResource({"scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas"}, {.kind = "ElasticQuota"});
    queueing::v1::QueueSnapshot queue;
    queue.set_name("team");
    queueing::v1::UnitSnapshot* unit = queue.add_waiting();
    unit->set_namespace_("n");
    unit->set_name("a");
    unit->set_quota("team");
    auto picture = std::make_shared<Picture>();
    picture->queues["team"] = std::make_shared<const queueing::v1::QueueSnapshot>(queue);
    pictures.Set({picture, clock.TimeNow(), absl::OkStatus(), "leader:1"});
    PagesParts parts;
    parts.pictures = &pictures;
    parts.api = &api;
    parts.clock = &clock;
    parts.ask_leader = [this](const std::string& server, const ObjectKey& key) {
      Demand(server == "leader:1" && key.ToString() == "n/a");
      ++asked;
      return LeaderAnswers{absl::UnavailableError("away"), absl::UnavailableError("away")};
    };
    pages = std::make_unique<Pages>(std::move(parts), PagesOptions{.settle = absl::ZeroDuration()});
    router = std::make_unique<Router>(*Router::Build(pages->Routes()));
  }

  SimulatedClock clock{absl::FromUnixSeconds(1000)};
  FakeKubeApi api{{.clock = &clock}};
  kq::testing::FakePictureSource pictures;
  std::unique_ptr<Pages> pages;
  std::unique_ptr<Router> router;
  int asked = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static auto* const world = new World;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const size_t space = text.find(' ');
  HttpRequest request;
  request.method = text.substr(0, space);
  request.target = space == std::string::npos ? "/" : text.substr(space + 1);
  const int asked = world->asked;
  const HttpResponse response = WithStatusBody((*world->router)(request, {}));
  const std::string path(TargetPath(request.target));
  const bool index = path.find_first_not_of('/') == std::string::npos;
  switch (response.code) {
    case 200:
      Demand(index || path.find("..") == std::string::npos);
      Demand(index || ParseJson(response.body).ok());
      Demand(request.method == "GET" || request.method == "HEAD");
      break;
    case 400:
    case 404:
    case 405:
    case 414: {
      const absl::StatusOr<Json> body = ParseJson(response.body);
      Demand(body.ok() && StringAt(*body, {"kind"}) == "Status" && response.body.size() < 4096);
      Demand(world->asked == asked);
      break;
    }
    default:
      std::abort();
  }
  return 0;
}
