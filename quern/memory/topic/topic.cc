#include "quern/memory/topic/topic.h"

#include <algorithm>
#include <unordered_set>

#include "quern/base/error.h"
#include "quern/memory/time/lexicon.h"
#include "quern/recall/words/tokens.h"
#include "quern/text/unicode/ascii_case.h"

namespace quern::memory {
namespace {

using text::ascii_lowercase;

// Words about talking, remembering and asking, by their stems: they say what to do, not what about.
constexpr std::string_view kOfTalking =
    "able about abstract abt accord according account across actual actually admit admitted advise after afternoon "
    "again agenda ago agree agreed agreement ahead all already also although altogether always among announce "
    "announced another answer answered answering any anybody anyhow anyone anything anything's anyway apart "
    "appreciate archive argue argued arguing arise arisen arose around aside ask asked asking babble babbled back "
    "bad banter basically bear before began begin besides best better between bit bits both brainstorm brainstormed "
    "break breakdown brief briefly bring broach brought browse btw bullet bullets busi business busy buzz calendar "
    "call came can cannot capture catch caught certain chaps chat chats chatted chatter chatting check checked "
    "checking cheers chew chewing claim claimed close closing come comes coming comment commented comments common "
    "communicate communication compare comparison compile complain complained complaining complete completely "
    "concern concerned concerning conclude concluded confer confess connect consider considered considering consist "
    "consult contact contain content contents contrast convers conversation conversations converse conversed "
    "conversing cool core correspond correspondence could couple cover covered crop cropped cropping crux curious "
    "data date dated dates day days deal dealt dear debate debated debating decide decided decision declare "
    "deliberate deliberated deliver describe detail detailed details dialog dialogue dialogues did differ "
    "difference different dig digest discourse discuss discussion discussions display dispute do does doing done "
    "dredge dude dug dunno duration during each earlier either elaborate else emerge emerged end engage engaged "
    "enjoy entire entirety entries entry enumerate er essence even evening ever every everybody everyone everything "
    "exact exactly examine except excerpt excerpts exchange exchanged exchanges excited exciting excluding expand "
    "explain explore extract fact far feel feeling felt fetch fill final find fine finish first float floated focus "
    "folk folks following forget forgot forgotten found fret fretting friends full fully fun funny fuzzy fyi gab "
    "gabbed gabbing gave general generally get gets getting gimme gist give given glimpse go goes going gone gonna "
    "good goss gossip got gotten grateful grumble gushing guys habit happen happened happening happens hash hashed "
    "hav have having hazy head headline headlines heads hear heard hearing held hello help hey hi highlight "
    "highlights hint history hm hmm hold hunt i idea identify imo important include included includes including "
    "inclusive info information initial insist instance instead interact interaction interesting interval into "
    "invite involve involved issue issues it item itemise itemize items jog joke joking just keep keeping kept key "
    "kick kind kinda kindly know last lately later latest laugh laughing lay leading least leave left lemme less "
    "let like line lines list listed listing literally little locate log logs lol long longest look looked looking "
    "lost lot love lowdown made main mainly major make making many mate matter matters may maybe me meet meeting "
    "meetings memorable memories memory mention message messaged met might mind minds miss missed missing moan "
    "moaning moment moments month months more morning most mostly much mull mulling muse musing must my name "
    "narrate natter nature need needed neither new news next nice night nights no nobody noone nope nor normally "
    "notable note noted notes noteworthy nothing novel now nugget number nutshell occasion occupied occupy "
    "occupying occur occurred odd offer often oh ok okay old omg once one ones only onto open opening original "
    "other others otherwise our out outline over overall overview pair pals part particular past peek people "
    "perhaps period person piece pieces piecing place plan planned plans plate please pls plz point points ponder "
    "pop popped portion possible possibly post posted prattle prattled preceding precise precisely preoccupied "
    "preoccupy present previous print probably produce promise promised propose proposed provide pull pulled put "
    "quarrel question questions quick quickly quite raise ramble random range rant ranting rather rave raving react "
    "reacted read reading really recall recap recent recently recollect recollection recommend reconstruct record "
    "records recount refer reference refresh regard regarding regards regular regularly rehash relay relevant "
    "remark remarkable remarks remember remind reminded reminder replay replied reply report reread rereading "
    "resolve resolved respond responded response rest retrieve reveal revealed review revisit revolve rewind right "
    "roughly roundup run rundown said saw say saying says scan scoop scroll search searched searching second sed "
    "see seen send sending sent session sessions set settle settled several shall share shared sharing short "
    "shortly should show showed showing side sift significant simply since skim skinny slip snapshot some somebody "
    "somehow someone something sometime somewhere sort sorta span speak speaking special specific specifically "
    "spell spend spent spoke spoken spotlight stage start statement statements still strange stress stressing stuff "
    "subject subjects substance suggest suggested sum summarise summarize summary summing supply sure surface "
    "surfaced surfacing surround synopsis ta table tackle take takeaway taken talk talked talking talks tbh teh "
    "tell telling tend tends text texted texting than thank thanks that theme themes then thing things think "
    "thinking third though thought thoughts thread threads three through throughout thx tidbit time timeframe times "
    "timespan today together told tonight too took topic topics touch toward towards trace track transcript trawl "
    "tried try trying turn turned two type typed typical typically uh um under unpack until up update updates upon "
    "us use used usual usually utter utterance utterances vague vaguely various vent venting verbatim version "
    "versus via view viewed walk wanna want wanted warn wat wats way we week weeks weigh weird well went what's "
    "whatev whatever whats whatsoever where's whichever whine whining who's whole will wish within wonder wondering "
    "word words worry worrying worth would wow wrap write writing written wrote wut yak yap yapped yapping yeah "
    "year years yep yes yesterday yet yo you your";

// Of those, the ones that are also what somebody does: a question about one speaker may mean them.
constexpr std::string_view kAlsoDone[] = {
    "run",       "ran",      "running",    "walk",        "walked",   "walking",   "read",       "reading",
    "write",     "wrote",    "written",    "writing",     "start",    "started",   "begin",      "began",
    "finish",    "finished", "make",       "made",        "making",   "take",      "took",       "spend",
    "spent",     "enjoy",    "enjoyed",    "meeting",     "call",     "contact",   "name",       "names",
    "plate",     "record",   "report",     "help",        "try",      "tried",     "trying",     "stress",
    "stressing", "consider", "considered", "considering", "suggest",  "suggested", "recommend",  "propose",
    "plan",      "planned",  "plans",      "decide",      "decided",  "promise",   "promised",   "invite",
    "invited",   "complain", "complained", "worry",       "worrying", "excited",   "brainstorm", "brainstorming",
    "special",   "involve",  "involved"};

// And those that are things where "about" stands before them: "about the plan", "about making memories".
constexpr std::string_view kAlsoThings[] = {
    "agenda",  "agreement", "break",    "business", "calendar", "call",    "calls",    "checks",   "deal",
    "debate",  "dispute",   "habit",    "habits",   "head",     "history", "idea",     "ideas",    "importance",
    "issue",   "issues",    "joke",     "jokes",    "love",     "meeting", "meetings", "memories", "memory",
    "mind",    "nature",    "news",     "night",    "nights",   "novel",   "novels",   "offer",    "offers",
    "opening", "people",    "piece",    "place",    "plan",     "plans",   "plate",    "plates",   "post",
    "posts",   "present",   "presents", "promise",  "quarrel",  "reading", "record",   "records",  "rest",
    "review",  "run",       "running",  "school",   "search",   "stage",   "stress",   "supply",   "table",
    "tables",  "track",     "view",     "views",    "walk",     "walking", "walks",    "work",     "worries",
    "writing"};

std::unordered_set<std::string> with_stems(std::string_view words) {
  std::unordered_set<std::string> out;
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    std::string stem(words.substr(at, end - at));
    out.insert(stem);
    recall::porter_stem(stem);
    out.insert(stem);
    at = end + 1;
  }
  return out;
}

const std::unordered_set<std::string>& of_talking() {
  static const std::unordered_set<std::string> set = with_stems(kOfTalking);
  return set;
}

std::string stem_of(std::string_view word) {
  std::string stem(word);
  recall::porter_stem(stem);
  return stem;
}

bool talks(std::string_view word) {
  return of_talking().contains(std::string(word)) || of_talking().contains(stem_of(word));
}

// "de-stress", and not "catch-up": a part beside it says what about.
bool in_compound(std::string_view question, size_t begin, size_t end) {
  const auto letter = [&](size_t i) {
    return i < question.size() && recall::kAsciiWord[static_cast<uint8_t>(question[i])];
  };
  const auto says = [&](size_t from, size_t to) {
    const std::string other = ascii_lowercase(question.substr(from, to - from));
    return !other.empty() && !recall::is_stopword(other) && !talks(other);
  };
  if (end < question.size() && question[end] == '-' && letter(end + 1)) {
    size_t to = end + 1;
    while (letter(to)) ++to;
    if (says(end + 1, to)) return true;
  }
  if (begin < 2 || question[begin - 1] != '-' || !letter(begin - 2)) return false;
  size_t from = begin - 1;
  while (from > 0 && letter(from - 1)) --from;
  return says(from, begin - 1);
}

// What follows is what the question asks about.
constexpr std::string_view kOfSubject[] = {"about",     "regarding", "concerning", "mention",
                                           "mentioned", "mentions",  "mentioning"};

// Moves with the words of a sentence: behind "about", up to the next word of place, time or another clause.
bool still_object(bool object, std::string_view word) {
  constexpr std::string_view kBegin[] = {"about", "regarding", "concerning"};
  constexpr std::string_view kEnd[] = {"in",    "on",     "at",    "during", "when",  "as",     "from",
                                       "since", "before", "after", "until",  "that",  "which",  "who",
                                       "what",  "last",   "this",  "these",  "those", "earlier"};
  if (std::find(std::begin(kBegin), std::end(kBegin), word) != std::end(kBegin)) return true;
  return object && std::find(std::begin(kEnd), std::end(kEnd), word) == std::end(kEnd);
}

bool also_thing(std::string_view word) {
  return std::find(std::begin(kAlsoThings), std::end(kAlsoThings), word) != std::end(kAlsoThings);
}

bool slip_of_talking(std::string_view word) {  // "disucss"
  constexpr std::string_view kVerbs[] = {"discuss", "discussed", "talked",    "conversation", "conversations",
                                         "session", "sessions",  "summarize", "summarise",    "mentioned"};
  return word.size() >= 6 && std::any_of(std::begin(kVerbs), std::end(kVerbs),
                                         [&](std::string_view v) { return one_edit_apart(word, v); });
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

std::string Topic::text() const { return fmt::format("{}", fmt::join(words, " ")); }

Topic topic_of(std::string_view question, const TimeQuery& time, const std::vector<std::string>& names) {
  Topic out;
  for (const auto& [begin, end] : asking_sentences(question)) {
    const size_t from = begin;
    bool subject = false, object = false;
    recall::for_each_word(question.substr(begin, end - begin), [&](size_t b, size_t e) {
      const size_t at = from + b, stop = from + e;
      for (const TimeConstraint& c : time.constraints)
        if (at < c.end && stop > c.begin) return;
      std::string word = ascii_lowercase(question.substr(at, stop - at));
      subject |= std::find(std::begin(kOfSubject), std::end(kOfSubject), word) != std::end(kOfSubject);
      object = still_object(object, word);
      if (word.size() < 2 || recall::is_stopword(word)) return;
      if (at > 0 && question[at - 1] == '\'' && word.size() <= 2) return;  // 's, 're, 've
      if (std::find(names.begin(), names.end(), word) != names.end()) return;
      if (talks(word) && !in_compound(question, at, stop) && !(object && also_thing(word))) {
        const std::string_view behind = question.substr(stop, 4);
        const bool to_us = behind.starts_with(" me ") || behind.starts_with(" us ");  // "walk me through"
        if (!to_us && std::find(std::begin(kAlsoDone), std::end(kAlsoDone), word) != std::end(kAlsoDone))
          out.deeds.push_back(std::move(word));
        return;
      }
      if (slip_of_talking(word)) return;
      if (subject) out.subjects.push_back(word);
      out.words.push_back(std::move(word));
    });
  }
  return out;
}

bool points_at_a_time(std::string_view question) {
  const std::string q = ascii_lowercase(question);
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
  const std::string q = ascii_lowercase(question);
  return has_any(q, {"it", "that", "this", "those", "these", "them", "they", "he", "she", "him", "her", "more", "yes",
                     "yeah", "sure", "please do", "go ahead", "of course", "absolutely"});
}

}  // namespace quern::memory
