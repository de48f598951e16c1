#include "quern/corpus/stages/repeats.h"

#include <bit>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/base/rng.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/run/run_folder.h"
#include "quern/corpus/run/shards.h"
#include "quern/corpus/text/text_normalizer.h"

namespace quern::corpus {
namespace {

constexpr size_t kLineWords = 8;  // 64-bit words of a cache line

// The document's pieces as they stand in the text, with the white space behind them, and their hashes; 0: stays.
struct HashedDocument {
  DocumentView view;  // its views point into `line` and `text`
  std::string line, text, url, date;
  size_t raw_at = 0, raw_bytes = 0;
  std::vector<size_t> ends;
  std::vector<uint64_t> hashes;
};

struct PieceHasher {
  Tokens tokens;
  std::string scratch;
  std::vector<uint64_t> words;

  void take(std::string_view text) {
    normalize(TextNormalizer::slimpajama, text, tokens, scratch);
    words.clear();
    for (size_t i = 0; i < tokens.size(); ++i)
      words.push_back(token_hash(tokens.text.data() + tokens.begin[i], tokens[i].size()));
  }
  uint64_t window(size_t at, size_t n) const {
    uint64_t h = kFoldC ^ n;
    for (size_t k = 0; k < n; ++k) h = fold64(h ^ words[at + k], kFoldA ^ (h << 1));
    return h ? h : 1;
  }
  void pieces(std::string_view text, const RepeatConfig& c, HashedDocument& d) {
    if (c.unit == RepeatUnit::ngram) {
      take(text);
      const auto n = static_cast<size_t>(c.n);
      for (size_t i = 0; i + n <= words.size(); ++i) d.hashes.push_back(window(i, n));
      return;
    }
    const std::string_view mark = c.unit == RepeatUnit::line ? "\n" : "\n\n";
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.find(mark, at), text.size());
      while (end < text.size() && text[end] == '\n') ++end;
      take(text.substr(at, end - at));
      d.ends.push_back(end);
      d.hashes.push_back(words.size() < static_cast<size_t>(c.shortest) ? 0 : window(0, words.size()));
      at = end;
    }
  }
};

}  // namespace

BlockedBloom::BlockedBloom(uint64_t bytes) : words_(std::max<uint64_t>(bytes / 64, 1) * kLineWords) {}

bool BlockedBloom::insert(uint64_t h) {
  uint64_t* line =
      words_.data() + (static_cast<unsigned __int128>(h) * (words_.size() / kLineWords) >> 64) * kLineWords;
  bool there = true;
  uint64_t bits = mix64(h);
  for (size_t k = 0; k < kLineWords; ++k, bits >>= 6) {
    const uint64_t bit = uint64_t{1} << (bits & 63);
    there = there && (line[k] & bit);
    line[k] |= bit;
  }
  return there;
}

bool BlockedBloom::holds(uint64_t h) const {
  const uint64_t* line =
      words_.data() + (static_cast<unsigned __int128>(h) * (words_.size() / kLineWords) >> 64) * kLineWords;
  uint64_t bits = mix64(h);
  for (size_t k = 0; k < kLineWords; ++k, bits >>= 6)
    if (!(line[k] >> (bits & 63) & 1)) return false;
  return true;
}

double BlockedBloom::false_positive_rate() const {
  double sum = 0;
  for (size_t at = 0; at < words_.size(); at += kLineWords) {
    double p = 1;
    for (size_t k = 0; k < kLineWords; ++k) p *= std::popcount(words_[at + k]) / 64.0;
    sum += p;
  }
  return sum / (static_cast<double>(words_.size()) / static_cast<double>(kLineWords));
}

RepeatUnit parse_repeat_unit(const std::string& s) {
  if (s == "line") return RepeatUnit::line;
  if (s == "paragraph") return RepeatUnit::paragraph;
  if (s == "ngram") return RepeatUnit::ngram;
  fail("unit '{}': expected line, paragraph, ngram or span{}", s,
       did_you_mean(s, {"line", "paragraph", "ngram", "span"}));
}

Json RepeatReport::json() const {
  Json j = Json::object(), names = Json::array(), bad = Json::array();
  const auto set = [&](const char* name, uint64_t n) { j.set(name, static_cast<int64_t>(n)); };
  set("documents_in", scan.read.documents), set("documents_out", kept), set("dropped", dropped);
  set("changed", changed), set("pieces", pieces), set("repeated", repeated), set("bytes_cut", bytes_cut);
  j.set("false_positive_rate", false_positive_rate);
  for (const std::string& f : files) names.push(Json(f));
  for (const std::string& d : scan.damaged) bad.push(Json(d));
  j.set("outputs", std::move(names)), j.set("read", scan.read.json()), j.set("damaged_files", std::move(bad));
  return j;
}

RepeatReport drop_repeats(const Inputs& inputs, const ScanOptions& o, const RepeatConfig& c,
                          const std::filesystem::path& out, const ScanProgress& progress,
                          const std::function<void(const RepeatReport&)>& finish) {
  if (c.shortest < 1 || c.n < 1 || c.n > 1000)
    fail("shortest piece of {} words and n-grams of {} words: expected 1 to 1000", c.shortest, c.n);
  if (!(c.share > 0 && c.share <= 1)) fail("share {}: expected a number above 0, at most 1", c.share);
  refuse_finished(out);
  RunFolder run(out, "repeats");
  RepeatReport r;
  BlockedBloom seen(c.memory);
  ShardWriter shards(out, "part", c.level, c.shard_bytes);
  std::string left, frame, lines;
  const auto put = [&](HashedDocument& d) {
    bool changed = false;
    r.pieces += d.hashes.size();
    if (c.unit == RepeatUnit::ngram) {
      uint64_t again = 0;
      for (uint64_t h : d.hashes) again += seen.holds(h);
      r.repeated += again;
      if (!d.hashes.empty() && static_cast<double>(again) >= c.share * static_cast<double>(d.hashes.size())) {
        ++r.dropped, r.bytes_cut += d.text.size();
        return;
      }
      for (uint64_t h : d.hashes) seen.insert(h);
      left = d.text;
    } else {
      left.clear();
      size_t begin = 0;
      for (size_t i = 0; i < d.hashes.size(); ++i) {
        if (d.hashes[i] != 0 && seen.insert(d.hashes[i]))
          ++r.repeated, changed = true;
        else
          left.append(d.text, begin, d.ends[i] - begin);
        begin = d.ends[i];
      }
      while (changed && !left.empty() && left.back() == '\n') left.pop_back();
      r.bytes_cut += d.text.size() - left.size();
      if (left.empty() && changed) {
        ++r.dropped;
        return;
      }
    }
    ++r.kept, r.changed += changed;
    DocumentView v = d.view;
    v.line = d.line, v.text = d.text, v.url = d.url, v.date = d.date;
    v.text_raw = v.line.substr(d.raw_at, d.raw_bytes);
    append_document(v, changed ? std::string_view(left) : v.text, lines);
  };
  r.scan = scan_documents<PieceHasher, std::vector<HashedDocument>>(
      inputs, o, [] { return PieceHasher(); },
      [&](PieceHasher& hasher, const DocumentView& d, std::vector<HashedDocument>& docs) {
        HashedDocument& h = docs.emplace_back();
        h.view = d, h.line = d.line, h.text = d.text, h.url = d.url, h.date = d.date;
        if (!d.line.empty())
          h.raw_at = static_cast<size_t>(d.text_raw.data() - d.line.data()), h.raw_bytes = d.text_raw.size();
        hasher.pieces(d.text, c, h);
      },
      [&](std::vector<HashedDocument>&& docs) {
        lines.clear(), frame.clear();
        for (HashedDocument& d : docs) put(d);
        if (!lines.empty()) zstd_frame(lines, c.level, frame);
        shards.write_frame(frame, lines.size());
      },
      {progress});
  shards.close();
  r.files = shards.names();
  r.false_positive_rate = seen.false_positive_rate();
  if (finish) finish(r);
  run.remove();
  return r;
}

}  // namespace quern::corpus
