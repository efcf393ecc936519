#include "libs/common/grpc_status.h"

#include <grpcpp/support/status.h>

#include <string>

namespace kq {

grpc::Status ToGrpcStatus(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  const int code = static_cast<int>(status.error_code());
  // 0 is OK and 16, UNAUTHENTICATED, the last; a peer may send any number.
  const bool known = code >= 0 && code <= static_cast<int>(grpc::StatusCode::UNAUTHENTICATED);
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown, status.error_message());
}

}  // namespace kq
