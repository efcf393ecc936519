#include "libs/common/grpc_status.h"

#include <grpcpp/support/status.h>

#include <catch2/catch.hpp>

namespace kq {
namespace {

TEST_CASE("every code and its message go there and back", "[grpc_status]") {
  for (int code = 1; code <= 16; ++code) {
    CAPTURE(code);
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    const grpc::Status sent = ToGrpcStatus(status);
    CHECK(static_cast<int>(sent.error_code()) == code);
    CHECK(sent.error_message() == "why");
    CHECK(FromGrpcStatus(sent) == status);
  }
}

TEST_CASE("success is success", "[grpc_status]") {
  CHECK(ToGrpcStatus(absl::OkStatus()).ok());
  CHECK(FromGrpcStatus(grpc::Status::OK).ok());
}

TEST_CASE("a code that gRPC does not name is unknown, never success", "[grpc_status]") {
  for (int code : {17, 31, -1}) {
    const absl::Status status = FromGrpcStatus(grpc::Status(static_cast<grpc::StatusCode>(code), "odd"));
    CHECK(status == absl::UnknownError("odd"));
  }
}

}  // namespace
}  // namespace kq
