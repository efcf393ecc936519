#ifndef LIBS_SCHEDULER_CLIENT_TESTING_FAKE_PICTURE_SOURCE_H_
#define LIBS_SCHEDULER_CLIENT_TESTING_FAKE_PICTURE_SOURCE_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "libs/common/mutex.h"
#include "libs/scheduler_client/picture.h"

namespace kq::testing {

// Shows what a test gave it. At first there is no picture. Thread-safe.
class FakePictureSource final : public PictureSource {
 public:
  Following Look() const override {
    MutexLock lock(&mu_);
    return following_;
  }

  void Set(Following following) {
    MutexLock lock(&mu_);
    following_ = std::move(following);
  }

 private:
  mutable Mutex mu_;
  Following following_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::testing

#endif  // LIBS_SCHEDULER_CLIENT_TESTING_FAKE_PICTURE_SOURCE_H_
