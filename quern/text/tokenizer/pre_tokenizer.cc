#include "quern/text/tokenizer/pre_tokenizer.h"

#include "quern/base/error.h"
#include "quern/text/tokenizer/byte_level.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

// What GPT-2 splits on: contractions, and runs of letters, numbers or other marks with at most one space before.
constexpr std::string_view kGpt2 = R"('(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace

SplitBehavior cut_from_name(std::string_view name, std::string_view where) {
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  if (name == "MergedWithPrevious") return SplitBehavior::with_previous;
  if (name == "MergedWithNext") return SplitBehavior::with_next;
  fail(
      "tokenizer.json: {}: behavior '{}' is not one of Removed, Isolated, Contiguous, MergedWithPrevious, "
      "MergedWithNext",
      where, name);
}

PreTokenizer::PreTokenizer(const Json& j) {
  if (j.is_null()) return;
  each_component(j, "pre_tokenizer", "pretokenizers", [&](const Json& c) { add(c); });
  // Only a final ByteLevel can leave the mapping to the model: a step after it would look at the mapped characters.
  if (!steps_.empty() && steps_.back().kind == Kind::byte_level) {
    emits_bytes_ = true;
    for (size_t i = 0; i + 1 < steps_.size(); ++i) emits_bytes_ = emits_bytes_ && steps_[i].kind != Kind::byte_level;
    steps_.back().to_bytes = emits_bytes_;
  }
}

void PreTokenizer::add(const Json& c) {
  const std::string& type = component_type(c, "pre_tokenizer");
  Step s{};
  if (type == "ByteLevel") {
    s.kind = Kind::byte_level;
    s.prefix_space = field_bool(c, "add_prefix_space", true);
    s.split = field_bool(c, "use_regex", true);
    Json p = Json::object();
    p.set("Regex", kGpt2);
    Json holder = Json::object();
    holder.set("pattern", p);
    if (s.split) s.pattern = Pattern::from_json(holder, "ByteLevel");
  } else if (type == "Split") {
    s.kind = Kind::split;
    s.pattern = Pattern::from_json(c, "pre_tokenizer Split");
    s.cut = cut_from_name(c.at("behavior", "pre_tokenizer Split").as_string("behavior"), "pre_tokenizer Split");
    s.invert = field_bool(c, "invert", false);
  } else if (type == "CharDelimiterSplit") {
    s.kind = Kind::split;
    s.pattern = Pattern::literal(c.at("delimiter", type).as_string("delimiter"));
    s.cut = SplitBehavior::removed;
    if (c.at("delimiter").as_string().empty()) fail("tokenizer.json: CharDelimiterSplit: the delimiter is empty");
  } else if (type == "Metaspace") {
    s.kind = Kind::metaspace;
    s.mark = field_string(c, "replacement", "\xE2\x96\x81");
    if (utf8_length(s.mark) != 1) fail("tokenizer.json: Metaspace: replacement '{}' must be one character", s.mark);
    s.split = field_bool(c, "split", true);
    s.pattern = Pattern::literal(s.mark);
    s.cut = SplitBehavior::with_next;
    // Older files say add_prefix_space instead.
    std::string scheme =
        field_string(c, "prepend_scheme", field_bool(c, "add_prefix_space", true) ? "always" : "never");
    if (scheme == "always") {
      s.prepend = Prepend::always;
    } else if (scheme == "first") {
      s.prepend = Prepend::first;
    } else if (scheme != "never") {
      fail("tokenizer.json: Metaspace: prepend_scheme '{}' is not one of always, first, never", scheme);
    }
  } else if (type == "Whitespace") {
    s.kind = Kind::whitespace;
  } else if (type == "WhitespaceSplit") {
    s.kind = Kind::whitespace_split;
    s.cut = SplitBehavior::removed;
  } else if (type == "Digits") {
    s.kind = Kind::digits;
    s.cut = field_bool(c, "individual_digits", false) ? SplitBehavior::isolated : SplitBehavior::contiguous;
  } else if (type == "Punctuation") {
    s.kind = Kind::punctuation;
    s.cut = cut_from_name(field_string(c, "behavior", "Isolated"), "pre_tokenizer Punctuation");
  } else if (type == "BertPreTokenizer") {  // two steps: words between spaces, punctuation apart
    s.kind = Kind::whitespace_split;
    s.cut = SplitBehavior::removed;
    steps_.push_back(s);
    s.kind = Kind::punctuation;
    s.cut = SplitBehavior::isolated;
  } else {
    unknown_component("pre_tokenizer", type,
                      "Sequence, ByteLevel, Split, Metaspace, Whitespace, WhitespaceSplit, Digits, Punctuation, "
                      "CharDelimiterSplit, BertPreTokenizer");
  }
  steps_.push_back(std::move(s));
}

struct PreTokenizer::Run {
  PreScratch& scratch;
  PieceSink& sink;
};

void PreTokenizer::run(std::string_view text, TextPlace place, PreScratch& scratch, PieceSink& sink) const {
  if (scratch.buffers.size() < steps_.size()) scratch.buffers.resize(steps_.size());
  Run run{scratch, sink};
  step(0, text, place, run);
}

// Walks the matches `find(from)` of step i, hands the parts to step i + 1 by the step's behavior. `held` is a part
// that may still grow.
template <class Find>
void PreTokenizer::cut(size_t i, std::string_view text, TextPlace place, Run& run, Find find) const {
  const Step& s = steps_[i];
  auto emit = [&](size_t b, size_t e) {
    if (b < e) step(i + 1, text.substr(b, e - b), b == 0 ? place : TextPlace::inside, run);
  };
  size_t held_begin = 0, held_end = 0;
  bool held = false, previous = false;
  auto part = [&](size_t b, size_t e, bool match) {
    if (s.invert) match = !match;
    bool join = false;
    switch (s.cut) {
      case SplitBehavior::removed:
        if (!match) emit(b, e);
        return;
      case SplitBehavior::isolated:
        return emit(b, e);
      case SplitBehavior::contiguous:
        join = held && match == previous;
        break;
      case SplitBehavior::with_previous:
        join = held && match && !previous;
        break;
      case SplitBehavior::with_next:
        join = held && previous && !match;
        break;
    }
    previous = match;
    if (join) {
      held_end = e;
      return;
    }
    if (held) emit(held_begin, held_end);
    held_begin = b;
    held_end = e;
    held = true;
  };
  size_t done = 0, from = 0, last_end = Regex::kNone;
  while (from <= text.size()) {
    Regex::Match m = find(from);
    if (!m) break;
    if (m.begin == m.end) {
      from = m.end + (m.end < text.size() ? utf8_at(text, m.end).len : 1);
      if (m.end == last_end) continue;  // an empty match right behind a match does not count
    } else {
      from = m.end;
    }
    last_end = m.end;
    if (done < m.begin) part(done, m.begin, false);
    part(m.begin, m.end, true);
    done = m.end;
  }
  if (done < text.size()) part(done, text.size(), false);
  if (held) emit(held_begin, held_end);
}

template <class Is>
void PreTokenizer::cut_class(size_t i, std::string_view text, TextPlace place, Run& run, Is is) const {
  cut(i, text, place, run, [&](size_t from) -> Regex::Match {
    while (from < text.size()) {
      Utf8Char c = utf8_at(text, from);
      if (is(c.cp)) return {from, from + c.len};
      from += c.len;
    }
    return {};
  });
}

void PreTokenizer::byte_level(size_t i, std::string_view text, TextPlace place, Run& run) const {
  const Step& s = steps_[i];
  auto by_pattern = [&](size_t from) { return s.pattern.find(text, from, run.scratch.regex); };
  // Rewritten text lives in this step's buffer; the caller's own text is in an earlier one.
  std::string& buffer = run.scratch.buffers[i];
  if (s.prefix_space && !text.empty() && text[0] != ' ') {
    buffer.assign(1, ' ');
    buffer += text;
    text = buffer;
  }
  if (s.to_bytes) {
    if (s.split) return cut(i, text, place, run, by_pattern);
    return step(i + 1, text, place, run);
  }
  // Each piece is mapped after the cut, and later steps see it mapped.
  std::string mapped;
  auto hand_on = [&](std::string_view piece) {
    mapped.clear();
    to_byte_level(piece, mapped);
    step(i + 1, mapped, place, run);
  };
  if (!s.split) {
    if (!text.empty()) hand_on(text);
    return;
  }
  for (size_t at = 0; at < text.size();) {
    Regex::Match m = by_pattern(at);
    if (!m) m = {text.size(), text.size()};
    if (at < m.begin) hand_on(text.substr(at, m.begin - at));
    if (m.begin < m.end) hand_on(text.substr(m.begin, m.end - m.begin));
    at = m.end;
  }
}

void PreTokenizer::metaspace(size_t i, std::string_view text, TextPlace place, Run& run) const {
  const Step& s = steps_[i];
  std::string& buffer = run.scratch.buffers[i];
  buffer.clear();
  bool wants = s.prepend == Prepend::always || (s.prepend == Prepend::first && place == TextPlace::start);
  bool has = text.starts_with(' ') || text.starts_with(s.mark);
  if (wants && !has && !text.empty()) buffer += s.mark;
  for (char c : text) {
    if (c == ' ') {
      buffer += s.mark;
    } else {
      buffer += c;
    }
  }
  text = buffer;
  if (!s.split) return step(i + 1, text, place, run);
  cut(i, text, place, run, [&](size_t from) { return s.pattern.find(text, from, run.scratch.regex); });
}

// Runs of word characters, and runs of what is neither word nor space.
void PreTokenizer::whitespace(size_t i, std::string_view text, TextPlace place, Run& run) const {
  auto is_other = [](char32_t c) { return !unicode_is_word(c) && !unicode_is_space(c); };
  for (size_t at = 0; at < text.size();) {
    Utf8Char c = utf8_at(text, at);
    size_t begin = at;
    if (unicode_is_space(c.cp)) {
      at += c.len;
      continue;
    }
    bool word = unicode_is_word(c.cp);
    while (at < text.size() && (c = utf8_at(text, at), word ? unicode_is_word(c.cp) : is_other(c.cp))) at += c.len;
    step(i + 1, text.substr(begin, at - begin), begin == 0 ? place : TextPlace::inside, run);
  }
}

void PreTokenizer::step(size_t i, std::string_view text, TextPlace place, Run& run) const {
  if (i == steps_.size()) {
    run.sink.piece(text);
    return;
  }
  const Step& s = steps_[i];
  switch (s.kind) {
    case Kind::split:
      return cut(i, text, place, run, [&](size_t from) { return s.pattern.find(text, from, run.scratch.regex); });
    case Kind::byte_level:
      return byte_level(i, text, place, run);
    case Kind::metaspace:
      return metaspace(i, text, place, run);
    case Kind::whitespace:
      return whitespace(i, text, place, run);
    case Kind::whitespace_split:
      return cut_class(i, text, place, run, unicode_is_space);
    case Kind::digits:
      return cut_class(i, text, place, run, unicode_is_number);
    case Kind::punctuation:
      return cut_class(i, text, place, run, unicode8_is_punct);
  }
}

}  // namespace quern::text
