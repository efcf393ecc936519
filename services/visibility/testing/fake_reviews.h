#ifndef SERVICES_VISIBILITY_TESTING_FAKE_REVIEWS_H_
#define SERVICES_VISIBILITY_TESTING_FAKE_REVIEWS_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "libs/common/mutex.h"
#include "libs/kube/kube_api.h"

namespace kq::visibility {

// An API server that knows tokens and rights, and nothing else. Thread-safe.
class FakeReviews : public KubeApi {
 public:
  // Whose token it is.
  void AddToken(const std::string& token, const std::string& user) {
    const MutexLock lock(&mu_);
    tokens_[token] = user;
  }
  // Lets a user do everything.
  void Allow(const std::string& user) {
    const MutexLock lock(&mu_);
    allowed_.insert(user);
  }
  // Whether it can be reached.
  void SetReachable(bool reachable) {
    const MutexLock lock(&mu_);
    reachable_ = reachable;
  }
  // Every review that was asked for, as it was sent.
  std::vector<Json> asked() const {
    const MutexLock lock(&mu_);
    return asked_;
  }

  absl::StatusOr<Json> Create(const KubeResource& resource, absl::string_view, const Json& object) override {
    const MutexLock lock(&mu_);
    asked_.push_back(object);
    // As a real one may: it names itself, and quotes what it got.
    if (!reachable_) return absl::UnavailableError(absl::StrCat("10.0.0.1:6443: refused: ", JsonText(object)));
    Json answer = object;
    if (resource.plural == "tokenreviews") {
      const auto token = tokens_.find(StringAt(object, {"spec", "token"}));
      const bool known = token != tokens_.end();
      answer.as_object()["status"] =
          known ? Json{{"authenticated", true},
                       {"user", {{"username", token->second}, {"uid", "uid-1"}, {"groups", JsonArray{"staff"}}}}}
                : Json{{"error", "token is not known"}};
      return answer;
    }
    const bool allowed = allowed_.count(StringAt(object, {"spec", "user"})) > 0;
    answer.as_object()["status"] = {{"allowed", allowed}, {"reason", allowed ? "" : "no rule"}};
    return answer;
  }

  absl::StatusOr<ListPage> List(const ListRequest&) override { return Nothing(); }
  absl::StatusOr<std::unique_ptr<WatchStream>> Watch(const WatchRequest&) override { return Nothing(); }
  absl::StatusOr<Json> Get(const KubeResource&, const ObjectKey&) override { return Nothing(); }
  absl::StatusOr<Json> Update(const KubeResource&, Subresource, const Json&) override { return Nothing(); }
  absl::StatusOr<Json> Patch(const PatchRequest&) override { return Nothing(); }
  absl::Status Delete(const DeleteRequest&) override { return Nothing(); }

 private:
  static absl::Status Nothing() { return absl::NotFoundError("nothing here"); }

  mutable Mutex mu_;
  std::map<std::string, std::string> tokens_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> allowed_ ABSL_GUARDED_BY(mu_);
  bool reachable_ ABSL_GUARDED_BY(mu_) = true;
  std::vector<Json> asked_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_TESTING_FAKE_REVIEWS_H_
