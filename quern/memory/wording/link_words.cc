#include "quern/memory/wording/link_words.h"

#include <algorithm>
#include <array>
#include <optional>

#include "quern/memory/wording/table.h"

namespace quern::memory {
namespace {

// Of one language, in lower case and without accents, parted by |. A * stands for one word.
struct LinkLists {
  std::string_view fillers, openers, pointers, steps, exceptions, comparisons, persons;
  std::string_view none;  // what only looks like one of them
};

constexpr LinkLists kEnglish = {
    "ok|okay|so|well|hm|hmm|um|uh|oh|no|nope|yes|yeah|wait|actually|thanks|thank you|great|right|now",
    "and|but|what about|how about|what of|same for|the same for|same with|the same with|same question|same thing|the "
    "same thing|same again|likewise|ditto",
    "that day|that week|that month|that year|that weekend|that evening|that morning|that afternoon|that night|that "
    "time|"
    "from there|back from|that date|that period|that session|that chat|that conversation|that talk|that same *|the "
    "same day|the same "
    "week|the same "
    "month|the same evening|the same weekend|back then|and then|come up then|came up then|say then|said then|of "
    "them|those chats|"
    "those days|those sessions|those conversations|on that occasion",
    "before that|after that|before then|after then|since then|until then|the one before|the one after|the next "
    "one|the previous "
    "one|the following one|the following day|the following week|the following month|the day after that|the day "
    "before that|and "
    "then",
    "except|excepting|excepted|excluding|excluded|exclude|exclusion|apart from|aside from|other than|barring|not "
    "counting|not "
    "including|not included|leaving out|leave out|left out|leaving aside|leave aside|set aside|setting aside|to one "
    "side|taken "
    "out|save for|but not|everything but|anything but|all "
    "but|minus|omitting|omit|omitted|skipping|skip|ignoring|ignore|"
    "disregarding|disregard|never mind|but nothing|without counting|not among",
    "longer than|shorter than|more than in|more often than|less than in|more recently than|the longest|the "
    "shortest|longest|"
    "shortest|busiest|quietest",
    "and he|and she|and him|and her|did he|did she|has he|has she|he say|she say|he said|she said|he talk|she "
    "talk|he mention|she mention|his last message|her last message|his messages|her messages",
    "nothing but|all but one of"};

constexpr LinkLists kGerman = {
    "ok|okay|also|na|nun|gut|ja|nein|hm|ah|ach|ach so|danke|super|moment",
    "und|aber|wie sieht es mit|wie sieht's mit|wie sah es mit|wie war es mit|wie war's mit|was ist mit|wie steht es "
    "mit|wie stand es "
    "mit|dasselbe|das gleiche|das selbe|ebenso|genauso|gleiches",
    "jenem|jener|jenen|jenes|jene|damals|an dem tag|an dem abend|an dem morgen|an dem wochenende|in der woche "
    "damals|derselbe|"
    "dieselbe|denselben|demselben|derselben|am selben|im selben|der selbe|den selben|dem selben|davon|darunter",
    "danach|davor|vorher|darauf|drauf|zuvor|im anschluss|anschliessend|hinterher|tags darauf|tags "
    "drauf|folgetag|folgewoche|"
    "folgemonat|vortag|und dann|aber dann|was kam dann",
    "ausser|ausgenommen|abgesehen|mit ausnahme|ohne|bis auf|nicht mitgezahlt|nicht mitgerechnet|nicht "
    "eingerechnet|nicht "
    "gerechnet|ausgeklammert|aussen vor|weglassen|weglasst|weggelassen|lassen wir|ausgeschlossen|ausschluss|nur "
    "nicht|bloss nicht|"
    "aber nicht|jedoch nicht|beiseite|exklusive|auslassen|ausgelassen|minus",
    "langer als|kurzer als|ofter als|mehr als im|weniger als "
    "im|langste|langstes|langsten|langster|kurzeste|kurzestes|kurzesten",
    "und er|und sie|und ihn|und ihm|und ihr|hat er|hat sie|sagte er|sagte sie|meinte er|meinte sie|erzahlte "
    "er|erzahlte sie|schrieb er|schrieb sie|er gesagt|sie gesagt",
    "ohne dass|ohne zu|ausser dass"};

constexpr LinkLists kFrench = {"ok|bon|bien|alors|non|oui|merci|euh|ah|hein|d'accord|super",
                               "et|mais|qu'en est il|quid|la meme chose|meme chose|pareil|pareillement|idem|de meme",
                               "ce jour la|ce soir la|ce matin la|cet apres midi la|cette nuit la|cette semaine "
                               "la|ce mois la|cette annee la|ce week end "
                               "la|cette fois la|cette conversation la|ce * la|cette * la|a ce moment la|a cette "
                               "date|ce jour precis|le meme jour|la meme "
                               "semaine|le meme mois|le meme soir|la meme annee|a l'epoque|celui la|celle la",
                               "d'avant|d'apres|avant ca|avant cela|apres ca|apres cela|avant ce|ensuite|et "
                               "puis|suivant|suivante|precedent|precedente|"
                               "lendemain|surlendemain|veille|plus tard|auparavant",
                               "sauf|excepte|exceptes|exceptee|a part|mis a part|mise a part|hormis|hors|sans "
                               "compter|sans|a l'exception|a l'exclusion|en "
                               "dehors|exclu|exclus|exclue|excluant|en excluant|non compris|non comprise|mais "
                               "pas|pas compte|laisse de cote|laissant de cote|"
                               "de cote|omettant|excepter|enlevant|enleve|retirant|retire|otant",
                               "plus long que|plus longue que|plus courte que|plus court que|plus longue|plus "
                               "longues|plus courte|le plus long|le plus court",
                               "et lui|et elle|a t il dit|a t elle dit|il a dit|elle a dit|disait il|disait "
                               "elle|qu'il a dit|qu'elle a dit|et il|a t il parle|a t elle parle",
                               "il y a|sans doute|hors de|sans faute|plus tard que"};

constexpr LinkLists kSpanish = {
    "ok|vale|bueno|bien|no|si|gracias|ah|pues|eh|genial|oye",
    "y|e|pero|que tal|que hay de|que me dices de|lo mismo|igual|igualmente|que fue de",
    "aquel|aquella|aquellos|aquellas|ese dia|esa noche|esa tarde|esa manana|esa semana|ese mes|ese ano|ese fin|esa "
    "vez|esa charla|"
    "esa conversacion|esos dias|el mismo|la misma|mismo dia|misma semana|en aquel entonces",
    "siguiente|anterior|previo|previa|despues de eso|antes de eso|despues de aquello|antes de aquello|la de antes|la "
    "de despues|"
    "el de antes|el de despues|y luego|vispera|dia despues|dia antes|posterior",
    "excepto|salvo|menos|a excepcion|con excepcion|excepcion hecha|exceptuando|sin contar|sin "
    "incluir|sin|quitando|quitamos|quito|"
    "quitas|dejando aparte|dejando fuera|dejando de lado|aparte de|fuera "
    "de|excluido|excluida|excluidos|excluyendo|pero no|"
    "descontando|omitiendo|saltando|saltandonos|a exclusion|exceptuado|exceptuada",
    "mas largo que|mas larga que|mas corta que|mas corto que|mas larga|mas largo|mas corta|mas corto",
    "y ella|dijo ella|ella dijo|conto ella|hablo ella",
    "mas o menos|al menos|por lo menos|menos mal|menos de|menos que|menos cuarto|menos diez|menos cinco|menos "
    "veinte|menos "
    "veinticinco|sin embargo|sin duda|fuera de lugar|a lo menos"};

constexpr LinkLists kChinese = {
    "好的|好|嗯|哦|谢谢|对|行",
    "那么|那|但是|但|可是|不过|还有|而|然后|同样|另外",
    "那天|那一天|那次|那一次|那周|那一周|那个星期|那个礼拜|那个周末|那个月|那年|那一年|"
    "那晚|那个晚上|那时|当时|那段|当天|当晚|同一天|"
    "同一周|同一个|其中",
    "那之前|那之后|在那之前|在那之后|这之前|这之后|再往前|再往后|再前|再后|再上|再下|"
    "再早|再晚|前一|后一|下一|上一|接下来|接着|后来|"
    "随后|次日|第二天|也一样",
    "除了|除去|除开|除外|不算|不包括|不包含|不包|不计|不含|撇开|抛开|撇除|去掉|排除|刨去|"
    "刨除|扣除|扣掉|以外|之外|不要|剔除|避开",
    "最长|最短|更长|更短|聊得多|说得多|聊得更多",
    "他呢|她呢|那他|那她|他说|她说|他讲|她讲|他提|她提|他聊|她聊|他又|她又|他的消息|她的消息",
    "此外|除夕|要不要|那些|那里|那边|那种|那位|那样|不过分|那家|那本|那只|那件|那道|那部|"
    "那首|那场|那条|那张|那台|那辆|那座|那间"};

const LinkLists& lists_of(Language l) {
  switch (l) {
    case Language::german:
      return kGerman;
    case Language::french:
      return kFrench;
    case Language::spanish:
      return kSpanish;
    case Language::chinese:
      return kChinese;
    case Language::english:
      break;
  }
  return kEnglish;
}

template <class F>
void each(std::string_view list, F&& f) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find('|', at), list.size());
    f(list.substr(at, end - at));
    at = end + 1;
  }
}

// "on the 4. and", "Feb. and" go on behind their point.
bool ends_sentence(std::string_view s, size_t point) {
  if (point > 0 && s[point - 1] >= '0' && s[point - 1] <= '9') return false;
  size_t next = point + 1;
  while (next < s.size() && s[next] == ' ') ++next;
  return next == s.size() || s[next] < 'a' || s[next] > 'z';
}

// Words with one space around each; ends of sentences are a word of their own, ".".
std::string spaced(std::string_view question) {
  std::string out = " . ";
  for (size_t i = 0; i < question.size();) {
    const std::string_view rest = question.substr(i);
    if (rest.starts_with("\xE2\x80\x99")) {  // a typeset apostrophe
      out += '\'', i += 3;
      continue;
    }
    const unsigned char c = static_cast<unsigned char>(question[i]);
    const bool mark = rest.starts_with("\xE2\x80") || rest.starts_with("\xC2");
    if (c >= 0x80 && !mark) {
      out += question[i++];
    } else if (c == '!' || c == '?' || (c == '.' && ends_sentence(question, i))) {
      out += " . ", ++i;
    } else if (!mark && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '\'')) {
      out += question[i++];
    } else {
      out += ' ', i += c < 0x80 ? 1 : c >= 0xE0 ? 3 : 2;
    }
  }
  out = folded(out + " ");
  std::string single;
  for (const char c : out)
    if (c != ' ' || single.empty() || single.back() != ' ') single += c;
  return single;
}

// Han text without blanks; ends of sentences become ".", commas ",".
std::string han_text(std::string_view question) {
  constexpr std::string_view kEnds[] = {"\xE3\x80\x82", "\xEF\xBC\x9F", "\xEF\xBC\x81", ".", "?", "!"};
  constexpr std::string_view kCommas[] = {"\xEF\xBC\x8C", "\xE3\x80\x81", "\xEF\xBC\x9B", ",", ";"};
  std::string out = ".";
  for (size_t i = 0; i < question.size();) {
    const std::string_view rest = question.substr(i);
    const auto here = [&](std::string_view m) { return rest.starts_with(m); };
    if (const auto end = std::find_if(std::begin(kEnds), std::end(kEnds), here); end != std::end(kEnds)) {
      out += '.', i += end->size();
    } else if (const auto comma = std::find_if(std::begin(kCommas), std::end(kCommas), here);
               comma != std::end(kCommas)) {
      out += ',', i += comma->size();
    } else {
      if (question[i] != ' ') out += question[i];
      ++i;
    }
  }
  return folded(out);
}

class LinkReader {
 public:
  LinkReader(std::string_view question, Language language)
      : lists_(lists_of(language)),
        han_(language == Language::chinese),
        text_(han_ ? han_text(question) : spaced(question)) {}

  std::vector<LinkWord> run() {
    each(lists_.none, [&](std::string_view w) { blank(w); });
    std::vector<LinkWord> out;
    if (std::string w = opener(); !w.empty()) out.push_back({LinkKind::opener, std::move(w)});
    for (const auto& [kind, list] : {std::pair{LinkKind::pointer, lists_.pointers},
                                     {LinkKind::step, lists_.steps},
                                     {LinkKind::exception, lists_.exceptions},
                                     {LinkKind::comparison, lists_.comparisons},
                                     {LinkKind::person, lists_.persons}})
      if (std::string w = first_of(list); !w.empty()) out.push_back({kind, std::move(w)});
    return out;
  }

 private:
  // Where the words stand from `at` on, and where they end: one * is one word.
  struct Place {
    size_t begin = std::string::npos, end = 0;
  };
  Place find(std::string_view words, size_t at = 0) const {
    if (han_) {
      const size_t p = text_.find(words, at);
      return {p, p + words.size()};
    }
    const size_t star = words.find(" * ");
    const bool open = words.ends_with(" *");
    const std::string head =
        " " + std::string(words.substr(0, star != words.npos ? star : words.size() - (open ? 2 : 0))) + " ";
    for (size_t p = text_.find(head, at); p != text_.npos; p = text_.find(head, p + 1)) {
      size_t end = p + head.size() - 1;
      if (star == words.npos && !open) return {p + 1, end};
      const size_t word = std::min(text_.find(' ', end + 1), text_.size());
      if (text_.compare(end + 1, word - end - 1, ".") == 0) continue;
      if (open) return {p + 1, word};
      const std::string tail = " " + std::string(words.substr(star + 3)) + " ";
      if (text_.compare(word, tail.size(), tail) == 0) return {p + 1, word + tail.size() - 1};
    }
    return {};
  }
  void blank(std::string_view words) {
    for (Place p = find(words); p.begin != text_.npos; p = find(words, p.end))
      std::fill(text_.begin() + static_cast<std::ptrdiff_t>(p.begin),
                text_.begin() + static_cast<std::ptrdiff_t>(p.end), '_');
  }
  std::string first_of(std::string_view list) const {
    Place best;
    each(list, [&](std::string_view w) {
      const Place p = find(w);
      if (p.begin != text_.npos && (p.begin < best.begin || (p.begin == best.begin && p.end > best.end))) best = p;
    });
    return best.begin == text_.npos ? std::string() : text_.substr(best.begin, best.end - best.begin);
  }
  // Of the last sentence that has one; greetings and the like may stand in front of it.
  std::string opener() const {
    std::string out;
    for (size_t at = text_.find('.'); at != text_.npos; at = text_.find('.', at + 1)) {
      size_t i = at + 1;
      for (bool more = true; more;) {
        more = false;
        each(lists_.fillers, [&](std::string_view f) {
          if (const size_t end = word_at(f, i); !more && end) i = end, more = true;
        });
      }
      size_t longest = 0;
      if (!han_ || !any_at(lists_.pointers, i))
        each(lists_.openers, [&](std::string_view o) {
          if (const size_t end = word_at(o, i); end > longest) longest = end;
        });
      if (longest)
        out = text_.substr(han_ ? i : i + 1, longest - i - (han_ ? 0 : 1));
      else if (han_ && only_names(i))
        out = "呢";
    }
    return out;
  }
  // Behind those words at i, which is a blank; 0 where they do not stand there.
  size_t word_at(std::string_view words, size_t i) const {
    if (han_) {
      while (i < text_.size() && (text_[i] == '.' || text_[i] == ',')) ++i;
      return std::string_view(text_).substr(i).starts_with(words) ? i + words.size() : 0;
    }
    const std::string spaced = " " + std::string(words) + " ";
    return text_.compare(i, spaced.size(), spaced) == 0 ? i + spaced.size() - 1 : 0;
  }
  bool any_at(std::string_view list, size_t i) const {
    bool found = false;
    each(list, [&](std::string_view w) { found |= word_at(w, i) > 0; });
    return found;
  }
  // "昨天呢": what comes before the last word has no verb.
  bool only_names(size_t i) const {
    const size_t end = text_.find('.', i);
    const std::string_view s = std::string_view(text_).substr(i, std::min(end, text_.size()) - i);
    if (!s.ends_with("呢")) return false;
    for (const std::string_view verb :
         {"什么", "说", "聊", "谈", "讲", "提", "讨论", "谁", "哪", "怎", "干", "做", "是", "有"})
      if (s.find(verb) != s.npos) return false;
    return true;
  }

  const LinkLists& lists_;
  bool han_;
  std::string text_;
};

}  // namespace

std::vector<LinkWord> link_words(std::string_view question, Language language) {
  if (question.empty()) return {};
  return LinkReader(question, language).run();
}

}  // namespace quern::memory
