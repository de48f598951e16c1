#include "quern/data/indexed.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "quern/base/error.h"

namespace quern::data {
namespace {

constexpr char kMagic[9] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};
constexpr size_t kHeader = sizeof(kMagic) + 8 + 1 + 8 + 8;

template <class T>
T at(const std::byte* p, int64_t i = 0) {  // nothing in the file is aligned
  T v;
  std::memcpy(&v, p + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return v;
}

template <class T>
void append(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof(T));
}

// Calls f with a value of the element type's C++ type.
template <class F>
auto with_token_type(TokenType t, F&& f) {
  switch (t) {
    case TokenType::u8:
      return f(uint8_t{});
    case TokenType::i8:
      return f(int8_t{});
    case TokenType::i16:
      return f(int16_t{});
    case TokenType::u16:
      return f(uint16_t{});
    case TokenType::i64:
      return f(int64_t{});
    case TokenType::i32:
      break;
  }
  return f(int32_t{});
}

}  // namespace

std::filesystem::path with_suffix(std::filesystem::path prefix, const char* suffix) {
  prefix += suffix;
  return prefix;
}

int64_t token_type_size(TokenType t) {
  return with_token_type(t, [](auto v) { return static_cast<int64_t>(sizeof v); });
}

TokenType token_type_for(int64_t vocab) { return vocab <= 65536 ? TokenType::u16 : TokenType::i32; }

IndexedTokens::IndexedTokens(const std::filesystem::path& prefix)
    : prefix_(prefix), index_(with_suffix(prefix, ".idx")), data_(with_suffix(prefix, ".bin")) {
  const std::string name = index_.path().string();
  const std::byte* p = index_.bytes().data();
  const uint64_t size = index_.bytes().size();
  if (size < kHeader) fail("{}: {} bytes, expected a header of {}", name, size, kHeader);
  if (std::memcmp(p, kMagic, sizeof(kMagic)) != 0)
    fail("{}: does not begin with MMIDIDX: not an index of token shards", name);
  if (uint64_t version = at<uint64_t>(p + 9); version != 1) fail("{}: version {}, expected 1", name, version);
  const int code = static_cast<int>(p[17]);
  if (code != 1 && code != 2 && code != 3 && code != 4 && code != 5 && code != 8)
    fail("{}: element type {}, expected an integer type: 1, 2, 3, 4, 5 or 8", name, code);
  type_ = static_cast<TokenType>(code);
  const uint64_t n = at<uint64_t>(p + 18), d = at<uint64_t>(p + 26), rest = size - kHeader;
  if (n > rest / 12 || d > (rest - n * 12) / 8)
    fail("{}: {} sequences and {} document marks do not fit its {} bytes", name, n, d, size);
  if (d < 1) fail("{}: no document marks", name);

  const std::byte *lengths = p + kHeader, *marks = lengths + n * 12;
  offsets_ = lengths + n * 4;
  const int64_t each = token_type_size(type_), bytes = static_cast<int64_t>(data_.bytes().size());
  starts_.reserve(n + 1);
  starts_.push_back(0);
  for (int64_t i = 0; i < static_cast<int64_t>(n); ++i) {
    const int64_t length = at<int32_t>(lengths, i), offset = at<int64_t>(offsets_, i);
    if (length < 0) fail("{}: sequence {} has length {}", name, i, length);
    if (offset < 0 || offset > bytes || length * each > bytes - offset)
      fail("{}: sequence {} at byte {} of length {} reaches past the {} bytes of {}", name, i, offset, length, bytes,
           data_.path().string());
    starts_.push_back(starts_.back() + length);  // at most 2³¹ a sequence that takes 12 bytes here: no overflow
  }
  int64_t before = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(d); ++i) {
    const int64_t mark = at<int64_t>(marks, i);
    if (mark < before || mark > static_cast<int64_t>(n) || (i == 0 && mark != 0))
      fail("{}: document mark {} is {}, expected 0 … {} in ascending order", name, i, mark, n);
    documents_.push_back(starts_[static_cast<size_t>(mark)]);
    before = mark;
  }
  if (before != static_cast<int64_t>(n)) fail("{}: the last document mark is {}, expected {}", name, before, n);
}

int64_t IndexedTokens::document_at(int64_t token) const {
  QUERN_CHECK(token >= 0 && token < tokens(), "token {} of {}", token, tokens());
  return std::upper_bound(documents_.begin(), documents_.end(), token) - documents_.begin() - 1;
}

void IndexedTokens::read(int64_t begin, std::span<int32_t> out) const {
  const int64_t n = static_cast<int64_t>(out.size());
  QUERN_CHECK(begin >= 0 && n <= tokens() - begin, "tokens {} … {} of {}", begin, begin + n, tokens());
  if (n == 0) return;
  auto s = std::upper_bound(starts_.begin(), starts_.end(), begin) - starts_.begin() - 1;
  with_token_type(type_, [&](auto element) {
    using T = decltype(element);
    for (int64_t done = 0; done < n; ++s) {
      const int64_t skip = begin + done - starts_[static_cast<size_t>(s)];
      const int64_t take = std::min(n - done, starts_[static_cast<size_t>(s) + 1] - (begin + done));
      const std::byte* from =
          data_.bytes().data() + at<int64_t>(offsets_, s) + skip * static_cast<int64_t>(sizeof(T));
      for (int64_t i = 0; i < take; ++i) {
        const T id = at<T>(from, i);
        if constexpr (std::is_same_v<T, int64_t>)
          if (id < std::numeric_limits<int32_t>::min() || id > std::numeric_limits<int32_t>::max())
            fail("{}: token {} is {}, expected a 32-bit id", data_.path().string(), begin + done + i, id);
        out[static_cast<size_t>(done + i)] = static_cast<int32_t>(id);
      }
      done += take;
    }
  });
}

IndexedWriter::IndexedWriter(std::filesystem::path prefix, TokenType type, std::filesystem::path part)
    : prefix_(std::move(prefix)), bin_part_(std::move(part)), type_(type) {
  if (prefix_.has_parent_path()) std::filesystem::create_directories(prefix_.parent_path());
  if (bin_part_.empty()) (bin_part_ = prefix_) += fmt::format(".bin.part{}", ::getpid());
  bin_ = std::fopen(bin_part_.c_str(), "wb");
  if (!bin_) fail("cannot write {}: {}", bin_part_.string(), std::strerror(errno));
}

IndexedWriter::~IndexedWriter() {
  if (!bin_) return;
  std::fclose(bin_);
  std::remove(bin_part_.c_str());
}

void append_tokens(std::span<const int32_t> document, TokenType type, const std::filesystem::path& prefix,
                   std::vector<std::byte>& to) {
  if (document.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    fail("a document of {} tokens: at most 2^31 - 1", document.size());
  with_token_type(type, [&](auto element) {
    using T = decltype(element);
    const size_t from = to.size();
    to.resize(from + document.size() * sizeof(T));
    for (size_t i = 0; i < document.size(); ++i) {
      const T v = static_cast<T>(document[i]);
      if (static_cast<int64_t>(v) != document[i])
        fail("token {} does not fit the {}-byte ids of {}", document[i], sizeof(T), prefix.string());
      std::memcpy(to.data() + from + i * sizeof(T), &v, sizeof(T));
    }
  });
}

std::string index_header(TokenType type, uint64_t documents) {
  std::string header(kMagic, sizeof(kMagic));
  append<uint64_t>(header, 1);
  append<uint8_t>(header, static_cast<uint8_t>(type));
  append<uint64_t>(header, documents);
  append<uint64_t>(header, documents + 1);
  return header;
}

void IndexedWriter::add(std::span<const int32_t> document) {
  buffer_.clear();
  append_tokens(document, type_, prefix_, buffer_);
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), bin_) != buffer_.size())
    fail("cannot write {}: {}", bin_part_.string(), std::strerror(errno));
  lengths_.push_back(static_cast<int32_t>(document.size()));
  tokens_ += static_cast<int64_t>(document.size());
}

void IndexedWriter::finish() {
  std::string index = index_header(type_, lengths_.size());
  for (int32_t l : lengths_) append(index, l);
  int64_t offset = 0;
  for (int32_t l : lengths_) append(index, offset), offset += l * token_type_size(type_);
  for (int64_t d = 0; d <= documents(); ++d) append(index, d);

  const bool written = std::fflush(bin_) == 0 && ::fsync(::fileno(bin_)) == 0;
  if (std::fclose(std::exchange(bin_, nullptr)) != 0 || !written) {
    const int e = errno;
    std::remove(bin_part_.c_str());
    fail("cannot write {}: {}", bin_part_.string(), std::strerror(e));
  }
  const std::filesystem::path idx = with_suffix(prefix_, ".idx"), bin = with_suffix(prefix_, ".bin");
  std::filesystem::remove(idx);  // an old index never stands beside new data
  std::filesystem::rename(bin_part_, bin);
  write_file(idx, index);
}

}  // namespace quern::data
