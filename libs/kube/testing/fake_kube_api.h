#ifndef LIBS_KUBE_TESTING_FAKE_KUBE_API_H_
#define LIBS_KUBE_TESTING_FAKE_KUBE_API_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/testing/fake_store.h"

// An API server in the memory of a test or of the simulation. It passes the
// same contract cases as the real one (kube_api_contract). Nothing in it is left
// to chance or to the time of day: whether a call fails is asked of a function
// that the test brings, so the same seed gives the same run.
//
//   FakeKubeApi api({.clock = &clock});
//   api.AddResource(kQueueUnits, {.kind = "QueueUnit", .status_subresource = true});
//   api.set_faults([&](const FakeCall&) { return FakeFault{FakeFault::Kind::kConflict}; });
namespace kq {

// A call as the fault function sees it.
struct FakeCall {
  enum class Verb { kList, kWatch, kGet, kCreate, kUpdate, kPatch, kDelete };
  Verb verb = Verb::kGet;
  KubeResource resource;
  ObjectKey key;  // of a list or watch only the namespace
  Subresource subresource = Subresource::kNone;
};

// What befalls a call.
struct FakeFault {
  enum class Kind {
    kNone,
    kConflict,         // 409, no effect: kAborted
    kGone,             // 410, no effect: kOutOfRange
    kTooManyRequests,  // 429, no effect: kUnavailable with `retry_after`
    kUnavailable,      // 503, no effect: kUnavailable
    kRefused,          // no connection, no effect: kUnavailable
    kInternal,         // 500, no effect: kUnknown
    kAnswerLost,       // takes effect at once, kDeadlineExceeded
    kRequestLost,      // never takes effect, kDeadlineExceeded
    kLate,             // takes effect at the next LandLate, kDeadlineExceeded
  };
  Kind kind = Kind::kNone;
  absl::Duration retry_after = absl::Seconds(1);
};
using FakeFaults = std::function<FakeFault(const FakeCall&)>;

// What befalls one Next of a watch.
enum class FakeWatchFault {
  kNone,
  kCut,        // the stream ends: kUnavailable
  kHold,       // nothing is delivered, whatever waits
  kDuplicate,  // the event before is delivered again
  // An event overtakes an earlier one of another object, never of its own. A cut
  // before the overtaken event was delivered is 410: to go on from the newer
  // version would lose it.
  kReorder,
  kGone,    // 410 in the stream
  kBroken,  // the next event cannot be decoded: kInvalidArgument, and it is skipped
};
using FakeWatchFaults = std::function<FakeWatchFault(const KubeResource&)>;

struct FakeKubeApiOptions {
  const Clock* clock = nullptr;  // for creationTimestamp; required, must outlive the fake
  FakeStoreLimits limits = {};
  // Whether Next of a watch really waits for an event, for tests with threads.
  // Without it Next returns at once, for tests that step by hand.
  bool streams_wait = false;
};

// Thread-safe. Fault functions are called without a lock, from the calling thread;
// they may keep state of their own.
class FakeKubeApi : public KubeApi {
 public:
  explicit FakeKubeApi(FakeKubeApiOptions options);
  ~FakeKubeApi() override;

  // Resources that were not added are kNotFound, as if their CRD were missing.
  void AddResource(const KubeResource& resource, FakeResource options = {});
  // From the first call on, creates in other namespaces are kNotFound.
  void AddNamespace(absl::string_view name);

  void set_faults(FakeFaults faults);
  void set_watch_faults(FakeWatchFaults faults);
  // Another client of this server: with faults of its own, or with none for what
  // users do. It must not outlive the fake. Streams keep its watch faults.
  std::unique_ptr<KubeApi> Connect(FakeFaults faults = nullptr, FakeWatchFaults watch_faults = nullptr);

  absl::StatusOr<ListPage> List(const ListRequest& request) override;
  absl::StatusOr<std::unique_ptr<WatchStream>> Watch(const WatchRequest& request) override;
  absl::StatusOr<Json> Get(const KubeResource& resource, const ObjectKey& key) override;
  absl::StatusOr<Json> Create(const KubeResource& resource, absl::string_view ns, const Json& object) override;
  absl::StatusOr<Json> Update(const KubeResource& resource, Subresource subresource, const Json& object) override;
  absl::StatusOr<Json> Patch(const PatchRequest& request) override;
  absl::Status Delete(const DeleteRequest& request) override;

  // Lets the late writes take effect, or fail, in the order of their calls; returns how many there were.
  int LandLate();
  // Ends all running watches.
  void CutWatches();
  // Sends a bookmark to the watches of one resource.
  void SendBookmark(const KubeResource& resource);
  // Forgets the history: watches and page tokens from before are 410.
  void Compact();
  int CollectGarbage();

  // What is on the server, without faults and without being counted.
  std::vector<Json> Objects(const KubeResource& resource) const;
  uint64_t Version() const;
  // Calls of all clients so far, faulty ones included.
  int64_t Calls(FakeCall::Verb verb) const;

 private:
  class Client;
  class Stream;
  struct State;

  const std::unique_ptr<State> state_;
  const std::unique_ptr<Client> client_;
};

}  // namespace kq

#endif  // LIBS_KUBE_TESTING_FAKE_KUBE_API_H_
