#include "libs/common/version.h"

#include <catch2/catch.hpp>

namespace kq {
namespace {

// Else each commit would run all tests again.
TEST_CASE("no commit is stamped into a test", "[version]") { CHECK(GitCommit() == "unknown"); }

}  // namespace
}  // namespace kq
