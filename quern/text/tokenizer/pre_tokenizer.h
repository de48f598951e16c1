// The pre-tokenizer of tokenizer.json: splits a text into pieces that are encoded separately. Steps are chained by
// calls: a piece passes through all of them before the next is found, so no list of pieces is built. Supported:
// ByteLevel, Split (every behavior, also inverted), Metaspace, Whitespace, WhitespaceSplit, Digits, Punctuation,
// CharDelimiterSplit, BertPreTokenizer, Sequence. When the last rewrite is ByteLevel's, pieces leave as raw bytes (see emits_bytes).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/text/tokenizer/component.h"

namespace quern::text {

class PieceSink {
 public:
  virtual ~PieceSink() = default;
  virtual void piece(std::string_view text) = 0;
};

enum class SplitBehavior { removed, isolated, contiguous, with_previous, with_next };
SplitBehavior cut_from_name(std::string_view name, std::string_view where);

struct PreScratch {
  RegexScratch regex;
  std::vector<std::string> buffers;  // one a step, for steps that rewrite
};

// Is a text the beginning of what the user gave? Metaspace's "first" looks at it.
enum class TextPlace { start, inside };

class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(const Json& j);  // null = the text is one piece
  bool emits_bytes() const { return emits_bytes_; }
  void run(std::string_view text, TextPlace place, PreScratch& scratch, PieceSink& sink) const;

 private:
  enum class Kind { byte_level, split, metaspace, whitespace, whitespace_split, digits, punctuation };
  enum class Prepend { never, first, always };
  struct Step {
    Kind kind;
    SplitBehavior cut = SplitBehavior::isolated;
    bool invert = false, prefix_space = false, split = true, to_bytes = false;
    Pattern pattern;
    std::string mark;  // Metaspace's replacement
    Prepend prepend = Prepend::never;
  };
  struct Run;
  // Text into step i; its pieces go to those behind it.
  void step(size_t i, std::string_view text, TextPlace place, Run& run) const;
  void byte_level(size_t i, std::string_view text, TextPlace place, Run& run) const;
  void metaspace(size_t i, std::string_view text, TextPlace place, Run& run) const;
  void whitespace(size_t i, std::string_view text, TextPlace place, Run& run) const;
  template <class Find>
  void cut(size_t i, std::string_view text, TextPlace place, Run& run, Find find) const;
  template <class Is>
  void cut_class(size_t i, std::string_view text, TextPlace place, Run& run, Is is) const;
  void add(const Json& c);

  std::vector<Step> steps_;
  bool emits_bytes_ = false;
};

}  // namespace quern::text
