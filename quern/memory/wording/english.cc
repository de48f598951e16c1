// Chat spellings and slips of English: "lst wk", "2moro", "fri n sat", "3ish", "2wks ago", "lastweek", "yesterdayyy",
// "elevn". A spelling that only means one thing is written out in silence; a slip that is mended is noted.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "quern/base/error.h"
#include "quern/memory/time/lexicon.h"
#include "quern/memory/wording/table.h"

namespace quern::memory {
namespace {

constexpr std::string_view kChat =
    "abuot=about aobut=about baout=about lst=last las=last lats=last lasst=last nxt=next prev=previous "
    "prevs=previous yday=yesterday ystrday=yesterday "
    "yest=yesterday ystd=yesterday yestrday=yesterday ydays=yesterday's yesterdays=yesterday's todays=today's "
    "tonights=tonight's tmrw=tomorrow tmr=tomorrow 2moro=tomorrow "
    "2morrow=tomorrow tomoz=tomorrow tmw=tomorrow 2day=today 2nite=tonight tonite=tonight nite=night nites=nights "
    "lastnite=last+night morn=morning mornin=morning mrng=morning aft=afternoon arvo=afternoon aftn=afternoon "
    "evng=evening wk=week wks=weeks wkend=weekend wknd=weekend wkends=weekends wknds=weekends weeknd=weekend "
    "mth=month mths=months mnth=month mnths=months mo=month mos=months yr=year yrs=years hr=hour hrs=hours "
    "mins=minutes "
    "dys=days abt=about bout=about b4=before bfore=before befor=before aftr=after btwn=between btween=between "
    "betw=between b/w=between thru=through til=until till=until untill=until frm=from w/=with w=with n=and nd=and "
    "&=and u=you ur=your r=are wut=what wat=what wot=what whut=what wht=what whats=what's wuts=what's wats=what's "
    "wuz=was wz=was wen=when teh=the da=the dat=that dis=this tht=that ths=this thsi=this thx=thanks plz=please "
    "pls=please plse=please convo=conversation convos=conversations conv=conversation sesh=session seshes=sessions "
    "sess=session msg=message msgs=messages mssg=message mssgs=messages cht=chat happend=happened happnd=happened "
    "sed=said sayed=said sez=says tlk=talk tlked=talked talkd=talked discus=discuss discused=discussed "
    "disscuss=discuss disscussed=discussed 1st=first 2nd=second 3rd=third frst=first fist=first frist=first "
    "scnd=second "
    "secnd=second thrd=third thirdly=third forth=fourth fith=fifth fiv=five thre=three twelv=twelve ninteen=nineteen "
    "fourty=forty begining=beginning mid-=mid everythin=everything anythin=anything somethin=something sth=something "
    "smth=something summat=something bc=because rn=now atm=now lemme=let+me gimme=give+me wanna=want+to "
    "gonna=going+to "
    "dunno=don't+know hav=have hve=have iirc= tbh= lol= omg= btw= fyi= pple=people ppl=people jan.=january "
    "ytd=yesterday afternon=afternoon xept=except xcept=except exept=except excpt=except wthout=without "
    "w/o=without whch=which wich=which";

// Only in front of a word of time: elsewhere they are words, or something else.
constexpr std::string_view kBeforeTime =
    "lat=last laat=last lsat=last list=last lasy=last lest=last lost=last lass=last pats=past pst=past psat=past "
    "tis=this thi=this tihs=this nex=next nest=next ext=next";

// Small words beside a time, whose slips ("aog", "thhe", "daays") are none of the words in use.
constexpr std::string_view kSmallWords[] = {
    "the",   "and",   "ago",    "last",  "late",     "early",     "time",  "times",   "day",    "days",  "year",
    "years", "week",  "weeks",  "noon",  "chat",     "chats",     "talk",  "talks",   "talked", "spoke", "said",
    "say",   "wrote", "most",   "but",   "not",      "from",      "that",  "this",    "next",   "past",  "new",
    "since", "until", "before", "after", "excluded", "excluding", "minus", "leaving", "about",  "what",  "when"};
constexpr std::string_view kNoSlips[] = {"alte", "butt", "form", "gao",  "latte", "mots", "nono",
                                         "nott", "nada", "pats", "thee", "ont",   "oru"};

// The small word of which one letter is doubled, or two have changed places; empty when it is none.
std::string_view small_word(const std::string& w) {
  if (w.size() < 3 || lexicon_find(w) || std::find(std::begin(kNoSlips), std::end(kNoSlips), w) != std::end(kNoSlips))
    return {};
  for (const std::string_view t : kSmallWords) {
    if (w == t) return {};
    if (w.size() == t.size() && one_edit_apart(w, t) && std::is_permutation(w.begin(), w.end(), t.begin())) return t;
    if (w.size() != t.size() + 1) continue;
    for (size_t i = 1; i < w.size(); ++i)
      if (w[i] == w[i - 1] && w.substr(0, i) + w.substr(i + 1) == t) return t;
  }
  return {};
}

using Spellings = std::unordered_map<std::string_view, std::string_view>;

Spellings spellings_of(std::string_view text) {
  Spellings out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size()), middle = text.find('=', at);
    out.emplace(text.substr(at, middle - at), text.substr(middle + 1, end - middle - 1));
    at = end + 1;
  }
  return out;
}

bool names_time(const std::string& word) {
  const LexiconEntry* e = lexicon_find(folded(word));
  return e && !e->weak &&
         (e->lex == Lex::unit || e->lex == Lex::weekday || e->lex == Lex::month || e->lex == Lex::part ||
          e->lex == Lex::season || e->lex == Lex::session);
}

bool timely(const std::string& word) {
  if (!word.empty() && word[0] >= '0' && word[0] <= '9') return true;
  const LexiconEntry* e = lexicon_find(folded(word));
  return e && (e->lex != Lex::other || e->word == Word::last || e->word == Word::the || e->word == Word::this_ ||
               e->word == Word::noon || e->word == Word::now);
}

// "2wks", "3d", "24h": a number and its unit
std::string number_and_unit(const std::string& w) {
  static const Spellings units = spellings_of(
      "d=days day=day days=days w=weeks wk=weeks wks=weeks week=weeks weeks=weeks mo=months mos=months mth=months "
      "mths=months month=months months=months h=hours hr=hours hrs=hours hour=hours hours=hours min=minutes "
      "mins=minutes "
      "y=years yr=years yrs=years year=years years=years m=months ish=ish");
  size_t n = 0;
  while (n < w.size() && w[n] >= '0' && w[n] <= '9') ++n;
  if (n == 0 || n > 3 || n == w.size()) return {};
  const std::string tail = w.substr(n);
  if (tail == "ish" || tail == "pmish" || tail == "amish")
    return "around " + w.substr(0, n) + tail.substr(0, tail.size() - 3);
  const auto unit = units.find(tail);
  if (unit == units.end() || tail == "m") return {};
  return w.substr(0, n) + " " + std::string(unit->second);
}

// "lastweek", "thismorning", "yesterdayevening"
std::string run_together(const std::string& w) {
  for (const std::string_view first : {"last", "this", "past", "next", "yesterday", "today"})
    if (w.size() > first.size() + 3 && w.starts_with(first) && names_time(w.substr(first.size())))
      return std::string(first) + " " + w.substr(first.size());
  return {};
}

// "yesterdayyy", "laaast": three and more of a letter are one or two.
std::string without_runs(const std::string& w) {
  std::string one, two;
  for (size_t i = 0; i < w.size(); ++i) {
    const size_t run = [&] {
      size_t k = i;
      while (k > 0 && w[k - 1] == w[i]) --k;
      return i - k;
    }();
    size_t whole = 0;
    for (size_t k = i - run; k < w.size() && w[k] == w[i]; ++k) ++whole;
    if (whole < 3 || run == 0) one += w[i];
    if (whole < 3 || run < 2) two += w[i];
  }
  if (one == w || one.size() < 2) return {};
  return lexicon_find(two) ? two : one;
}

std::pair<std::string_view, bool> mended_with_genitive(std::string_view w) {
  const bool genitive = w.ends_with("'s") && w.size() > 4;
  if (!genitive && w.find('\'') != w.npos) return {};
  const std::string_view word = genitive ? w.substr(0, w.size() - 2) : w;
  if (word == "year" || word == "years") return {};
  return {mended_spelling(word), genitive};
}

// "thursdays conversation" is that of one Thursday.
bool is_genitive(const std::string& word, const std::string& next) {
  const LexiconEntry* e = lexicon_find(word);
  const LexiconEntry* noun = lexicon_find(next);
  return e && e->lex == Lex::weekday && e->plural && noun && noun->lex == Lex::session && !noun->plural;
}

// "Jan. 5", "jan, feb and mar": the month, where a point or another month beside it says that it is one
std::string_view abbreviated_month(const std::vector<WordPiece>& pieces, size_t i) {
  static const Spellings months = spellings_of(
      "jan=January feb=February mar=March apr=April jun=June jul=July aug=August sep=September sept=September "
      "oct=October nov=November dec=December");
  auto month_at = [&](size_t k) {
    if (k >= pieces.size()) return false;
    const std::string w = folded(pieces[k].word);
    const LexiconEntry* e = lexicon_find(w);
    return months.contains(w) || (e && e->lex == Lex::month && !e->weak);
  };
  const auto at = months.find(folded(pieces[i].word));
  if (at == months.end()) return {};
  const bool point =
      i + 1 < pieces.size() && pieces[i + 1].before.starts_with(".") && pieces[i + 1].before.size() > 1;
  const bool joined = i + 1 < pieces.size() && folded(pieces[i + 1].word) == "and" && month_at(i + 2);
  const bool joined_back = i > 1 && folded(pieces[i - 1].word) == "and" && month_at(i - 2);
  return point || joined || joined_back || month_at(i + 1) || (i > 0 && month_at(i - 1)) ? at->second
                                                                                         : std::string_view();
}

std::string plus_as_space(std::string_view s) {
  std::string out(s);
  std::replace(out.begin(), out.end(), '+', ' ');
  return out;
}

}  // namespace

void plain_english(std::vector<WordPiece>& pieces, std::vector<std::string>& notes) {
  static const Spellings chat = spellings_of(kChat), before_time = spellings_of(kBeforeTime);
  for (size_t i = 0; i < pieces.size(); ++i) {
    WordPiece& p = pieces[i];
    if (p.before == " & " || p.before == " + ") p.before = " and ";
    if (p.before == " @ " || p.before == " @") p.before = " at ";
    const std::string w = folded(p.word);
    if (const std::string_view month = abbreviated_month(pieces, i); !month.empty()) {
      p.word = month;
      if (i + 1 < pieces.size() && pieces[i + 1].before.starts_with(".")) pieces[i + 1].before.erase(0, 1);
      continue;
    }
    const std::string next = i + 1 < pieces.size() && pieces[i + 1].before == " " ? folded(pieces[i + 1].word) : "";
    if (w == "btw" && timely(next)) {
      p.word = "between";
    } else if ((w == "forth" && !names_time(next)) || (w == "fist" && !names_time(next)) ||
               ((w == "mo" || w == "w" || w == "da" || w == "las" || w == "aft") && p.word != w)) {
      continue;  // a word, or a name
    } else if (const auto c = chat.find(w); c != chat.end() && w != "1st" && w != "2nd" && w != "3rd") {
      p.word = plus_as_space(c->second);
    } else if (const auto b = before_time.find(w);
               b != before_time.end() && names_time(next) && (i == 0 || folded(pieces[i - 1].word) != "a")) {
      notes.push_back(fmt::format("'{}' is read as '{}'", p.word, b->second));
      p.word = b->second;
    } else if (std::string apart = number_and_unit(w); !apart.empty()) {
      p.word = std::move(apart);
    } else if (std::string two = run_together(w); !two.empty()) {
      p.word = std::move(two);
    } else if (is_genitive(w, next)) {
      p.word.pop_back();
    } else if (std::string plain = without_runs(w); !plain.empty() && (lexicon_find(plain) || chat.contains(plain))) {
      p.word = std::move(plain);
    } else if (const auto [mended, genitive] = mended_with_genitive(w); !mended.empty()) {
      notes.push_back(fmt::format("'{}' is read as '{}'", p.word, mended));
      p.word = std::string(mended) + (genitive ? "'s" : "");
    } else if (const std::string_view small = small_word(w); !small.empty()) {
      notes.push_back(fmt::format("'{}' is read as '{}'", p.word, small));
      p.word = small;
    } else if ((w == "small" || w == "wee" || w == "early") && next == "hours") {
      p.word = "smallhours";
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else if ((w == "yester" || w == "to" || w == "week" || w == "after" || w == "mid") && i + 1 < pieces.size() &&
               lexicon_find(w + next) && (w != "to" || next == "day" || next == "morrow" || next == "night") &&
               (w != "after" || next == "noon") && (w != "week" || next == "end") &&
               (w != "mid" || next == "night")) {
      // "week end", "after noon": one word that was parted
      if (w == "to" && next == "night") continue;
      p.word = w + next;
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }
}

// Latin letters with marks, as UTF-8 pairs, and the letter below.
std::string folded(std::string_view word) {
  std::string out;
  for (size_t i = 0; i < word.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(word[i]);
    if (c < 0x80) {
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : word[i];
      continue;
    }
    if (c == 0xC3 && i + 1 < word.size()) {
      static constexpr std::string_view kBelow = "aaaaaaaceeeeiiiidnooooo*ouuuuypsaaaaaaaceeeeiiiidnooooo/ouuuuypy";
      const size_t at = static_cast<size_t>(static_cast<unsigned char>(word[i + 1]) - 0x80);
      ++i;
      if (at == 0x1F)
        out += "ss";
      else if (at < kBelow.size())
        out += kBelow[at];
      continue;
    }
    if (c == 0xC5 && i + 1 < word.size() && (static_cast<unsigned char>(word[i + 1]) | 1) == 0x93) {
      out += "oe", ++i;
      continue;
    }
    out += word[i];
  }
  return out;
}

}  // namespace quern::memory
