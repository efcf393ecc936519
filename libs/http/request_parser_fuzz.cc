// Any bytes as a connection's: whatever packets they come in, the requests are the
// same, nothing of one can be taken for a part of another, and the end is a
// request, a refusal with its code, or a wait for more.
//
//   bazel test --config=fuzz //libs/http:request_parser_fuzz
//   bazel run --config=fuzz //libs/http:request_parser_fuzz -- -max_total_time=60 DIR
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "libs/http/http.h"
#include "libs/http/request_parser.h"

namespace {

using kq::HttpRequest;
using kq::RequestParser;
using Stage = RequestParser::Stage;

constexpr kq::RequestLimits kLimits = {.header_bytes = 1 << 10, .body_bytes = 1 << 10};
constexpr size_t kRequests = 8;

void Demand(bool condition) {
  if (!condition) std::abort();
}

struct Read {
  std::vector<HttpRequest> requests;
  Stage stage = Stage::kHeader;
  int refusal = 0;
};

void CheckRequest(const HttpRequest& request) {
  Demand(kq::IsHttpToken(request.method));
  Demand(absl::StartsWith(request.target, "/") || (request.target == "*" && request.method == "OPTIONS"));
  for (const char c : request.target) Demand(c > 0x20 && c < 0x7f && c != '#');
  for (const auto& [name, value] : request.headers.fields) Demand(kq::IsHttpToken(name) && kq::IsHttpFieldValue(value));
  Demand(request.body.size() <= kLimits.body_bytes);
}

// Gives `bytes` in packets of `size`.
Read ReadAll(absl::string_view bytes, size_t size) {
  Read read;
  RequestParser parser(kLimits);
  std::string held;
  for (size_t at = 0; at < bytes.size(); at += size) {
    held += std::string(bytes.substr(at, size));
    for (;;) {
      const Stage before = parser.stage();
      const size_t used = parser.Take(held);
      Demand(used <= held.size());
      held.erase(0, used);
      if (parser.stage() == Stage::kDone && read.requests.size() < kRequests) {
        read.requests.push_back(parser.TakeRequest());
        CheckRequest(read.requests.back());
        continue;
      }
      if (used == 0 && parser.stage() == before) break;
    }
  }
  read.stage = parser.stage();
  if (read.stage == Stage::kRefused) {
    read.refusal = parser.refusal();
    Demand(read.refusal >= 400 && read.refusal <= 505 && !parser.reason().empty());
  }
  return read;
}

bool Same(const Read& a, const Read& b) {
  return std::equal(a.requests.begin(), a.requests.end(), b.requests.begin(), b.requests.end(),
                    [](const HttpRequest& x, const HttpRequest& y) {
                      return x.method == y.method && x.target == y.target && x.headers.fields == y.headers.fields &&
                             x.body == y.body;
                    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const Read whole = ReadAll(text, std::max<size_t>(text.size(), 1));
  const Read pieces = ReadAll(text, 1 + bytes[0] % 64);
  // A header as long as the limit may be just within it or just over it. Other nonsense
  // may be noticed a byte earlier or later; before it everything is the same.
  Demand(whole.refusal == 431 || pieces.refusal == 431 || Same(whole, pieces));
  return 0;
}
