#ifndef LIBS_HTTP_CHUNK_HEADER_H_
#define LIBS_HTTP_CHUNK_HEADER_H_

#include <cstddef>

namespace kq {

// Where the header of a chunk is not whole yet, at least so many bytes are still to be
// read from its beginning on: "0" and two line ends. Who waits for them waits for
// nothing that does not come. Boost.Beast must not be given less a second time: once
// it has seen that the chunk is the last one it asserts this length, and a peer that
// sends "0\r\n" and then "\r" would end the process.
inline constexpr size_t kLeastChunkBytes = 5;

}  // namespace kq

#endif  // LIBS_HTTP_CHUNK_HEADER_H_
