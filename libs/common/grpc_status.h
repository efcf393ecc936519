#ifndef LIBS_COMMON_GRPC_STATUS_H_
#define LIBS_COMMON_GRPC_STATUS_H_

#include "absl/status/status.h"

namespace grpc {
class Status;
}  // namespace grpc

namespace kq {

// The codes of the two are the same; so is the message. A code that gRPC does
// not name becomes kUnknown. Include grpcpp to use the results.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace kq

#endif  // LIBS_COMMON_GRPC_STATUS_H_
