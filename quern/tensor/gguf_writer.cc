#include "quern/tensor/gguf_writer.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>

#include "quern/base/error.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kVersion = 3;
constexpr size_t kAlignment = 32;
constexpr uint32_t kArray = 9;

// The nearest f16, ties to even; throws Error beyond the largest.
uint16_t f32_to_f16(float f) {
  const auto bits = std::bit_cast<uint32_t>(f);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const float a = std::fabs(f);
  if (std::isnan(f)) return sign | 0x7e00u;
  if (std::isinf(f)) return sign | 0x7c00u;
  if (a >= 65520.0f) fail("{} is beyond the range of f16, choose bf16 or f32", f);
  if (a < 6.103515625e-05f)  // subnormal: in steps of 2^-24
    return sign | static_cast<uint16_t>(std::nearbyint(static_cast<double>(a) * 16777216.0));
  const uint32_t rounded = (bits & 0x7fffffffu) + 0xfffu + (bits >> 13 & 1u);
  return sign | static_cast<uint16_t>((rounded - (112u << 23)) >> 13);
}

template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

void put_text(std::string& out, const std::string& s) {
  put(out, static_cast<uint64_t>(s.size()));
  out += s;
}

// A value's kind, as the format numbers them, and its bytes.
struct Encode {
  std::string& out;
  bool inside = false;  // of an array, whose kind was said once
  void kind(uint32_t k) const {
    if (!inside) put(out, k);
  }
  void operator()(uint32_t v) const { kind(4), put(out, v); }
  void operator()(int32_t v) const { kind(5), put(out, v); }
  void operator()(float v) const { kind(6), put(out, v); }
  void operator()(bool v) const { kind(7), put(out, static_cast<uint8_t>(v)); }
  void operator()(const std::string& v) const { kind(8), put_text(out, v); }
  template <class T>
  void operator()(const std::vector<T>& v) const {
    constexpr uint32_t item = std::is_same_v<T, int32_t> ? 5 : std::is_same_v<T, float> ? 6 : 8;
    kind(kArray), put(out, item), put(out, static_cast<uint64_t>(v.size()));
    for (const T& x : v) Encode{out, true}(x);
  }
};

// A block of 32 is the largest magnitude over 127, in f16, and 32 whole numbers.
std::string q8_0(std::span<const float> x) {
  constexpr size_t kBlock = 32;
  std::string out;
  out.reserve(x.size() / kBlock * 34);
  for (size_t at = 0; at < x.size(); at += kBlock) {
    float most = 0;
    for (size_t i = 0; i < kBlock; ++i) most = std::max(most, std::fabs(x[at + i]));
    const float scale = most / 127, inverse = scale > 0 ? 1 / scale : 0;
    put(out, f32_to_f16(scale));
    for (size_t i = 0; i < kBlock; ++i) put(out, static_cast<int8_t>(std::lround(x[at + i] * inverse)));
  }
  return out;
}

std::string encode(const Tensor& t, GgufType type) {
  if (type == GgufType::bf16) {
    const Tensor b = t.to(DType::bf16).contiguous_copy_if_needed();
    return {static_cast<const char*>(b.raw()), static_cast<size_t>(b.bytes())};
  }
  const Tensor f = t.to(DType::f32).contiguous_copy_if_needed();
  const std::span<const float> x = f.span<float>();
  if (type == GgufType::f32) return {reinterpret_cast<const char*>(x.data()), x.size_bytes()};
  if (type == GgufType::q8_0) return q8_0(x);
  std::string out;
  out.reserve(2 * x.size());
  for (float v : x) put(out, f32_to_f16(v));
  return out;
}

size_t bytes_of(const Shape& shape, GgufType type) {
  size_t n = 1;
  for (int64_t d : shape) n *= static_cast<size_t>(d);
  const GgufFormat& f = *gguf_format(static_cast<uint32_t>(type));
  return n / static_cast<size_t>(f.elements) * static_cast<size_t>(f.bytes);
}

size_t aligned(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void GgufWriter::add(std::string name, Shape shape, GgufType type, std::function<Tensor()> read) {
  QUERN_CHECK(!shape.empty() && shape.size() <= 4, "{}: {}", name, to_string(shape));
  if (const int64_t block = gguf_format(static_cast<uint32_t>(type))->elements; shape.back() % block)
    fail("tensor '{}', shape: {}, rows are not whole blocks of {}", name, to_string(shape), block);
  tensors_.push_back({std::move(name), std::move(shape), type, std::move(read)});
}

void GgufWriter::write(const fs::path& file) const {
  std::string head = "GGUF";
  put(head, kVersion);
  put(head, static_cast<uint64_t>(tensors_.size()));
  put(head, static_cast<uint64_t>(metadata_.size()));
  for (const auto& [key, v] : metadata_) {
    put_text(head, key);
    std::visit(Encode{head}, v);
  }
  size_t offset = 0;
  for (const Entry& e : tensors_) {
    put_text(head, e.name);
    put(head, static_cast<uint32_t>(e.shape.size()));
    for (size_t i = e.shape.size(); i > 0; --i) put(head, static_cast<uint64_t>(e.shape[i - 1]));
    put(head, static_cast<uint32_t>(e.type));
    put(head, static_cast<uint64_t>(offset));
    offset += aligned(bytes_of(e.shape, e.type));
  }
  head.resize(aligned(head.size()));
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(head.data(), static_cast<std::streamsize>(head.size()));
  for (const Entry& e : tensors_) {
    const Tensor t = e.read();
    if (t.shape() != e.shape)
      fail("tensor '{}', shape: expected {}, found {}", e.name, to_string(e.shape), to_string(t.shape()));
    std::string bytes;
    try {
      bytes = encode(t, e.type);
    } catch (const Error& error) {
      fail("tensor '{}': {}", e.name, error.what());
    }
    bytes.resize(aligned(bytes.size()));
    if (!out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()))) break;
  }
  out.close();
  if (!out) fail("cannot write {}: is the disk full?", file.string());
}

}  // namespace quern
