#include "quern/corpus/stages/spans.h"

#include "quern/base/error.h"
#include "quern/corpus/dedup/candidates.h"
#include "quern/corpus/io/byte_stream.h"
#include "quern/corpus/io/hashing.h"
#include "quern/corpus/run/shards.h"
#include "quern/corpus/text/text_pieces.h"

namespace quern::corpus {
namespace {

struct WindowHasher {
  std::vector<std::string_view> words;
  std::vector<uint64_t> hashes;

  // A window's hash is a polynomial in its words' hashes modulo 2^64, mixed; f(word index, hash) for every window.
  template <class F>
  void windows(std::string_view text, size_t n, F&& f) {
    split_words(text, words);
    hashes.clear();
    for (std::string_view w : words) hashes.push_back(content_hash(w).low | 1);
    uint64_t oldest = 1, sum = 0;
    for (size_t k = 1; k < n; ++k) oldest *= kFoldA;
    for (size_t i = 0; i < hashes.size(); ++i) {
      if (i >= n) sum -= hashes[i - n] * oldest;
      sum = sum * kFoldA + hashes[i];
      if (i + 1 >= n) f(i + 1 - n, fold64(sum ^ kFoldB, kFoldC ^ (sum << 1)));
    }
  }
};

struct WindowBlock {
  std::vector<uint64_t> words;                       // of each document
  std::vector<std::pair<uint64_t, uint64_t>> found;  // word index within the block, hash
  uint64_t total = 0;
};

struct CutBlock {
  struct One {
    DocumentView view;
    std::string line, text;
    size_t raw_at = 0, raw_bytes = 0;
    std::vector<std::pair<size_t, size_t>> words;  // where each lies in the text
  };
  std::vector<One> documents;
};

}  // namespace

RepeatReport drop_repeated_spans(const Inputs& inputs, const ScanOptions& o, const SpanConfig& c,
                                 const std::filesystem::path& out, const ScanProgress& progress) {
  if (c.window < 2 || c.window > 100000) fail("windows of {} words: expected 2 to 100000", c.window);
  const auto n = static_cast<size_t>(c.window);
  prepare_output(out);
  RepeatReport r;
  SpillFile records(out);
  uint64_t words = 0;
  r.scan = scan_documents<WindowHasher, WindowBlock>(
      inputs, o, [] { return WindowHasher(); },
      [&](WindowHasher& h, const DocumentView& d, WindowBlock& b) {
        h.windows(d.text, n, [&](size_t at, uint64_t hash) { b.found.emplace_back(b.total + at, hash); });
        b.total += h.words.size();
      },
      [&](WindowBlock&& b) {
        if (words + b.total > UINT32_MAX) fail("more than 2^32 words: split the corpus");
        for (const auto& [at, hash] : b.found) {
          const BandRecord record{hash, static_cast<uint32_t>(words + at)};
          records.append(&record, sizeof record);
        }
        r.pieces += b.found.size();
        words += b.total;
      },
      [&](uint64_t bytes, uint64_t total) {
        if (progress) progress(bytes, 2 * total);
      });
  records.flush();
  std::vector<bool> cut(words);
  const SpillFile* const file = &records;
  for_each_group({&file, 1}, c.memory, [&](std::span<const uint32_t> same) {  // ascending: the first stays
    for (size_t i = 1; i < same.size(); ++i) {
      ++r.repeated;
      // From the end: what is marked already was marked by the window after this one, mostly.
      for (size_t k = n; k-- > 0;) cut[same[i] + k] = true;
    }
  });
  ShardWriter shards(out, "part", c.level, c.shard_bytes);
  std::string left, lines, frame;
  uint64_t at = 0;
  const auto put = [&](CutBlock::One& d) {
    bool changed = false;
    left.clear();
    for (size_t w = 0; w < d.words.size(); ++w) {
      const size_t begin = w == 0 ? 0 : d.words[w].first,
                   end = w + 1 < d.words.size() ? d.words[w + 1].first : d.text.size();
      if (cut[at + w])
        changed = true;
      else
        left.append(d.text, begin, end - begin);
    }
    if (d.words.empty()) left = d.text;
    at += d.words.size();
    while (changed && !left.empty() && (left.back() == '\n' || left.back() == ' ')) left.pop_back();
    r.bytes_cut += d.text.size() - left.size();
    if (changed && left.empty()) {
      ++r.dropped;
      return;
    }
    ++r.kept, r.changed += changed;
    DocumentView v = d.view;
    v.line = d.line, v.text = d.text;
    v.text_raw = v.line.substr(d.raw_at, d.raw_bytes);
    append_document(v, changed ? std::string_view(left) : v.text, lines);
  };
  scan_documents<WindowHasher, CutBlock>(
      inputs, o, [] { return WindowHasher(); },
      [&](WindowHasher& h, const DocumentView& d, CutBlock& b) {
        CutBlock::One& one = b.documents.emplace_back();
        one.view = d, one.line = d.line, one.text = d.text;
        if (!d.line.empty())
          one.raw_at = static_cast<size_t>(d.text_raw.data() - d.line.data()), one.raw_bytes = d.text_raw.size();
        split_words(d.text, h.words);
        for (std::string_view w : h.words)
          one.words.emplace_back(static_cast<size_t>(w.data() - d.text.data()), w.size());
      },
      [&](CutBlock&& b) {
        lines.clear(), frame.clear();
        for (CutBlock::One& d : b.documents) {
          if (at + d.words.size() > words)
            fail("an input grew between the two passes: do not write to inputs during a run");
          put(d);
        }
        if (!lines.empty()) zstd_frame(lines, c.level, frame);
        shards.write_frame(frame, lines.size());
      },
      [&](uint64_t bytes, uint64_t total) {
        if (progress) progress(total + bytes, 2 * total);
      });
  shards.close();
  r.files = shards.names();
  return r;
}

}  // namespace quern::corpus
