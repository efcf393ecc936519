#ifndef CLI_KQCTL_QUOTA_TREE_H_
#define CLI_KQCTL_QUOTA_TREE_H_

#include <string>

#include "proto/queueing/v1/snapshot.pb.h"

namespace kq::kqctl {

enum class Glyphs { kAscii, kUnicode };

// The quotas as a tree with a bar per resource, in at most 100 columns:
//
//   QUOTA            RESOURCE  USED OF MAX                 USED  MIN  MAX
//   org              cpu       [#####.......|...........]     5   10   20
//   |- team-a        cpu       [##################......]     3    4    4
//                    memory    [........................]     0    -  8Gi
//   `- team-b        cpu       [############|...........]     2    2    4
//
// The bar is what is used of max, with a mark where min ends. A resource
// without a max is unlimited and has no bar. Quotas whose parent is not there
// begin a tree of their own, and so does each cycle. What is wrong with a quota
// stands below it: after "!" why it admits nothing, after "*" a warning, with which it
// admits all the same.
std::string QuotaTreeText(const queueing::v1::Snapshot& snapshot, Glyphs glyphs);

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_QUOTA_TREE_H_
