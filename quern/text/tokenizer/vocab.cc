#include "quern/text/tokenizer/vocab.h"

#include <bit>

#include "quern/base/error.h"

namespace quern::text {
namespace {
constexpr int64_t kMaxId = 1 << 24;
}

void Vocab::reserve(size_t tokens, size_t bytes) {
  blob_.reserve(bytes);
  spans_.reserve(tokens);
  size_t want = std::bit_ceil(tokens * 2 + 16);
  if (want > slots_.size()) {
    slots_.assign(want, Slot{});
    mask_ = want - 1;
    QUERN_CHECK(count_ == 0, "reserve() must come before add()");
  }
}

void Vocab::grow() {
  insert_waiting();
  size_t want = slots_.empty() ? 64 : slots_.size() * 2;
  slots_.assign(want, Slot{});
  mask_ = want - 1;
  for (size_t id = 0; id < spans_.size(); ++id) {
    if (!spans_[id].used) continue;
    std::string_view t = token(static_cast<int32_t>(id));
    uint64_t h = hash_bytes(t.data(), t.size());
    size_t i = h & mask_;
    while (slots_[i].id >= 0) i = (i + 1) & mask_;
    slots_[i] = {static_cast<uint32_t>(h >> 32), static_cast<int32_t>(id)};
  }
}

void Vocab::insert_waiting() {
  for (auto [h, id] : waiting_) {
    size_t i = h & mask_;
    for (; slots_[i].id >= 0; i = (i + 1) & mask_)
      if (slots_[i].tag == static_cast<uint32_t>(h >> 32) && token(slots_[i].id) == token(id))
        fail("tokenizer.json: token '{}' is listed twice, with ids {} and {}", token(id), slots_[i].id, id);
    slots_[i] = {static_cast<uint32_t>(h >> 32), id};
  }
  waiting_.clear();
}

void Vocab::add(std::string_view token, int64_t id) {
  if (id < 0 || id >= kMaxId) fail("tokenizer.json: token '{}' has id {}, expected 0 … {}", token, id, kMaxId - 1);
  if (blob_.size() + token.size() > UINT32_MAX) fail("tokenizer.json: the vocabulary is larger than 4 GiB");
  if ((count_ + 1) * 2 > slots_.size()) grow();
  auto at = static_cast<size_t>(id);
  if (at >= spans_.size()) spans_.resize(at + 1);
  if (spans_[at].used)
    fail("tokenizer.json: id {} belongs to both '{}' and '{}'", id, this->token(static_cast<int32_t>(id)), token);
  uint64_t h = hash_bytes(token.data(), token.size());
  prefetch(h);
  waiting_.push_back({h, static_cast<int32_t>(id)});
  spans_[at].at = static_cast<uint32_t>(blob_.size());
  spans_[at].len = static_cast<uint32_t>(token.size()) & 0x7FFFFFFF;
  spans_[at].used = 1;
  blob_ += token;
  ++count_;
  if (waiting_.size() == 32) insert_waiting();
}

void Vocab::finish() {
  insert_waiting();
  if (spans_.size() > count_ * 4 + 65536)
    fail("tokenizer.json: {} tokens but ids up to {}: ids must be nearly contiguous", count_, spans_.size() - 1);
}

}  // namespace quern::text
