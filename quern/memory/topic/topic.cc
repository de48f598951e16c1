#include "quern/memory/topic/topic.h"

#include <algorithm>
#include <unordered_set>

#include "quern/memory/time/lexicon.h"
#include "quern/recall/words/tokens.h"

namespace quern::memory {
namespace {

// Words about talking, remembering and asking, by their stems: they say what to do, not what about.
constexpr std::string_view kOfTalking[] = {"discuss",     "talk",
                                           "chat",        "say",
                                           "said",        "says",
                                           "mention",     "tell",
                                           "told",        "speak",
                                           "spoke",       "spoken",
                                           "convers",     "conversation",
                                           "discussion",  "session",
                                           "dialogue",    "dialog",
                                           "exchange",    "meeting",
                                           "meet",        "met",
                                           "communicate", "connect",
                                           "caught",      "catch",
                                           "touch",       "cover",
                                           "covered",     "bring",
                                           "brought",     "raise",
                                           "come",        "came",
                                           "summary",     "summarize",
                                           "summarise",   "recap",
                                           "rundown",     "overview",
                                           "outline",     "review",
                                           "describe",    "explain",
                                           "detail",      "content",
                                           "contents",    "topic",
                                           "subject",     "theme",
                                           "thing",       "stuff",
                                           "matter",      "point",
                                           "highlight",   "gist",
                                           "essence",     "issue",
                                           "everything",  "anything",
                                           "something",   "nothing",
                                           "remember",    "recall",
                                           "remind",      "reminder",
                                           "refresh",     "memory",
                                           "recollect",   "recollection",
                                           "bear",        "list",
                                           "show",        "give",
                                           "get",         "pull",
                                           "fetch",       "retrieve",
                                           "find",        "look",
                                           "display",     "print",
                                           "read",        "see",
                                           "hear",        "know",
                                           "want",        "like",
                                           "need",        "wonder",
                                           "please",      "kindly",
                                           "help",        "let",
                                           "could",       "would",
                                           "can",         "may",
                                           "might",       "shall",
                                           "should",      "transcript",
                                           "log",         "history",
                                           "record",      "archive",
                                           "message",     "response",
                                           "turn",        "reply",
                                           "utterance",   "word",
                                           "line",        "text",
                                           "sort",        "kind",
                                           "type",        "main",
                                           "key",         "major",
                                           "important",   "brief",
                                           "briefly",     "quick",
                                           "quickly",     "short",
                                           "full",        "complete",
                                           "whole",       "entire",
                                           "all",         "every",
                                           "together",    "back",
                                           "ago",         "ever",
                                           "also",        "again",
                                           "exactly",     "roughly",
                                           "basically",   "mostly",
                                           "mainly",      "happen",
                                           "occur",       "go",
                                           "went",        "gone",
                                           "done",        "do",
                                           "make",        "take",
                                           "share",       "ask",
                                           "answer",      "question",
                                           "lot",         "bit",
                                           "much",        "many",
                                           "several",     "various",
                                           "general",     "generally",
                                           "particular",  "actual",
                                           "actually",    "really",
                                           "able",        "try",
                                           "trying",      "think",
                                           "thought",     "mind",
                                           "agenda",      "table",
                                           "focus",       "deal",
                                           "dealt",       "concern",
                                           "regard",      "regarding",
                                           "around",      "during",
                                           "hi",          "hello",
                                           "hey",         "thank",
                                           "thanks",      "okay",
                                           "ok",          "yes",
                                           "yeah",        "yep",
                                           "sure",        "no",
                                           "well",        "oh",
                                           "right",       "great",
                                           "good",        "nice",
                                           "fun",         "enjoy",
                                           "time",        "times",
                                           "day",         "date",
                                           "week",        "month",
                                           "year",        "period",
                                           "span",        "past",
                                           "last",        "previous",
                                           "first",       "recent",
                                           "recently",    "earlier",
                                           "later",       "long",
                                           "far",         "old",
                                           "new",         "up",
                                           "entry",       "run",
                                           "walk",        "through",
                                           "fill",        "catch",
                                           "bear",        "jog",
                                           "dig",         "check",
                                           "note",        "hold",
                                           "held",        "have",
                                           "having",      "place",
                                           "took",        "between",
                                           "among",       "us",
                                           "we",          "you",
                                           "i",           "our",
                                           "me",          "my",
                                           "your",        "it",
                                           "that",        "whatev",
                                           "whatever",    "piece",
                                           "part",        "portion",
                                           "information", "info",
                                           "data",        "fact",
                                           "idea",        "item",
                                           "range",       "account",
                                           "report",      "version",
                                           "sum",         "break",
                                           "breakdown",   "wrap",
                                           "spell",       "lay",
                                           "present",     "provide",
                                           "supply",      "offer",
                                           "deliver",     "produce",
                                           "bullet",      "digest",
                                           "synopsis",    "abstract",
                                           "capture",     "extract",
                                           "include",     "contain",
                                           "consist",     "start",
                                           "began",       "begin",
                                           "end",         "finish",
                                           "close",       "conclude",
                                           "open",        "kick",
                                           "calendar",    "number",
                                           "busi",        "business",
                                           "chatter",     "banter",
                                           "gab",         "natter",
                                           "correspond",  "correspondence",
                                           "interact",    "interaction",
                                           "contact",     "communication",
                                           "call",        "gossip",
                                           "confer",      "consult",
                                           "occasion",    "moment",
                                           "instance",    "point",
                                           "stage",       "morning",
                                           "afternoon",   "evening",
                                           "night",       "today",
                                           "yesterday",   "tonight",
                                           "back",        "name",
                                           "specific",    "specifically",
                                           "precise",     "precisely",
                                           "verbatim",    "exact",
                                           "else",        "still",
                                           "just",        "even",
                                           "only",        "ahead",
                                           "possible",    "possibly",
                                           "perhaps",     "maybe",
                                           "probably",    "wow",
                                           "better",      "best",
                                           "quite",       "way",
                                           "dig",         "up",
                                           "surface",     "arise",
                                           "arose",       "crop",
                                           "pop",         "popped",
                                           "got",         "gotten",
                                           "getting",     "use",
                                           "used",        "cannot",
                                           "upon",        "abt",
                                           "explore",     "noteworthy",
                                           "notable",     "wrote",
                                           "write",       "written",
                                           "vague",       "vaguely",
                                           "fuzzy",       "hazy",
                                           "forget",      "forgot",
                                           "forgotten",   "slip",
                                           "occupy",      "plate",
                                           "spend",       "spent",
                                           "next",        "inclusive",
                                           "including",   "before",
                                           "after",       "over",
                                           "than",        "tackle",
                                           "unpack",      "examine",
                                           "ponder",      "broach",
                                           "relay",       "recount",
                                           "narrate",     "elaborate",
                                           "expand",      "glimpse",
                                           "peek",        "snapshot",
                                           "nutshell",    "crux",
                                           "takeaway",    "headline",
                                           "spotlight",   "rehash",
                                           "revisit",     "rewind",
                                           "replay",      "reconstruct",
                                           "compile",

                                           "browse",      "scroll",
                                           "skim",        "scan",
                                           "locate",      "identify",
                                           "enumerate",   "itemize",
                                           "itemise",     "memorable",
                                           "dated",       "surround",
                                           "timeframe",   "interval",

                                           "duration",    "timespan",
                                           "utter",       "curious",
                                           "mull",        "ramble",
                                           "relevant",

                                           "yet",         "somewhere",
                                           "sometime",    "hint",
                                           "refer",       "reference",
                                           "concerning",  "regards",
                                           "wat",         "teh",
                                           "plz",         "pls",
                                           "either",      "throughout",
                                           "little",      "revolve",
                                           "leading",     "within",
                                           "via",         "across",
                                           "gab",         "gabbing",
                                           "yak",         "longest",
                                           "deal",        "altogether",
                                           "overall",     "entirety",
                                           "nature",      "lately",
                                           "accord",      "according",
                                           "common",      "usual",
                                           "usually",     "typical",
                                           "typically",   "often",
                                           "regular",     "regularly",
                                           "one",         "ones"};

// Of those, the ones that are also what somebody does: a question about one speaker may mean them.
constexpr std::string_view kAlsoDone[] = {
    "run",     "ran",     "running", "walk",  "walked",  "walking", "read",   "reading", "write",
    "wrote",   "written", "writing", "start", "started", "begin",   "began",  "finish",  "finished",
    "make",    "made",    "making",  "take",  "took",    "spend",   "spent",  "enjoy",   "enjoyed",
    "meeting", "call",    "contact", "name",  "names",   "plate",   "record", "report",  "help"};

const std::unordered_set<std::string>& of_talking() {
  static const auto* const set = [] {
    auto* s = new std::unordered_set<std::string>();
    for (const std::string_view w : kOfTalking) {
      std::string stem(w);
      recall::porter_stem(stem);
      s->insert(std::string(w)), s->insert(stem);
    }
    return s;
  }();
  return *set;
}

bool slip_of_talking(std::string_view word) {  // "disucss"
  constexpr std::string_view kVerbs[] = {"discuss", "discussed", "talked",    "conversation", "conversations",
                                         "session", "sessions",  "summarize", "summarise",    "mentioned"};
  return word.size() >= 6 && std::any_of(std::begin(kVerbs), std::end(kVerbs),
                                         [&](std::string_view v) { return one_edit_apart(word, v); });
}

std::string lowered(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

// The sentences that ask: those with a question mark, else all of them.
std::vector<std::pair<size_t, size_t>> asking_sentences(std::string_view q) {
  std::vector<std::pair<size_t, size_t>> all, asking;
  size_t begin = 0;
  for (size_t i = 0; i < q.size(); ++i) {
    const bool stop =
        q[i] == '?' || q[i] == '!' || q[i] == '\n' || (q[i] == '.' && (i + 1 == q.size() || q[i + 1] == ' '));
    if (!stop) continue;
    all.push_back({begin, i});
    if (q[i] == '?') asking.push_back({begin, i});
    begin = i + 1;
  }
  if (begin < q.size()) all.push_back({begin, q.size()});
  return asking.empty() ? all : asking;
}

bool has_any(std::string_view lower, std::initializer_list<std::string_view> phrases) {
  for (const std::string_view p : phrases)
    for (size_t at = lower.find(p); at != lower.npos; at = lower.find(p, at + 1)) {
      auto letter = [&](size_t i) {
        return i < lower.size() && ((lower[i] >= 'a' && lower[i] <= 'z') || lower[i] == '\'');
      };
      if ((at == 0 || !letter(at - 1)) && !letter(at + p.size())) return true;
    }
  return false;
}

}  // namespace

std::string Topic::text() const {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : " ") + w;
  return out;
}

Topic topic_of(std::string_view question, const TimeQuery& time, const std::vector<std::string>& names) {
  Topic out;
  for (const auto& [begin, end] : asking_sentences(question)) {
    const size_t from = begin;
    recall::for_each_word(question.substr(begin, end - begin), [&](size_t b, size_t e) {
      const size_t at = from + b, stop = from + e;
      for (const TimeConstraint& c : time.constraints)
        if (at < c.end && stop > c.begin) return;
      std::string word = lowered(question.substr(at, stop - at));
      if (word.size() < 2 || recall::is_stopword(word)) return;
      if (at > 0 && question[at - 1] == '\'' && word.size() <= 2) return;  // 's, 're, 've
      if (std::find(names.begin(), names.end(), word) != names.end()) return;
      std::string stem = word;
      recall::porter_stem(stem);
      if (of_talking().contains(word) || of_talking().contains(stem)) {
        const std::string_view behind = question.substr(stop, 4);
        const bool to_us = behind.starts_with(" me ") || behind.starts_with(" us ");  // "walk me through"
        if (!to_us && std::find(std::begin(kAlsoDone), std::end(kAlsoDone), word) != std::end(kAlsoDone))
          out.deeds.push_back(std::move(word));
        return;
      }
      if (slip_of_talking(word)) return;
      out.words.push_back(std::move(word));
    });
  }
  return out;
}

bool points_at_a_time(std::string_view question) {
  const std::string q = lowered(question);
  return has_any(q, {"then",
                     "that day",
                     "that time",
                     "that date",
                     "that period",
                     "that week",
                     "that month",
                     "that year",
                     "that session",
                     "that conversation",
                     "that discussion",
                     "that chat",
                     "that talk",
                     "that meeting",
                     "those sessions",
                     "those conversations",
                     "those conversation",
                     "those discussions",
                     "those chats",
                     "those talks",
                     "those days",
                     "those dates",
                     "this period",
                     "these conversations",
                     "these discussions",
                     "these chats",
                     "these sessions",
                     "this conversation",
                     "this discussion",
                     "this chat",
                     "back then",
                     "that morning",
                     "that afternoon",
                     "that evening",
                     "that night",
                     "that weekend",
                     "in it",
                     "that one",
                     "on that occasion",
                     "during it",
                     "over it"});
}

bool points_at_a_thing(std::string_view question) {
  const std::string q = lowered(question);
  return has_any(q, {"it", "that", "this", "those", "these", "them", "they", "he", "she", "him", "her", "more", "yes",
                     "yeah", "sure", "please do", "go ahead", "of course", "absolutely"});
}

}  // namespace quern::memory
