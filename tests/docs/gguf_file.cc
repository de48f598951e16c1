#include "tests/docs/gguf_file.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"

namespace quern::docs {
namespace {

enum ValueType : uint32_t { kU32 = 4, kF32 = 6, kText = 8, kArray = 9 };
enum TensorType : uint32_t { kTensorF32 = 0, kTensorQ8 = 8 };
constexpr uint64_t kAlignment = 32, kBlock = 32;  // of Q8_0: a scale in f16 and 32 integers

constexpr uint64_t kHidden = 64, kFeedForward = 128, kLayers = 2, kHeads = 4, kHeadsKv = 2, kPositions = 2048;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put_text(std::string& out, const std::string& text) {
  put<uint64_t>(out, text.size());
  out += text;
}

struct Metadata {
  uint64_t count = 0;
  std::string bytes;

  void add(const std::string& key, uint64_t value) {
    start(key, kU32);
    put(bytes, static_cast<uint32_t>(value));
  }
  void add(const std::string& key, float value) {
    start(key, kF32);
    put(bytes, value);
  }
  void add(const std::string& key, const std::string& value) {
    start(key, kText);
    put_text(bytes, value);
  }

 private:
  void start(const std::string& key, ValueType type) {
    ++count;
    put_text(bytes, key);
    put<uint32_t>(bytes, type);
  }
};

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}
  template <class T>
  T get() {
    T value{};
    if (at_ + sizeof value > file_.size()) fail("the GGUF file of the tokenizer ends early");
    std::memcpy(&value, file_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text() {
    const auto size = get<uint64_t>();
    at_ += size;
    return file_.substr(at_ - size, size);
  }
  void skip_value(uint32_t type) {
    constexpr uint64_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type == kText) {
      text();
    } else if (type == kArray) {
      const auto of = get<uint32_t>();
      elements_ = get<uint64_t>();
      for (uint64_t i = 0; i < elements_; ++i) skip_value(of);
    } else {
      at_ += kSizes[type];
    }
  }
  size_t at() const { return at_; }
  uint64_t elements() const { return elements_; }  // of the array skipped last

 private:
  const std::string& file_;
  size_t at_ = 0;
  uint64_t elements_ = 0;
};

struct Tokenizer {
  Metadata metadata;
  uint64_t size = 0;
};

Tokenizer read_tokenizer(const std::filesystem::path& path) {
  const std::string file = read_file(path);
  Reader in(file);
  if (in.get<uint32_t>() != 0x46554747 || in.get<uint32_t>() != 3)
    fail("{} is not a GGUF file, version 3", path.string());
  Tokenizer t;
  if (in.get<uint64_t>() != 0) fail("{} has tensors", path.string());
  t.metadata.count = in.get<uint64_t>();
  const size_t from = in.at();
  for (uint64_t i = 0; i < t.metadata.count; ++i) {
    const std::string key = in.text();
    in.skip_value(in.get<uint32_t>());
    if (key == "tokenizer.ggml.tokens") t.size = in.elements();
  }
  t.metadata.bytes = file.substr(from, in.at() - from);
  return t;
}

class Tensors {
 public:
  void add(const std::string& name, uint64_t columns, uint64_t rows) {
    describe(name, {columns, rows}, kTensorQ8);
    for (uint64_t block = 0; block < columns * rows / kBlock; ++block) {
      put<uint16_t>(data_, 0x1400);  // 2^-10 in f16
      for (uint64_t i = 0; i < kBlock; ++i) put(data_, static_cast<int8_t>(static_cast<int>(rng_.below(255)) - 127));
    }
    align(data_);
  }
  void add_norm(const std::string& name) {
    describe(name, {kHidden}, kTensorF32);
    for (uint64_t i = 0; i < kHidden; ++i) put(data_, 1.0f);
    align(data_);
  }
  static void align(std::string& out) { out.resize((out.size() + kAlignment - 1) / kAlignment * kAlignment); }
  uint64_t count() const { return count_; }
  const std::string& infos() const { return infos_; }
  const std::string& data() const { return data_; }

 private:
  void describe(const std::string& name, const std::vector<uint64_t>& shape, TensorType type) {
    ++count_;
    put_text(infos_, name);
    put(infos_, static_cast<uint32_t>(shape.size()));
    for (const uint64_t n : shape) put(infos_, n);
    put<uint32_t>(infos_, type);
    put<uint64_t>(infos_, data_.size());
  }

  uint64_t count_ = 0;
  std::string infos_, data_;
  Rng rng_{1};
};

Tensors random_weights(uint64_t vocabulary) {
  Tensors t;
  constexpr uint64_t kKv = kHidden / kHeads * kHeadsKv;
  t.add("token_embd.weight", kHidden, vocabulary);
  t.add("output.weight", kHidden, vocabulary);
  t.add_norm("output_norm.weight");
  for (uint64_t layer = 0; layer < kLayers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    t.add_norm(block + "attn_norm.weight");
    t.add_norm(block + "ffn_norm.weight");
    t.add(block + "attn_q.weight", kHidden, kHidden);
    t.add(block + "attn_k.weight", kHidden, kKv);
    t.add(block + "attn_v.weight", kHidden, kKv);
    t.add(block + "attn_output.weight", kHidden, kHidden);
    t.add(block + "ffn_gate.weight", kHidden, kFeedForward);
    t.add(block + "ffn_up.weight", kHidden, kFeedForward);
    t.add(block + "ffn_down.weight", kFeedForward, kHidden);
  }
  return t;
}

}  // namespace

void write_tiny_gguf(const std::filesystem::path& file, const std::filesystem::path& tokenizer,
                     const std::string& chat_template) {
  auto [metadata, vocabulary] = read_tokenizer(tokenizer);
  metadata.add("general.name", std::string("tiny"));
  metadata.add("llama.vocab_size", vocabulary);
  metadata.add("llama.context_length", kPositions);
  metadata.add("llama.embedding_length", kHidden);
  metadata.add("llama.block_count", kLayers);
  metadata.add("llama.feed_forward_length", kFeedForward);
  metadata.add("llama.attention.head_count", kHeads);
  metadata.add("llama.attention.head_count_kv", kHeadsKv);
  metadata.add("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  metadata.add("llama.rope.freq_base", 10000.0f);
  metadata.add("tokenizer.ggml.eos_token_id", vocabulary - 1);
  metadata.add("tokenizer.chat_template", chat_template);
  const Tensors tensors = random_weights(vocabulary);
  std::string out = "GGUF";
  put<uint32_t>(out, 3);
  put(out, tensors.count());
  put(out, metadata.count);
  out += metadata.bytes + tensors.infos();
  Tensors::align(out);
  write_file(file, out + tensors.data());
}

}  // namespace quern::docs
