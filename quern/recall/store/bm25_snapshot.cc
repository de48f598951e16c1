#include "quern/recall/store/bm25_snapshot.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "quern/recall/store/segment.h"

namespace quern::recall {
namespace {

constexpr std::string_view kMagic = "QRNBM25A";
constexpr size_t kAlign = 64;
enum SnapshotSection : size_t { kIds, kNote, kKeys, kTerms, kLengths, kSlabs, kSections };

struct SnapshotEntry {
  uint64_t offset, bytes, check;
};
struct SnapshotHead {
  char magic[8];
  uint64_t words;
  std::array<SnapshotEntry, kSections> table;
  uint64_t check;  // of what precedes
};

uint64_t check_of(const SnapshotHead& h) {
  return content_check(std::as_bytes(std::span(&h, 1)).first(offsetof(SnapshotHead, check)));
}

}  // namespace

void write_bm25_snapshot(const std::filesystem::path& path, const Bm25Index& index, std::span<const std::byte> note) {
  const Bm25Part p = index.part();
  const PostingsView& v = p.postings;
  std::array<std::vector<std::span<const std::byte>>, kSections> sections;
  sections[kIds] = {std::as_bytes(p.ids)};
  sections[kNote] = {note};
  sections[kKeys] = {std::as_bytes(v.keys)};
  sections[kTerms] = {std::as_bytes(v.terms)};
  sections[kLengths] = {std::as_bytes(v.lengths)};
  for (size_t i = 0; i < v.slabs.size(); ++i)
    sections[kSlabs].push_back(std::as_bytes(
        std::span(v.slabs[i], i + 1 < v.slabs.size() ? kSlabWords : index.postings().last_slab_words())));
  static constexpr std::array<std::byte, kAlign> kZeros{};
  SnapshotHead head{};
  std::memcpy(head.magic, kMagic.data(), kMagic.size());
  head.words = p.words;
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(&head, 1))};
  uint64_t at = sizeof(head);
  for (size_t i = 0; i < kSections; ++i) {
    const size_t gap = (kAlign - at % kAlign) % kAlign;
    pieces.push_back(std::span(kZeros).first(gap));
    at += gap;
    SnapshotEntry& e = head.table[i];
    e.offset = at;
    for (const auto& piece : sections[i]) {
      e.bytes += piece.size(), e.check = mix64(e.check ^ content_check(piece));
      pieces.push_back(piece);
    }
    at += e.bytes;
  }
  head.check = check_of(head);
  write_durably(path, pieces);
}

Bm25Snapshot::Bm25Snapshot(const std::filesystem::path& path) : file_(path) {
  const std::span<const std::byte> all = file_.bytes();
  const auto damaged = [&](const std::string& what) {
    fail("{} is damaged or not a word index: {}", path.string(), what);
  };
  if (all.size() < sizeof(SnapshotHead))
    damaged(fmt::format("{} bytes, a head has {}", all.size(), sizeof(SnapshotHead)));
  SnapshotHead head;
  std::memcpy(&head, all.data(), sizeof(head));
  if (std::memcmp(head.magic, kMagic.data(), kMagic.size()) != 0 || head.check != check_of(head)) damaged("its head");
  for (size_t i = 0; i < kSections; ++i) {
    const SnapshotEntry& e = head.table[i];
    if (e.offset > all.size() || e.bytes > all.size() - e.offset)
      damaged(fmt::format("section {} ends at {} of {} bytes", i, e.offset + e.bytes, all.size()));
    uint64_t check = i == kSlabs || e.bytes > 0 ? 0 : mix64(content_check({}));
    const size_t piece = i == kSlabs ? size_t{kSlabWords} * 4 : e.bytes;
    for (uint64_t at = 0; at < e.bytes; at += piece)
      check = mix64(check ^ content_check(all.subspan(e.offset + at, std::min<uint64_t>(piece, e.bytes - at))));
    if (check != e.check) damaged(fmt::format("section {} is not what was written", i));
  }
  const auto section = [&]<class T>(size_t i, std::span<const T>& out) {
    out = {reinterpret_cast<const T*>(all.data() + head.table[i].offset), head.table[i].bytes / sizeof(T)};
  };
  std::span<const uint32_t> slabs;
  section(kIds, part_.ids), section(kNote, note_), section(kSlabs, slabs);
  section(kKeys, part_.postings.keys), section(kTerms, part_.postings.terms);
  section(kLengths, part_.postings.lengths);
  for (size_t at = 0; at < slabs.size(); at += kSlabWords) slabs_.push_back(slabs.data() + at);
  part_.postings.slabs = slabs_, part_.words = head.words;
}

}  // namespace quern::recall
