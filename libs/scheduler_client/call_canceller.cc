#include "libs/scheduler_client/call_canceller.h"

#include <grpcpp/client_context.h>

namespace kq {

// TryCancel is called under the lock, so that a context is not destroyed meanwhile.
// It only hands the wish to gRPC and does not call back.

void CallCanceller::Cancel() {
  MutexLock lock(&mu_);
  cancelled_ = true;
  for (grpc::ClientContext* context : running_) context->TryCancel();
}

CallCanceller::Scope::Scope(CallCanceller* canceller, grpc::ClientContext* context)
    : canceller_(canceller), context_(context) {
  if (canceller_ == nullptr) return;
  MutexLock lock(&canceller_->mu_);
  canceller_->running_.insert(context_);
  // A call that is cancelled before it begins ends as soon as it does.
  if (canceller_->cancelled_) context_->TryCancel();
}

CallCanceller::Scope::~Scope() {
  if (canceller_ == nullptr) return;
  MutexLock lock(&canceller_->mu_);
  canceller_->running_.erase(context_);
}

}  // namespace kq
