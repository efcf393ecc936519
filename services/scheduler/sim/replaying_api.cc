#include "services/scheduler/sim/replaying_api.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "libs/common/status_macros.h"

namespace kq::scheduler {
namespace {

constexpr size_t kRemembered = 32;

// What all streams of one resource have delivered; outlives each of them.
struct History {
  KubeResource resource;
  std::deque<WatchEvent> events;
};

class ReplayingStream : public WatchStream {
 public:
  ReplayingStream(std::unique_ptr<WatchStream> stream, History* history, const std::function<size_t()>* back)
      : stream_(std::move(stream)), history_(history), back_(back) {}

  absl::StatusOr<std::optional<WatchEvent>> Next(absl::Duration timeout) override {
    if (to_repeat_ == 0) to_repeat_ = (*back_)();
    to_repeat_ = std::min(to_repeat_, history_->events.size());
    if (to_repeat_ > 0) return history_->events[history_->events.size() - to_repeat_--];
    KQ_ASSIGN_OR_RETURN(std::optional<WatchEvent> event, stream_->Next(timeout));
    if (event.has_value() && event->type != WatchEvent::Type::kBookmark) {
      history_->events.push_back(*event);
      if (history_->events.size() > kRemembered) history_->events.pop_front();
    }
    return event;
  }
  void Cancel() override { stream_->Cancel(); }

 private:
  std::unique_ptr<WatchStream> stream_;
  History* const history_;
  const std::function<size_t()>* const back_;
  size_t to_repeat_ = 0;
};

class ReplayingApi : public KubeApi {
 public:
  ReplayingApi(KubeApi* api, std::function<size_t()> back) : api_(api), back_(std::move(back)) {}

  absl::StatusOr<ListPage> List(const ListRequest& request) override {
    // A watch that follows begins after the list.
    if (request.continue_token.empty()) HistoryOf(request.resource)->events.clear();
    return api_->List(request);
  }
  absl::StatusOr<std::unique_ptr<WatchStream>> Watch(const WatchRequest& request) override {
    KQ_ASSIGN_OR_RETURN(std::unique_ptr<WatchStream> stream, api_->Watch(request));
    return std::make_unique<ReplayingStream>(std::move(stream), HistoryOf(request.resource), &back_);
  }
  absl::StatusOr<Json> Get(const KubeResource& resource, const ObjectKey& key) override {
    return api_->Get(resource, key);
  }
  absl::StatusOr<Json> Create(const KubeResource& resource, absl::string_view ns, const Json& object) override {
    return api_->Create(resource, ns, object);
  }
  absl::StatusOr<Json> Update(const KubeResource& resource, Subresource subresource, const Json& object) override {
    return api_->Update(resource, subresource, object);
  }
  absl::StatusOr<Json> Patch(const PatchRequest& request) override { return api_->Patch(request); }
  absl::Status Delete(const DeleteRequest& request) override { return api_->Delete(request); }

 private:
  History* HistoryOf(const KubeResource& resource) {
    for (History& history : histories_) {
      if (history.resource == resource) return &history;
    }
    histories_.push_back(History{resource, {}});
    return &histories_.back();
  }

  KubeApi* const api_;
  const std::function<size_t()> back_;
  std::deque<History> histories_;  // addresses stay
};

}  // namespace

std::unique_ptr<KubeApi> NewReplayingApi(KubeApi* api, std::function<size_t()> back) {
  return std::make_unique<ReplayingApi>(api, std::move(back));
}

}  // namespace kq::scheduler
