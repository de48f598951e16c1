#include "quern/text/tokenizer/unigram.h"

#include <algorithm>
#include <limits>

#include "quern/base/error.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

constexpr double kUnknownPenalty = 10;
constexpr double kNever = -std::numeric_limits<double>::infinity();

size_t slot_of(uint64_t edge, size_t mask) { return hash_fold(edge, 0x9E3779B97F4A7C15u) & mask; }

}  // namespace

uint32_t Unigram::child(uint32_t node, unsigned char byte) const {
  const uint64_t edge = uint64_t{node} << 8 | byte;
  const size_t mask = slots_.size() - 1;
  for (size_t i = slot_of(edge, mask);; i = (i + 1) & mask) {
    if (slots_[i].edge == edge) return slots_[i].node;
    if (slots_[i].edge == ~uint64_t{0}) return 0;
  }
}

void Unigram::grow() {
  std::vector<Slot> old(slots_.empty() ? 1024 : slots_.size() * 2);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& s : old) {
    if (s.edge == ~uint64_t{0}) continue;
    size_t i = slot_of(s.edge, mask);
    while (slots_[i].edge != ~uint64_t{0}) i = (i + 1) & mask;
    slots_[i] = s;
  }
}

uint32_t Unigram::child_or_new(uint32_t node, unsigned char byte) {
  if (const uint32_t there = child(node, byte)) return there;
  if (ids_.size() * 2 > slots_.size()) grow();
  const uint64_t edge = uint64_t{node} << 8 | byte;
  const size_t mask = slots_.size() - 1;
  size_t i = slot_of(edge, mask);
  while (slots_[i].edge != ~uint64_t{0}) i = (i + 1) & mask;
  slots_[i] = {edge, static_cast<uint32_t>(ids_.size())};
  ids_.push_back(-1);
  return slots_[i].node;
}

void Unigram::finish(const Vocab& v) {
  if (unk_id >= static_cast<int64_t>(scores.size()))
    fail("tokenizer.json: model.unk_id {} is outside of the vocabulary of {}", unk_id, scores.size());
  slots_.clear();
  ids_.assign(1, -1);
  grow();
  double lowest = std::numeric_limits<double>::infinity();
  for (double s : scores) lowest = std::min(lowest, s);
  unk_score_ = lowest - kUnknownPenalty;
  for (int32_t id = 0; id < v.end(); ++id) {
    uint32_t node = 0;
    for (char c : v.token(id)) node = child_or_new(node, static_cast<unsigned char>(c));
    ids_[node] = id;
  }
  for (int b = 0; b < 256; ++b) byte_id_[b] = v.find(fmt::format("<0x{:02X}>", b));
}

void Unigram::unknown(const Vocab& v, std::string_view text, std::vector<int32_t>& out) const {
  if (const int32_t id = v.find(text); id >= 0) return out.push_back(id);
  const auto byte_id = [&](char c) { return byte_id_[static_cast<unsigned char>(c)]; };
  if (byte_fallback && std::all_of(text.begin(), text.end(), [&](char c) { return byte_id(c) >= 0; })) {
    for (char c : text) out.push_back(byte_id(c));
    return;
  }
  if (unk_id < 0) fail("text to encode: '{}' is in no token, and the tokenizer has none for the unknown", text);
  out.push_back(static_cast<int32_t>(unk_id));
}

void Unigram::encode(const Vocab& v, std::string_view piece, UnigramScratch& s, std::vector<int32_t>& out) const {
  const size_t n = piece.size();
  s.best.assign(n + 1, {-2, 0, kNever});
  s.best[0] = {-2, 0, 0};
  for (size_t at = 0; at < n;) {
    const size_t character = utf8_at(piece, at).len;
    const double so_far = s.best[at].score;
    bool covered = false;
    const auto offer = [&](size_t end, int32_t id, double score) {
      if (s.best[end].id == -2 || score > s.best[end].score) s.best[end] = {id, static_cast<uint32_t>(at), score};
    };
    uint32_t node = 0;
    for (size_t end = at; end < n && (node = child(node, static_cast<unsigned char>(piece[end]))) != 0;) {
      ++end;
      const int32_t id = ids_[node];
      if (id < 0) continue;
      offer(end, id, scores[static_cast<size_t>(id)] + so_far);
      covered = covered || end - at == character;
    }
    if (!covered) offer(at + character, -1, unk_score_ + so_far);
    at += character;
  }
  s.ends.clear();
  for (size_t end = n; end > 0; end = s.best[end].begin) s.ends.push_back(static_cast<uint32_t>(end));
  size_t unknown_from = n + 1;  // of the run of characters that no token covers
  for (size_t i = s.ends.size(); i-- > 0;) {
    const auto& node = s.best[s.ends[i]];
    const bool is_unknown = node.id == -1 || node.id == unk_id;
    if (is_unknown) unknown_from = std::min<size_t>(unknown_from, node.begin);
    const bool ends_run = !is_unknown || i == 0;
    const size_t run_end = is_unknown ? s.ends[i] : node.begin;
    if (ends_run && unknown_from <= n) {
      unknown(v, piece.substr(unknown_from, run_end - unknown_from), out);
      unknown_from = n + 1;
    }
    if (!is_unknown) out.push_back(node.id);
  }
}

}  // namespace quern::text
