// Chooses the mode of a question by rule: words that ask about the whole make it global, unless it also names
// something rare ("summarize what Alice said"), which makes it mixed.
#include <algorithm>
#include <array>

#include "quern/recall/mixpr/mixpr.h"

namespace quern::recall {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& w, std::initializer_list<std::string_view> run) {
  return std::search(w.begin(), w.end(), run.begin(), run.end()) != w.end();
}

bool asks_for_the_whole(const Words& w) {
  static constexpr std::array alone = {"overview", "gist", "tldr", "outline", "overall", "synopsis", "recap"};
  for (const std::string& x : w) {
    if (x.starts_with("summar")) return true;
    if (std::find(alone.begin(), alone.end(), x) != alone.end()) return true;
  }
  for (std::string_view main : {"main", "key", "central", "major"})
    for (std::string_view what : {"idea", "ideas", "point", "points", "theme", "themes", "takeaway", "takeaways",
                                  "topic", "topics", "argument", "arguments", "message"})
      if (has(w, {main, what})) return true;
  for (std::string_view how : {"common", "frequent", "important"})
    if (has(w, {"most", how})) return true;
  if (has(w, {"tl", "dr"}) || has(w, {"sum", "up"})) return true;
  // "what is this book about", "what was the text about"
  return !w.empty() && w.back() == "about" && w.front() == "what" &&
         std::any_of(w.begin(), w.end(), [](const std::string& x) {
           return x == "book" || x == "document" || x == "text" || x == "story" || x == "article" || x == "file" ||
                  x == "conversation";
         });
}

}  // namespace

RecallMode route(std::string_view query, RareTerms rare) {
  if (!asks_for_the_whole(words_of(query))) return RecallMode::local;
  return rare == RareTerms::some ? RecallMode::mixed : RecallMode::global;
}

bool asks_only_for_the_whole(std::string_view query) {
  static constexpr std::array usual = {
      "overview", "gist",    "tldr",    "tl",       "dr",        "outline",   "overall",      "synopsis",
      "recap",    "sum",     "main",    "key",      "central",   "major",     "idea",         "ideas",
      "point",    "points",  "theme",   "themes",   "takeaway",  "topic",     "topics",       "argument",
      "about",    "message", "common",  "frequent", "important", "takeaways", "book",         "text",
      "document", "story",   "file",    "article",  "whole",     "documents", "conversation", "give",
      "please",   "write",   "provide", "short",    "brief",     "arguments"};
  const Words all = words_of(query);
  if (all.size() < 2 || !asks_for_the_whole(all)) return false;
  const Words content = words_of(query, {.drop_stopwords = true});
  return std::all_of(content.begin(), content.end(), [](const std::string& w) {
    return w.starts_with("summar") || std::find(usual.begin(), usual.end(), w) != usual.end();
  });
}

std::string_view name_of(RecallMode mode) {
  constexpr std::string_view names[] = {"auto", "local", "global", "mixed", "restart"};
  return names[static_cast<size_t>(mode)];
}

RecallMode recall_mode(std::string_view name) {
  for (RecallMode m : {RecallMode::automatic, RecallMode::local, RecallMode::global, RecallMode::mixed})
    if (name == name_of(m)) return m;
  fail("mode '{}', expected auto, local, global or mixed", name);
}

}  // namespace quern::recall
