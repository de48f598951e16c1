#include "quern/corpus/stages/spans.h"

#include "quern/base/error.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/dedup/candidates.h"
#include "quern/corpus/run/run_folder.h"
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
    std::string line, text, url, date;
    size_t raw_at = 0, raw_bytes = 0;
    std::vector<std::pair<size_t, size_t>> words = {};  // where each lies in the text
  };
  std::vector<One> documents;
};

// The windows of the corpus: their records, in slices within each of which numbers of words have 32 bits.
class WindowRecords {
 public:
  WindowRecords(const std::filesystem::path& folder, uint64_t first_word)
      : file_(folder), words_(first_word), slices_{{&file_, 0, 0, 0}} {
    if (first_word >= kSliceWords) slices_[0].first = first_word;
  }
  void append(const WindowBlock& b) {
    if (b.total >= kSliceWords) fail("a block of {} words: expected less than 2^32", b.total);
    if (words_ + b.total > RecordNumber::kEnd) fail("more than 2^40 words: split the corpus");
    RecordSlice* slice = &slices_.back();
    if (words_ + b.total - slice->first > kSliceWords) {
      slices_.push_back({&file_, slice->end, slice->end, words_});
      slice = &slices_.back();
    }
    for (const auto& [at, hash] : b.found) {
      const BandRecord record{hash, static_cast<uint32_t>(words_ - slice->first + at)};
      file_.append(&record, sizeof record);
    }
    slice->end += b.found.size();
    words_ += b.total;
  }
  void flush() { file_.flush(); }
  uint64_t end_word() const { return words_; }
  std::span<const RecordSlice> slices() const { return slices_; }

 private:
  static constexpr uint64_t kSliceWords = uint64_t{1} << 32;
  SpillFile file_;
  uint64_t words_;
  std::vector<RecordSlice> slices_;
};

// The first pass: writes every window's hash to `records`.
void hash_windows(const Inputs& inputs, const ScanOptions& o, size_t window, WindowRecords& records, RepeatReport& r,
                  const ScanProgress& progress) {
  r.scan = scan_documents<WindowHasher, WindowBlock>(
      inputs, o, [] { return WindowHasher(); },
      [&](WindowHasher& h, const DocumentView& d, WindowBlock& b) {
        h.windows(d.text, window, [&](size_t at, uint64_t hash) { b.found.emplace_back(b.total + at, hash); });
        b.total += h.words.size();
      },
      [&](WindowBlock&& b) {
        records.append(b);
        r.pieces += b.found.size();
      },
      {[&](uint64_t bytes, uint64_t total) {
        if (progress) progress(bytes, 2 * total);
      }});
  records.flush();
}

// A bit per word: set where it lies in a window that stood earlier.
std::vector<bool> mark_repeats(const WindowRecords& records, const SpanConfig& c, RepeatReport& r) {
  std::vector<bool> cut(records.end_word() - c.first_word);
  for_each_group(records.slices(), c.memory, [&](std::span<const RecordNumber> same) {  // ascending: the first stays
    for (size_t i = 1; i < same.size(); ++i) {
      ++r.repeated;
      // From the end: what is marked already was marked by the window after this one, mostly.
      for (auto k = static_cast<size_t>(c.window); k-- > 0;) cut[same[i] - c.first_word + k] = true;
    }
  });
  return cut;
}

CutBlock::One keep_document(const DocumentView& d, std::vector<std::string_view>& words) {
  CutBlock::One one{.view = d,
                    .line = std::string(d.line),
                    .text = std::string(d.text),
                    .url = std::string(d.url),
                    .date = std::string(d.date)};
  if (!d.line.empty())
    one.raw_at = static_cast<size_t>(d.text_raw.data() - d.line.data()), one.raw_bytes = d.text_raw.size();
  split_words(d.text, words);
  for (std::string_view w : words) one.words.emplace_back(static_cast<size_t>(w.data() - d.text.data()), w.size());
  return one;
}

// The second pass's writer: documents in the order of the first, without the words that are marked.
class SpanCutter {
 public:
  SpanCutter(const std::filesystem::path& out, const SpanConfig& c, const std::vector<bool>& cut, RepeatReport& r)
      : shards_(out, "part", c.level, c.shard_bytes), level_(c.level), cut_(cut), r_(r) {}

  void write(const CutBlock& b) {
    lines_.clear(), frame_.clear();
    for (const CutBlock::One& d : b.documents) add(d);
    if (!lines_.empty()) zstd_frame(lines_, level_, frame_);
    shards_.write_frame(frame_, lines_.size());
  }
  std::vector<std::string> close() {
    shards_.close();
    return shards_.names();
  }

 private:
  void add(const CutBlock::One& d) {
    if (at_ + d.words.size() > cut_.size())
      fail("an input grew between the two passes: do not write to inputs during a run");
    const bool changed = cut_text(d);
    r_.bytes_cut += d.text.size() - left_.size();
    if (changed && left_.empty()) {
      ++r_.dropped;
      return;
    }
    ++r_.kept, r_.changed += changed;
    DocumentView v = d.view;
    v.line = d.line, v.text = d.text, v.url = d.url, v.date = d.date;
    v.text_raw = v.line.substr(d.raw_at, d.raw_bytes);
    append_document(v, changed ? std::string_view(left_) : v.text, lines_);
  }

  // left_: what stays of the document. Whether that is less than all.
  bool cut_text(const CutBlock::One& d) {
    bool changed = false;
    left_.clear();
    for (size_t w = 0; w < d.words.size(); ++w) {
      const size_t begin = w == 0 ? 0 : d.words[w].first,
                   end = w + 1 < d.words.size() ? d.words[w + 1].first : d.text.size();
      if (cut_[at_ + w])
        changed = true;
      else
        left_.append(d.text, begin, end - begin);
    }
    if (d.words.empty()) left_ = d.text;
    at_ += d.words.size();
    while (changed && !left_.empty() && (left_.back() == '\n' || left_.back() == ' ')) left_.pop_back();
    return changed;
  }

  ShardWriter shards_;
  int level_;
  const std::vector<bool>& cut_;
  RepeatReport& r_;
  std::string left_, lines_, frame_;
  uint64_t at_ = 0;  // words of the documents before
};

}  // namespace

RepeatReport drop_repeated_spans(const Inputs& inputs, const ScanOptions& o, const SpanConfig& c,
                                 const std::filesystem::path& out, const ScanProgress& progress,
                                 const std::function<void(const RepeatReport&)>& finish) {
  if (c.window < 2 || c.window > 100000) fail("windows of {} words: expected 2 to 100000", c.window);
  refuse_pipes(inputs);
  refuse_finished(out);
  RunFolder run(out, "spans");
  RepeatReport r;
  WindowRecords records(run.folder(), c.first_word);
  hash_windows(inputs, o, static_cast<size_t>(c.window), records, r, progress);
  const std::vector<bool> cut = mark_repeats(records, c, r);
  SpanCutter cutter(out, c, cut, r);
  scan_documents<WindowHasher, CutBlock>(
      inputs, o, [] { return WindowHasher(); },
      [&](WindowHasher& h, const DocumentView& d, CutBlock& b) { b.documents.push_back(keep_document(d, h.words)); },
      [&](CutBlock&& b) { cutter.write(b); }, {[&](uint64_t bytes, uint64_t total) {
        if (progress) progress(total + bytes, 2 * total);
      }});
  r.files = cutter.close();
  if (finish) finish(r);
  run.remove();
  return r;
}

}  // namespace quern::corpus
