#include "quern/recall/read/passages.h"

#include <algorithm>

#include "quern/recall/words/tokens.h"

namespace quern::recall {
namespace {

int64_t words_in(std::string_view text) {
  int64_t n = 0;
  for_each_word(text, [&](size_t, size_t) { ++n; });
  return n;
}

// Joins neighbors while one of the two is short and both together are not too long.
void join_short(std::string_view text, const PassageOptions& o, std::vector<Chunk>& chunks) {
  size_t kept = 0;
  int64_t words = 0;
  for (size_t i = 0; i < chunks.size(); ++i) {
    const Chunk c = chunks[i];
    const int64_t n = words_in(text.substr(c.begin, c.end - c.begin));
    if (i > 0 && words + n <= o.chunks.max_words && (words < o.min_words || n < o.min_words)) {
      chunks[kept - 1].end = c.end, words += n;
      continue;
    }
    chunks[kept++] = c, words = n;
  }
  chunks.resize(kept);
}

struct Section {
  size_t begin, end;
  std::string path;
};

// Titles often repeat the first heading and add the name of the whole: then the heading says enough.
bool repeats(std::string_view title, std::string_view heading) {
  return title.find(heading) != title.npos || heading.find(title) != heading.npos;
}

std::vector<Section> sections_of(const ReadDocument& d) {
  std::vector<Section> out;
  std::vector<const HeadingMark*> above;
  size_t begin = 0;
  const auto path = [&] {
    std::string p;
    if (!d.title.empty() && (above.empty() || !repeats(d.title, above[0]->title))) p = d.title;
    for (const HeadingMark* h : above) {
      if (!p.empty()) p += kPathBetween;
      p += h->title;
    }
    return p;
  };
  const auto only_heading = [&](size_t from, size_t to) {
    return !above.empty() &&
           words_in(std::string_view(d.text).substr(from, to - from)) <= words_in(above.back()->title);
  };
  for (const HeadingMark& h : d.headings) {
    const auto at = std::min<size_t>(h.at, d.text.size());
    const bool below = !above.empty() && h.level > above.back()->level;
    if (!(below && only_heading(begin, at))) {
      if (at > begin) out.push_back({begin, at, path()});
      begin = at;
    }
    while (!above.empty() && above.back()->level >= h.level) above.pop_back();
    above.push_back(&h);
  }
  out.push_back({begin, d.text.size(), path()});
  return out;
}

}  // namespace

void PassageList::add_path(const std::string& p) {
  if (paths.back() != p) paths.push_back(p);
}

void append_passages(const ReadDocument& d, const PassageOptions& o, uint64_t base, PassageList& out) {
  for (const Section& s : sections_of(d)) {
    std::vector<Chunk> chunks;
    append_chunks(std::string_view(d.text).substr(s.begin, s.end - s.begin), o.chunks, s.begin, chunks);
    if (o.min_words > 0) join_short(d.text, o, chunks);
    out.add_path(s.path);
    for (const Chunk& c : chunks) out.add({c.begin + base, c.end + base});
  }
}

}  // namespace quern::recall
