#ifndef LIBS_SCHEDULER_CLIENT_PROTO_TIME_H_
#define LIBS_SCHEDULER_CLIENT_PROTO_TIME_H_

#include <google/protobuf/timestamp.pb.h>

#include "absl/time/time.h"

namespace kq {

// A time as the scheduler's messages carry it. An unset message is the epoch: ask has_… first.
inline absl::Time TimeOf(const google::protobuf::Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds()) + absl::Nanoseconds(timestamp.nanos());
}

}  // namespace kq

#endif  // LIBS_SCHEDULER_CLIENT_PROTO_TIME_H_
