#include "quern/text/html/marks.h"

#include <algorithm>
#include <array>
#include <string>

namespace quern::text {
namespace {

enum class Says : uint8_t { nothing, boilerplate, comments, teaser, perhaps, likely, surely };

// Whole words, and two neighbors written as one; a blank divides them.
constexpr std::string_view kBoilerplate =
    "aboutauthor ad ads adsense advert advertisement advertising affiliate author authorbio authorbox authorcard "
    "authorinfo authors banner bildtext bildunterschrift bookmark breadcrumb breadcrumbs byline caption catlinks "
    "citation consent cookie cookies copyright credit credits cta disclaimer disclosure donate editsection "
    "entryfooter entrymeta footer gdpr headerlink imprint interesting legend login menu metadata modal mostread "
    "nav navbar navbox navi navigation newsletter noprint outbrain overlay pagenavi pager pagination paging "
    "paywall photocredit popular popup postfooter postinfo postmeta postmetadata print promo promotion rating "
    "ratings readmore recommend recommendations recommended related relatedposts screenreadertext search "
    "searchform seealso share sharedaddy shariff sharing sidebar signup similar sitemap skiplink social "
    "socialmedia sponsor sponsored subnav subscribe subscription taboola tagcloud taglinks taglist tags timestamp "
    "toctree toolbar topnav trending tweet upsell userprofile visuallyhidden vote widget";
constexpr std::string_view kComments =
    "comment commentlist comments disqus kommentar kommentare postcomment replies respond trackbacks";
constexpr std::string_view kTeaser = "teaser teasertext";
constexpr std::string_view kSurely =
    "articlebody articlecontent articletext artikeltext blogcontent bodytext entrycontent fulltext newsbody "
    "newscontent newstext postbody postcontent postentry posttext singlecontent storybody storycontent storytext "
    "textcontent themecontent";
constexpr std::string_view kLikely =
    "article articlemain artikel contentbody contentmain entry hentry mainarticle maincontent pagecontent post "
    "story";
constexpr std::string_view kPerhaps = "content inhalt main text";

constexpr size_t kSlots = 1024;
constexpr size_t hash_of(std::string_view w) {
  uint32_t h = 2166136261u;
  for (const char c : w) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return (h ^ h >> 15) % kSlots;
}
struct WordTable {
  std::array<std::string_view, kSlots> words{};
  std::array<Says, kSlots> says{};
  constexpr void add(std::string_view list, Says what) {
    while (!list.empty()) {
      const std::string_view w = list.substr(0, list.find(' '));
      list.remove_prefix(std::min(w.size() + 1, list.size()));
      size_t at = hash_of(w);
      while (!words[at].empty()) at = (at + 1) % kSlots;
      words[at] = w, says[at] = what;
    }
  }
};
constexpr WordTable make_words() {
  WordTable t;
  t.add(kBoilerplate, Says::boilerplate), t.add(kComments, Says::comments), t.add(kTeaser, Says::teaser);
  t.add(kPerhaps, Says::perhaps), t.add(kLikely, Says::likely), t.add(kSurely, Says::surely);
  return t;
}
constexpr WordTable kTable = make_words();

Says look_up(std::string_view word) {
  for (size_t at = hash_of(word); !kTable.words[at].empty(); at = (at + 1) % kSlots)
    if (kTable.words[at] == word) return kTable.says[at];
  return Says::nothing;
}

// Beginnings of words that stand for all that begins so.
constexpr std::string_view kBegins[] = {"breadcrumb", "cookie", "footer",  "navig",  "newsletter", "pagination",
                                        "related",    "share",  "sidebar", "social", "sponsor"};

void apply(Says says, HtmlMarks& m) {
  switch (says) {
    case Says::boilerplate:
      m.boilerplate = true;
      break;
    case Says::comments:
      m.comments = true;
      break;
    case Says::teaser:
      m.teaser = true;
      break;
    case Says::perhaps:
      m.content = std::max<uint8_t>(m.content, HtmlMarks::kPerhaps);
      break;
    case Says::likely:
      m.content = std::max<uint8_t>(m.content, HtmlMarks::kLikely);
      break;
    case Says::surely:
      m.content = std::max<uint8_t>(m.content, HtmlMarks::kSurely);
      break;
    case Says::nothing:
      break;
  }
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_upper(c) || (c >= 'a' && c <= 'z'); }

// One name: classes are several, divided by blanks.
void read_name(std::string_view name, HtmlMarks& m) {
  constexpr size_t kMaxWord = 24;
  // What a page is about, and how a page builder lays it out, say nothing about the element.
  for (const std::string_view about : {"tag-", "category-", "elementor-", "wp-block-", "has-", "no-", "type-"})
    if (name.starts_with(about)) return;
  char pair[2 * kMaxWord];
  size_t before = 0;  // letters of the word before, at the beginning of `pair`
  for (size_t i = 0; i < name.size();) {
    if (!is_letter(name[i])) {
      ++i;
      continue;
    }
    const size_t begin = i++;
    while (i < name.size() && is_letter(name[i]) && !(is_upper(name[i]) && !is_upper(name[i - 1]))) ++i;
    const size_t n = i - begin;
    if (n > kMaxWord) {
      before = 0;
      continue;
    }
    for (size_t k = 0; k < n; ++k) pair[before + k] = html_lower(name[begin + k]);
    const std::string_view word(pair + before, n);
    apply(look_up(word), m);
    if (before > 0) apply(look_up(std::string_view(pair, before + n)), m);
    for (const std::string_view b : kBegins)
      if (word.starts_with(b)) m.boilerplate = true;
    std::copy(word.begin(), word.end(), pair);
    before = n;
  }
}

void read_names(std::string_view names, HtmlMarks& m) {
  for (size_t i = 0; i < names.size();) {
    if (is_html_space(names[i])) {
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < names.size() && !is_html_space(names[i])) ++i;
    read_name(names.substr(begin, i - begin), m);
  }
}

void read_role(std::string_view role, HtmlMarks& m) {
  constexpr std::string_view kElsewhere[] = {"navigation",  "search",  "complementary", "contentinfo",
                                             "menu",        "menubar", "dialog",        "banner",
                                             "alertdialog", "tooltip", "toolbar"};
  for (const std::string_view r : kElsewhere)
    if (same_html_word(role, r)) m.boilerplate = true;
  if (same_html_word(role, "main")) m.content = std::max<uint8_t>(m.content, HtmlMarks::kLikely);
}

bool hides(std::string_view style) {
  std::string plain;
  for (const char c : style)
    if (!is_html_space(c)) plain += html_lower(c);
  return plain.find("display:none") != plain.npos || plain.find("visibility:hidden") != plain.npos;
}

}  // namespace

HtmlMarks marks_of(const HtmlTree& tree, const HtmlNode& node) {
  HtmlMarks m;
  for (const HtmlAttribute& a : tree.attributes_of(node)) {
    switch (a.name.size()) {
      case 2:  // id
        read_name(a.value, m);
        break;
      case 4:
        read_role(a.value, m);
        break;
      case 5:
        if (html_lower(a.name[0]) == 'c')
          read_names(a.value, m);
        else
          m.hidden = m.hidden || hides(a.value);
        break;
      case 6:
        m.hidden = true;
        break;
      case 8:
        if (same_html_word(a.value, "articlebody")) m.content = HtmlMarks::kDeclared;
        if (same_html_word(a.value, "comment")) m.comments = true;
        break;
      default:  // aria-hidden
        m.hidden = m.hidden || same_html_word(a.value, "true");
    }
  }
  return m;
}

}  // namespace quern::text
