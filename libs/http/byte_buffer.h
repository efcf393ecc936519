#ifndef LIBS_HTTP_BYTE_BUFFER_H_
#define LIBS_HTTP_BYTE_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace kq {

// Bytes that were received and not used yet, in one piece. Keeps its space for
// the next message. Its owner limits what it holds. Not thread-safe.
class ByteBuffer {
 public:
  // Valid until the next Space.
  absl::string_view View() const { return absl::string_view(space_.data() + begin_, end_ - begin_); }
  void Consume(size_t bytes) { begin_ += bytes; }

  // Where to read more, and how much fits there: at least kLeastBytes.
  std::pair<char*, size_t> Space() {
    if (begin_ == end_) begin_ = end_ = 0;
    if (space_.size() - end_ < kLeastBytes && begin_ > 0) {
      std::copy(space_.begin() + static_cast<ptrdiff_t>(begin_), space_.begin() + static_cast<ptrdiff_t>(end_),
                space_.begin());
      end_ -= std::exchange(begin_, 0);
    }
    if (space_.size() - end_ < kLeastBytes) space_.resize(std::max(kFirstBytes, space_.size() * 2));
    return {space_.data() + end_, space_.size() - end_};
  }
  // Counts bytes that were read there; returns their number.
  size_t Commit(size_t bytes) {
    end_ += bytes;
    return bytes;
  }

 private:
  static constexpr size_t kLeastBytes = 4 << 10;
  static constexpr size_t kFirstBytes = 16 << 10;

  std::vector<char> space_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace kq

#endif  // LIBS_HTTP_BYTE_BUFFER_H_
