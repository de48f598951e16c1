#include "quern/corpus/stages/stats.h"

#include <algorithm>
#include <bit>

#include "quern/corpus/text/text_pieces.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {

void SourceStats::add(const SourceStats& o) {
  documents += o.documents, bytes += o.bytes, characters += o.characters, words += o.words, lines += o.lines;
  tokens += o.tokens, longest = std::max(longest, o.longest);
  for (size_t i = 0; i < kLengths; ++i) lengths[i] += o.lengths[i];
}

uint64_t SourceStats::median_below() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < kLengths; ++i)
    if ((sum += lengths[i]) * 2 >= documents) return uint64_t{1} << i;
  return 0;
}

Json CorpusStats::json() const {
  Json j = Json::object(), list = Json::array(), bad = Json::array();
  const auto one = [&](const SourceStats& s) {
    Json k = Json::object();
    const auto set = [&](const char* name, uint64_t n) { k.set(name, static_cast<int64_t>(n)); };
    k.set("source", s.name), set("documents", s.documents), set("bytes", s.bytes), set("characters", s.characters);
    set("words", s.words), set("lines", s.lines);
    if (has_tokens) set("tokens", s.tokens);
    set("longest_bytes", s.longest), set("half_shorter_than", s.median_below());
    return k;
  };
  SourceStats all;
  all.name = "all";
  for (const SourceStats& s : sources) list.push(one(s)), all.add(s);
  j.set("sources", std::move(list)), j.set("all", one(all)), j.set("read", scan.read.json());
  for (const std::string& d : scan.damaged) bad.push(Json(d));
  j.set("damaged_files", std::move(bad));
  return j;
}

CorpusStats corpus_stats(const Inputs& inputs, const ScanOptions& o, const text::Tokenizer* tokenizer,
                         const ScanProgress& progress) {
  struct Buffers {
    std::vector<std::string_view> words;
  };
  CorpusStats stats;
  stats.has_tokens = tokenizer != nullptr;
  stats.sources.resize(inputs.sources.size());
  for (size_t i = 0; i < inputs.sources.size(); ++i) stats.sources[i].name = inputs.sources[i];
  stats.scan = scan_documents<Buffers, std::vector<SourceStats>>(
      inputs, o, [] { return Buffers(); },
      [&](Buffers& b, const DocumentView& d, std::vector<SourceStats>& out) {
        if (out.empty()) out.resize(inputs.sources.size());
        SourceStats& s = out[d.source];
        split_words(d.text, b.words);
        ++s.documents, s.bytes += d.text.size(), s.characters += text::utf8_length(d.text), s.words += b.words.size();
        s.lines += count_of(d.text, "\n") + (!d.text.empty() && d.text.back() != '\n');
        s.longest = std::max<uint64_t>(s.longest, d.text.size());
        ++s.lengths[std::min<size_t>(std::bit_width(d.text.size()), SourceStats::kLengths - 1)];
        if (tokenizer) s.tokens += tokenizer->encode(d.text, {.add_special_tokens = false}).size();
      },
      [&](std::vector<SourceStats>&& out) {
        for (size_t i = 0; i < out.size(); ++i) stats.sources[i].add(out[i]);
      },
      {progress});
  return stats;
}

}  // namespace quern::corpus
