// Slips in words of time. A word that is none of ours, one edit away from a name (two of a long name), is that name,
// unless it is an English word of its own ("mourning", "conservation"). The words of their own are those in common use
// within that distance, so that the list is closed under the rule.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>
#include <vector>

#include "quern/memory/time/lexicon.h"

namespace quern::memory {
namespace {

constexpr std::string_view kMendable[] = {
    "january",   "february",     "march",      "april",        "june",          "july",       "august",
    "september", "october",      "november",   "december",     "monday",        "tuesday",    "wednesday",
    "thursday",  "friday",       "saturday",   "sunday",       "yesterday",     "tomorrow",   "today",
    "tonight",   "session",      "sessions",   "conversation", "conversations", "discussion", "discussions",
    "morning",   "afternoon",    "evening",    "night",        "weekend",       "weekends",   "christmas",
    "halloween", "thanksgiving", "easter",     "autumn",       "summer",        "winter",     "spring",
    "month",     "months",       "weeks",      "years",        "hours",         "minutes",    "first",
    "second",    "third",        "fourth",     "fifth",        "sixth",         "seventh",    "eighth",
    "ninth",     "tenth",        "eleventh",   "twelfth",      "thirteenth",    "fourteenth", "fifteenth",
    "sixteenth", "seventeenth",  "eighteenth", "nineteenth",   "twentieth",     "three",      "seven",
    "eight",     "eleven",       "twelve",     "thirteen",     "fourteen",      "fifteen",    "sixteen",
    "seventeen", "eighteen",     "nineteen",   "twenty",       "thirty",        "forty",      "previous",
    "between",   "through",      "message",    "messages",     "response",      "responses",  "meeting",
    "before",    "after",        "since",      "until",        "during",        "latest",     "recent",
    "recently",  "lately",       "midnight",   "except",       "without",       "beginning",  "quarter",
    "week",      "last",         "mornings",   "afternoons",   "evenings",      "nights",     "mondays",
    "tuesdays",  "wednesdays",   "thursdays",  "fridays",      "saturdays",     "sundays",    "weekdays"};

constexpr std::string_view kOwnWords =
    "adoring afters aine alter arch ast aster august's augusta auguste augusto autumns bast bays bear bears "
    "beating beckon beek beginnings benning betwixt bight binning blast boon boring brought bummer cast caster "
    "cats cays cession chants chaos chaps chars charts chas chavs cheats christa christian christians christmases "
    "christos christs christus cine coats concussion condensation conservation conversational conversion "
    "conversions coon corning cour cours curing dabs dacs dads dais dams dans daring das dass dats daws daya daye "
    "dayz dazs dear dears deceiver decent decently digression dine discussing dive doon dour duly dune dys ear "
    "earnings ears easier east eastern eater eek eighths eighties eights eighty eine element elements eluding "
    "elven ester even evening evening's evenings eventing exceeding excerpt excusing exploding ext exuding fast "
    "faster fave fear fears feeling fide fie fife fifths fight fights file filth fine fire firs firsts firth fist "
    "fite fiver fives fixe fleeting flour foer foon footy for foray fort forte forth forts fou foul fours fourths "
    "frida fridays fur furst gast gays gear gears geek geeks ghats give goon greeting growing hallowed hallowell "
    "hast hats hays hear hears heating height hight hine hird hirst hive hoar hoon hor hors horus hou hous hout "
    "hummer hur iast ight imessage ince ine inter ive jane jaune jays jeune jive joly joon jour jours jude judy "
    "juke jule jund jung junge junie junk juno jure jury jute juve kays keven kine knight knights koon lait larch "
    "las lash lass lasts lat latent lays lear least leek leeks lest leveling leven light lights line list live "
    "loon lost lune luring lust mach marah marc marca marche marchi marci marco marcy markings marsh marth "
    "massage massaged massager massages mast master match mating mauch mays mcknight meanings mears meek meeks "
    "meeting's meetings melting merch messaged messenger messes meting might mince mine mission moaning moldings "
    "mondays mont monta monte montes monthly monti monty moon mooning mooring moorings moraines morning's "
    "mornings morty moth moths mourning mouth mouths moving mowing murch nast nays near nears neat neet neft nene "
    "neon nest net nett newt nice nicht nie nige nigh nighty nighy nike nile nin nina niner nines nineties ning "
    "ninh nini nino niue nne non none nono noo noob nook noona noone nooo noor noot norn noun nour obsession "
    "octobers oon ours pabst pact pant part pas pasa pash paso pass passage passion pasta paste pasts pasty pat "
    "pats patt pays pear pears peek peeks pest pine pinter poon post pour pours precious previews previously psat "
    "psst pst pune quartet rafter rast raster rays rear rears recant reckon reek reeks reentry regent relent "
    "repent repose resent respond responded responder responders responds responsed responses responsive right "
    "rights rive roon rune says sear sears seasons seating secession second's seconds sections seek seeks seen "
    "semen seren sessile session's sessional seve sevens seventies seventy sever severn sext shree sicken sight "
    "sights simmer sine singe sith sive sommer soon sour sours sparing sprang sprig springs springy sprint sprung "
    "spying steven string strings sturdy sumer summed summers summery sumner sumter sundae sundaes sundays sundry "
    "sven taree taster tear tears teeth tench tent tenth tenths tents text thats thee there thirds thirsty "
    "thirties thorough though thought threes threw tight tights tine tive toady toda todas todays toddy tommorow "
    "tomorrows toon tour tours tree trough tune turing tweek tweety twenties tyree une untie util vast vince vine "
    "vive warming warning wast ways weak weakens wear wears wee weeb weed weeds weee weekender weekends weems "
    "ween weep weeps weet weight werk whats wight wince winder wine winger winner winters wither witter woon "
    "workdays wrought yaar yar yea yeah yeahs yeap yearn yearns yeas yeats yer yesterdays yoon yours zine zune";

const std::unordered_set<std::string_view>& own_words() {
  static const auto* const set = [] {
    auto* s = new std::unordered_set<std::string_view>();
    for (size_t at = 0; at < kOwnWords.size();) {
      const size_t end = std::min(kOwnWords.find(' ', at), kOwnWords.size());
      s->insert(kOwnWords.substr(at, end - at));
      at = end + 1;
    }
    return s;
  }();
  return *set;
}

// Insertions, deletions, changes and swaps of neighbors from one to the other; `most` + 1 when there are more.
int edits_between(std::string_view a, std::string_view b, int most) {
  constexpr size_t kLongest = 16;
  if (a.size() >= kLongest || b.size() >= kLongest) return most + 1;
  std::array<std::array<int, kLongest>, kLongest> d{};
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      int& at = d[i][j];
      if (i == 0 || j == 0) {
        at = static_cast<int>(i + j);
        continue;
      }
      at = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) at = std::min(at, d[i - 2][j - 2] + 1);
    }
  return std::min(d[a.size()][b.size()], most + 1);
}

}  // namespace

bool one_edit_apart(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  size_t i = 0;
  while (i < a.size() && a[i] == b[i]) ++i;
  if (i == a.size()) return true;
  if (a.size() < b.size()) return a.substr(i) == b.substr(i + 1);
  if (a.substr(i + 1) == b.substr(i + 1)) return true;
  return i + 1 < a.size() && a[i] == b[i + 1] && a[i + 1] == b[i] && a.substr(i + 2) == b.substr(i + 2);
}

// Short words have many neighbors: of four letters only two that changed places or one that was doubled; of five
// those, or one that was left out or added.
std::string_view mended_spelling(std::string_view lower) {
  if (lower.size() < 4 || lower.size() > 15 || lexicon_find(lower) || own_words().contains(lower)) return {};
  std::string_view best;
  for (const std::string_view name : kMendable) {
    if (lower == name) return {};
    if (lower.size() + 2 < name.size() || name.size() + 2 < lower.size()) continue;
    const bool swapped = lower.size() == name.size() && std::is_permutation(lower.begin(), lower.end(), name.begin());
    if (name.size() <= 5 && lower.size() == name.size() && !swapped) continue;
    if (name.size() <= 4 && lower.size() != name.size() && !(lower.size() > name.size() && lower[0] == name[0]))
      continue;
    if (one_edit_apart(lower, name)) return name;
    if (best.empty() && name.size() >= 8 && lower[0] == name[0] && edits_between(lower, name, 2) <= 2) best = name;
  }
  return best;
}

const LexiconEntry* lexicon_mend(std::string_view lower) {
  const std::string_view name = mended_spelling(lower);
  return name.empty() ? nullptr : lexicon_find(name);
}

}  // namespace quern::memory
