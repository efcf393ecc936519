#ifndef LIBS_SCHEDULER_CLIENT_CALL_CANCELLER_H_
#define LIBS_SCHEDULER_CLIENT_CALL_CANCELLER_H_

#include <set>

#include "absl/base/thread_annotations.h"
#include "libs/common/mutex.h"

namespace grpc {
class ClientContext;
}  // namespace grpc

namespace kq {

// Ends calls that block in other threads: those that run, and all that are begun
// later. Must outlive the calls. Thread-safe.
class CallCanceller {
 public:
  void Cancel();

  // A call is known to the canceller while this lives; the context must outlive it.
  class Scope {
   public:
    // A null canceller cancels nothing.
    Scope(CallCanceller* canceller, grpc::ClientContext* context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CallCanceller* const canceller_;
    grpc::ClientContext* const context_;
  };

 private:
  Mutex mu_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  std::set<grpc::ClientContext*> running_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq

#endif  // LIBS_SCHEDULER_CLIENT_CALL_CANCELLER_H_
