// Token shards in Megatron's indexed format: PREFIX.bin holds the concatenated ids, PREFIX.idx the positions of
// sequences and documents. Little-endian, unaligned:
//   "MMIDIDX\0\0", version u64 = 1, element type u8 (1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 8 u16), sequences u64 = n,
//   document marks u64 = d;  lengths i32[n], byte offsets i64[n], document marks i64[d] (0 … n, not decreasing)
// What follows (modes) is ignored. Reading memory-maps both files; every field is checked before use. A document is
// what lies between two marks. Memory: 8 bytes per sequence and 8 per document.
#pragma once
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "quern/base/mmap.h"

namespace quern::data {

enum class TokenType : uint8_t { u8 = 1, i8 = 2, i16 = 3, i32 = 4, i64 = 5, u16 = 8 };
int64_t token_type_size(TokenType t);

class IndexedTokens {
 public:
  explicit IndexedTokens(const std::filesystem::path& prefix);  // throws Error naming file and field
  int64_t documents() const { return static_cast<int64_t>(documents_.size()) - 1; }
  int64_t sequences() const { return static_cast<int64_t>(starts_.size()) - 1; }
  int64_t tokens() const { return starts_.back(); }
  TokenType type() const { return type_; }
  const std::filesystem::path& prefix() const { return prefix_; }
  // All sequences as one stream of tokens: where document d begins (d = documents(): its end).
  int64_t document_begin(int64_t d) const { return documents_[static_cast<size_t>(d)]; }
  int64_t document_length(int64_t d) const { return document_begin(d + 1) - document_begin(d); }
  int64_t document_at(int64_t token) const;  // the one that holds it
  void read(int64_t begin, std::span<int32_t> out) const;

 private:
  std::filesystem::path prefix_;
  MappedFile index_, data_;
  TokenType type_ = TokenType::i32;
  const std::byte* offsets_ = nullptr;
  std::vector<int64_t> starts_, documents_;  // in tokens of the stream
};

// Writes elsewhere and renames at the end: readers see the old set or the new one, or none. Without a place of the
// caller's on the same file system that is beside the final name, where a process that is killed leaves it.
class IndexedWriter {
 public:
  IndexedWriter(std::filesystem::path prefix, TokenType type, std::filesystem::path part = {});
  ~IndexedWriter();  // without finish(): nothing stays behind
  IndexedWriter(const IndexedWriter&) = delete;
  IndexedWriter& operator=(const IndexedWriter&) = delete;
  void add(std::span<const int32_t> document);  // throws Error when an id does not fit the type
  void finish();
  int64_t documents() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t tokens() const { return tokens_; }

 private:
  std::filesystem::path prefix_, bin_part_;
  TokenType type_;
  std::FILE* bin_ = nullptr;
  std::vector<int32_t> lengths_;
  std::vector<std::byte> buffer_;
  int64_t tokens_ = 0;
};

// For whoever writes both files in pieces: a document's ids as PREFIX.bin has them, behind what lies in `to` (throws Error
// when one does not fit the type), and what PREFIX.idx begins with.
void append_tokens(std::span<const int32_t> document, TokenType type, const std::filesystem::path& prefix,
                   std::vector<std::byte>& to);
std::string index_header(TokenType type, uint64_t documents);

// The smallest type that holds ids below `vocab`, of those every reader knows: u16 or i32.
TokenType token_type_for(int64_t vocab);
std::filesystem::path with_suffix(std::filesystem::path prefix, const char* suffix);  // "shard.v2" → "shard.v2.bin"

}  // namespace quern::data
