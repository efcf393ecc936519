#include "services/debug-api/replies.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kq::debug_api {
namespace {

TEST_CASE("parameters are read, and what is wrong with them is named", "[debug-api]") {
  struct Case {
    std::string target;
    std::string error;  // empty: none
  };
  const auto c = GENERATE(values<Case>({
      {"/x", ""},
      {"/x?", ""},
      {"/x?limit=3", ""},
      {"/x?lim%69t=3", ""},
      {"/x?limit", ""},
      {"/x?limit=3&limit=4", "parameter \"limit\" is given twice"},
      {"/x?what=3", "unknown parameter \"what\"; there is: limit"},
      {"/x?=3", "unknown parameter \"\"; there is: limit"},
      {"/x?%f6\xff=3", R"(unknown parameter "\xf6\xff"; there is: limit)"},
      {"/x?a%0d%0ab=3", R"(unknown parameter "a\r\nb"; there is: limit)"},
      {"/x?limit=%zz", "the query is not valid percent-encoding"},
      {"/x?%=1", "the query is not valid percent-encoding"},
  }));
  CAPTURE(c.target);
  const auto read = ReadParameters(c.target, {"limit"});
  CHECK(read.ok() == c.error.empty());
  CHECK(read.status().message() == c.error);
}

TEST_CASE("a huge query is refused as such, whatever is in it", "[debug-api]") {
  const auto read = ReadParameters(absl::StrCat("/x?limit=", std::string(kMaxQueryBytes, '1')), {"limit"});
  CHECK(ErrorReply(read.status()).code == 414);
  CHECK(ErrorReply(read.status()).body.size() < 300);
  const auto unknown = ReadParameters("/x?" + std::string(1000, 'a'), {});
  CHECK(unknown.status().message() == "unknown parameter \"" + std::string(64, 'a') + "\"; there are none");
}

TEST_CASE("a number is taken only from its range, without a default for garbage", "[debug-api]") {
  struct Case {
    std::string text;
    int64_t want;  // 0: an error
  };
  const auto c = GENERATE(values<Case>({{"1", 1},
                                        {"100", 100},
                                        {"007", 7},
                                        {"101", 0},
                                        {"0", 0},
                                        {"-1", 0},
                                        {"", 0},
                                        {"1e2", 0},
                                        {" 5", 0},
                                        {"99999999999999999999", 0}}));
  CAPTURE(c.text);
  const auto number = NumberOf({{"limit", c.text}}, "limit", 50, 100);
  CHECK(number.value_or(0) == c.want);
  CHECK((number.ok() || number.status().message() == "parameter \"limit\" must be a number from 1 to 100"));
  CHECK(NumberOf({}, "limit", 50, 100).value_or(0) == 50);
}

TEST_CASE("names that can name nothing are told apart", "[debug-api]") {
  for (const std::string name : {"a", "my-job.2", "0", "Upper"}) {
    CAPTURE(name);
    CHECK(IsObjectName(name));
  }
  for (const std::string name : {"", ".", "..", "../etc", "a/b", "a b", "-a", "a\n", "a_b", "\xc3\xa4"}) {
    CAPTURE(name);
    CHECK_FALSE(IsObjectName(name));
  }
  CHECK_FALSE(IsObjectName(std::string(254, 'a')));
}

TEST_CASE("errors have the form of a Kubernetes Status", "[debug-api]") {
  const HttpResponse response = ErrorReply(absl::NotFoundError("no \"such\" unit"));
  CHECK(response.code == 404);
  CHECK(*response.headers.Find("Content-Type") == "application/json");
  CHECK(response.headers.Find("Retry-After") == nullptr);
  CHECK(response.body == R"({
	"kind": "Status",
	"apiVersion": "v1",
	"metadata": {},
	"status": "Failure",
	"message": "no \"such\" unit",
	"reason": "NotFound",
	"code": 404
}
)");
}

TEST_CASE("each status has its code, and what passes says when to come again", "[debug-api]") {
  struct Case {
    absl::Status status;
    int code;
    bool again;
  };
  const auto c = GENERATE(values<Case>({{absl::InvalidArgumentError("x"), 400, false},
                                        {absl::NotFoundError("x"), 404, false},
                                        {absl::OutOfRangeError("x"), 414, false},
                                        {absl::ResourceExhaustedError("x"), 429, true},
                                        {absl::UnavailableError("x"), 503, true},
                                        {absl::UnknownError("x"), 502, false}}));
  CAPTURE(c.code);
  CHECK(ErrorReply(c.status).code == c.code);
  CHECK((ErrorReply(c.status).headers.Find("Retry-After") != nullptr) == c.again);
}

}  // namespace
}  // namespace kq::debug_api
