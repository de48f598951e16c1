#include "quern/encoders/words/word_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"

namespace quern::encoders {
namespace {

constexpr std::string_view kMagic = "quern-words-1\n";
constexpr size_t kHead = kMagic.size() + 3 * sizeof(uint32_t) + sizeof(uint64_t);
constexpr uint32_t kMaxRows = 1u << 22, kMaxWidth = 1024;
constexpr float kTop = 7;  // of the numbers of 4 bits

float product(std::span<const float> a, std::span<const float> b) {
  float sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace

recall::TokenOptions word_encoder_tokens() { return {.stem = true, .drop_stopwords = true}; }

WordEncoder::Reader::Reader() : words(word_encoder_tokens()) {}

WordEncoder::WordEncoder(std::vector<std::string> words, std::span<const float> rows, int64_t width)
    : width_(width), words_(std::move(words)) {
  const auto w = static_cast<size_t>(width);
  QUERN_CHECK(w % 2 == 0 && rows.size() == words_.size() * w && std::is_sorted(words_.begin(), words_.end()));
  packed_.resize(words_.size() * w / 2);
  for (size_t i = 0; i < words_.size(); ++i) {
    const std::span row = rows.subspan(i * w, w);
    float top = 0;
    for (const float x : row) top = std::max(top, std::abs(x));
    const float scale = top / kTop;
    scales_.push_back(scale);
    for (size_t k = 0; k < w; ++k) {
      const float q = scale > 0 ? std::round(row[k] / scale) : 0;
      const auto nibble = static_cast<uint8_t>(std::clamp(q, -kTop, kTop) + 8);
      packed_[(i * w + k) / 2] |= static_cast<uint8_t>(nibble << 4 * (k % 2));
    }
  }
  const std::string all = bytes();
  check_ = recall::word_key(std::string_view(all).substr(kHead));
  unpack();
}

void WordEncoder::unpack() {
  const auto w = static_cast<size_t>(width_);
  rows_.resize(words_.size() * w);
  for (size_t at = 0; at < rows_.size(); ++at) {
    const int nibble = packed_[at / 2] >> 4 * (at % 2) & 15;
    rows_[at] = scales_[at / w] * static_cast<float>(nibble - 8);
  }
  row_of_ = recall::KeyMap(words_.size());
  for (size_t i = 0; i < words_.size(); ++i) row_of_.insert(recall::word_key(words_[i]), static_cast<uint32_t>(i));
}

WordEncoder WordEncoder::load(const std::filesystem::path& file) { return parse(read_file(file), file.string()); }

WordEncoder WordEncoder::parse(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with(kMagic)) fail("{} is not a word encoder written by quern recall train-encoder", name);
  if (bytes.size() < kHead) fail("{}: damaged: it ends in its header", name);
  std::array<uint32_t, 3> shape{};
  WordEncoder e;
  std::memcpy(shape.data(), bytes.data() + kMagic.size(), sizeof shape);
  std::memcpy(&e.check_, bytes.data() + kMagic.size() + sizeof shape, sizeof e.check_);
  const auto [rows, width, letters] = shape;
  if (rows < 1 || rows > kMaxRows || width < 2 || width > kMaxWidth || width % 2 != 0)
    fail("{}: damaged: {} rows of {} numbers", name, rows, width);
  const size_t expected = kHead + letters + size_t{rows} * (sizeof(float) + width / 2);
  if (bytes.size() != expected) fail("{}: damaged: {} bytes, expected {}", name, bytes.size(), expected);
  bytes.remove_prefix(kHead);
  if (recall::word_key(bytes) != e.check_) fail("{}: damaged: its check does not hold", name);
  const std::string_view words = bytes.substr(0, letters);
  for (size_t begin = 0, end = 0; (end = words.find('\n', begin)) != words.npos; begin = end + 1)
    e.words_.emplace_back(words.substr(begin, end - begin));
  bytes.remove_prefix(letters);
  e.width_ = width;
  e.scales_.resize(rows), e.packed_.resize(size_t{rows} * width / 2);
  const auto take = [&](auto& to) {
    std::memcpy(to.data(), bytes.data(), to.size() * sizeof to[0]);
    bytes.remove_prefix(to.size() * sizeof to[0]);
  };
  take(e.scales_), take(e.packed_);
  if (e.words_.size() != rows ||
      std::adjacent_find(e.words_.begin(), e.words_.end(), std::greater_equal()) != e.words_.end() ||
      !std::all_of(e.scales_.begin(), e.scales_.end(), [](float s) { return std::isfinite(s); }))
    fail("{}: damaged: its words do not ascend, or a scale is not a finite number", name);
  e.unpack();
  return e;
}

std::string WordEncoder::bytes() const {
  std::string body;
  for (const std::string& w : words_) body += w + "\n";
  const std::array<uint32_t, 3> shape{static_cast<uint32_t>(words_.size()), static_cast<uint32_t>(width_),
                                      static_cast<uint32_t>(body.size())};
  const auto put = [](std::string& to, const auto& from) {
    to.append(reinterpret_cast<const char*>(from.data()), from.size() * sizeof from[0]);
  };
  put(body, scales_), put(body, packed_);
  std::string out(kMagic);
  put(out, shape), put(out, std::array{recall::word_key(body)});
  return out + body;
}

std::span<const uint32_t> WordEncoder::known_words(std::string_view text, Reader& reader) const {
  reader.keys.clear(), reader.known.clear();
  reader.words.append(text, reader.keys);
  for (const uint64_t key : reader.keys)
    if (const uint32_t row = row_of_.find(key); row != recall::KeyMap::kNone) reader.known.push_back(row);
  std::sort(reader.known.begin(), reader.known.end());
  reader.known.erase(std::unique(reader.known.begin(), reader.known.end()), reader.known.end());
  return reader.known;
}

size_t WordEncoder::embed(std::string_view text, Reader& reader, std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.f);
  const std::span known = known_words(text, reader);
  for (const uint32_t i : known) {
    const float* from = row(i).data();
    for (size_t k = 0; k < out.size(); ++k) out[k] += from[k];
  }
  const float square = product(out, out);
  if (square > 0)
    for (float& x : out) x /= std::sqrt(square);
  return known.size();
}

std::vector<uint32_t> WordEncoder::nearest(std::span<const float> text, size_t n) const {
  const auto w = static_cast<size_t>(width_);
  std::vector<std::pair<float, uint32_t>> found;
  found.reserve(words_.size());
  for (uint32_t i = 0; i < words_.size(); ++i) {
    const float* from = row(i).data();
    constexpr size_t kLanes = 8;  // sums that do not wait for each other
    float both[kLanes] = {}, square[kLanes] = {};
    size_t k = 0;
    for (; k + kLanes <= w; k += kLanes)
      for (size_t l = 0; l < kLanes; ++l)
        both[l] += from[k + l] * text[k + l], square[l] += from[k + l] * from[k + l];
    for (; k < w; ++k) both[0] += from[k] * text[k], square[0] += from[k] * from[k];
    for (size_t l = 1; l < kLanes; ++l) both[0] += both[l], square[0] += square[l];
    if (square[0] > 0) found.emplace_back(-both[0] / std::sqrt(square[0]), i);
  }
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(n, found.size()));
  std::partial_sort(found.begin(), end, found.end());
  std::vector<uint32_t> out;
  for (auto at = found.begin(); at != end; ++at) out.push_back(at->second);
  return out;
}

void save_word_encoder(const WordEncoder& encoder, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  Json config = Json::object();
  config.set("model_type", kWordModelType), config.set("vocab_size", encoder.rows());
  config.set("hidden_size", encoder.width());
  write_file(folder / kWordFile, encoder.bytes());
  write_file(folder / "config.json", config.dump(2) + "\n");
}

}  // namespace quern::encoders
