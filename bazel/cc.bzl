"""The project's C++ rules: the native ones with the project's warnings and, for tests, its Catch2 main."""

# Every switch over an enum names all values; a Status must be looked at.
COPTS = ["-Wswitch", "-Wnon-virtual-dtor", "-Woverloaded-virtual", "-Werror=return-type", "-Werror=unused-result", "-Werror=switch"]

FEATURES = ["layering_check", "parse_headers"]  # honoured by clang; see .bazelrc

def kq_cc_library(name, copts = [], features = [], **kwargs):
    native.cc_library(name = name, copts = COPTS + copts, features = FEATURES + features, **kwargs)

def kq_cc_binary(name, copts = [], features = [], **kwargs):
    native.cc_binary(name = name, copts = COPTS + copts, features = FEATURES + features, **kwargs)

def kq_cc_test(name, size = "small", deps = [], copts = [], features = [], **kwargs):
    """A Catch2 test. One JUnit entry per TEST_CASE; --test_filter and shard_count work."""
    native.cc_test(
        name = name,
        size = size,
        copts = COPTS + copts,
        features = FEATURES + features,
        deps = deps + ["//libs/common:catch_main", "@system//:catch2"],
        **kwargs
    )

def kq_cluster_test(name, size = "large", **kwargs):
    """A Catch2 test on a real cluster, given by tools/test.sh or of its own. One at a time, without a sandboxed network."""
    kq_cc_test(name = name, size = size, tags = ["cluster", "external", "requires-network"], **kwargs)

def kq_cc_benchmark(name, deps = [], copts = [], **kwargs):
    """A Google Benchmark program: bazel run -c opt //pkg:name. Tests build it and do not run it."""
    native.cc_binary(
        name = name,
        testonly = True,
        copts = COPTS + copts,
        deps = deps + ["@system//:benchmark"],
        **kwargs
    )
