// Bazel compiles this when a program is linked, and gives the macro.
namespace kq {

extern const char kCommitStamp[];
const char kCommitStamp[] = BUILD_SCM_REVISION;

}  // namespace kq
