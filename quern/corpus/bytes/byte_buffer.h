// A growing byte buffer that does not zero new bytes, so that files are read straight into it. Capacity doubles when
// needed.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace quern::corpus {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& o) noexcept { swap(o); }
  ByteBuffer& operator=(ByteBuffer&& o) noexcept {
    ByteBuffer gone(std::move(o));
    swap(gone);
    return *this;
  }
  void swap(ByteBuffer& o) noexcept {
    std::swap(bytes_, o.bytes_), std::swap(size_, o.size_), std::swap(room_, o.room_);
  }
  char* data() { return bytes_.get(); }
  const char* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  std::string_view view() const { return {bytes_.get(), size_}; }
  void clear() { size_ = 0; }
  void shrink(size_t size) { size_ = size; }  // at most what it is
  void reserve(size_t room) {
    if (room <= room_) return;
    std::unique_ptr<char[]> larger(new char[room]);
    if (size_ > 0) std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger), room_ = room;
  }
  char* grow(size_t n) {  // to where n more bytes are to be written
    if (n > room_ - size_) reserve(std::max(size_ + n, 2 * room_));
    size_ += n;
    return bytes_.get() + (size_ - n);
  }
  void append(std::string_view s) {
    if (!s.empty()) std::memcpy(grow(s.size()), s.data(), s.size());
  }
  void drop_front(size_t n) {
    size_ -= n;
    if (size_ > 0) std::memmove(bytes_.get(), bytes_.get() + n, size_);
  }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0, room_ = 0;
};

}  // namespace quern::corpus
