#include "quern/text/html/marks.h"

#include <algorithm>
#include <array>
#include <string>

namespace quern::text {
namespace {

enum class Says : uint8_t { nothing, boilerplate, comments, teaser, perhaps, content, surely };

struct NamedMark {
  std::string_view word;
  Says says;
};

// Whole words, and two neighbors written as one.
constexpr NamedMark kWords[] = {
    {"ad", Says::boilerplate},
    {"ads", Says::boilerplate},
    {"adsense", Says::boilerplate},
    {"advert", Says::boilerplate},
    {"advertisement", Says::boilerplate},
    {"advertising", Says::boilerplate},
    {"authorbio", Says::boilerplate},
    {"authorbox", Says::boilerplate},
    {"authorinfo", Says::boilerplate},
    {"aboutauthor", Says::boilerplate},
    {"banner", Says::boilerplate},
    {"bookmark", Says::boilerplate},
    {"breadcrumb", Says::boilerplate},
    {"breadcrumbs", Says::boilerplate},
    {"byline", Says::boilerplate},
    {"catlinks", Says::boilerplate},
    {"consent", Says::boilerplate},
    {"cookie", Says::boilerplate},
    {"cookies", Says::boilerplate},
    {"copyright", Says::boilerplate},
    {"credits", Says::boilerplate},
    {"donate", Says::boilerplate},
    {"editsection", Says::boilerplate},
    {"entryfooter", Says::boilerplate},
    {"entrymeta", Says::boilerplate},
    {"footer", Says::boilerplate},
    {"gdpr", Says::boilerplate},
    {"headerlink", Says::boilerplate},
    {"visuallyhidden", Says::boilerplate},
    {"imprint", Says::boilerplate},
    {"login", Says::boilerplate},
    {"menu", Says::boilerplate},
    {"metadata", Says::boilerplate},
    {"modal", Says::boilerplate},
    {"mostread", Says::boilerplate},
    {"nav", Says::boilerplate},
    {"navbar", Says::boilerplate},
    {"navbox", Says::boilerplate},
    {"navi", Says::boilerplate},
    {"navigation", Says::boilerplate},
    {"newsletter", Says::boilerplate},
    {"noprint", Says::boilerplate},
    {"outbrain", Says::boilerplate},
    {"overlay", Says::boilerplate},
    {"pagenavi", Says::boilerplate},
    {"pager", Says::boilerplate},
    {"pagination", Says::boilerplate},
    {"paging", Says::boilerplate},
    {"paywall", Says::boilerplate},
    {"popular", Says::boilerplate},
    {"popup", Says::boilerplate},
    {"postfooter", Says::boilerplate},
    {"postinfo", Says::boilerplate},
    {"postmeta", Says::boilerplate},
    {"postmetadata", Says::boilerplate},
    {"print", Says::boilerplate},
    {"promo", Says::boilerplate},
    {"promotion", Says::boilerplate},
    {"rating", Says::boilerplate},
    {"readmore", Says::boilerplate},
    {"recommend", Says::boilerplate},
    {"recommended", Says::boilerplate},
    {"recommendations", Says::boilerplate},
    {"related", Says::boilerplate},
    {"relatedposts", Says::boilerplate},
    {"screenreadertext", Says::boilerplate},
    {"search", Says::boilerplate},
    {"searchform", Says::boilerplate},
    {"seealso", Says::boilerplate},
    {"share", Says::boilerplate},
    {"sharedaddy", Says::boilerplate},
    {"shariff", Says::boilerplate},
    {"sharing", Says::boilerplate},
    {"sidebar", Says::boilerplate},
    {"signup", Says::boilerplate},
    {"similar", Says::boilerplate},
    {"sitemap", Says::boilerplate},
    {"skiplink", Says::boilerplate},
    {"social", Says::boilerplate},
    {"socialmedia", Says::boilerplate},
    {"sponsor", Says::boilerplate},
    {"sponsored", Says::boilerplate},
    {"subnav", Says::boilerplate},
    {"subscribe", Says::boilerplate},
    {"subscription", Says::boilerplate},
    {"taboola", Says::boilerplate},
    {"tagcloud", Says::boilerplate},
    {"taglist", Says::boilerplate},
    {"taglinks", Says::boilerplate},
    {"tags", Says::boilerplate},
    {"timestamp", Says::boilerplate},
    {"toolbar", Says::boilerplate},
    {"toctree", Says::boilerplate},
    {"topnav", Says::boilerplate},
    {"trending", Says::boilerplate},
    {"vote", Says::boilerplate},
    {"caption", Says::boilerplate},
    {"bildunterschrift", Says::boilerplate},
    {"bildtext", Says::boilerplate},
    {"credit", Says::boilerplate},
    {"legend", Says::boilerplate},
    {"photocredit", Says::boilerplate},
    {"cta", Says::boilerplate},
    {"disclaimer", Says::boilerplate},
    {"ratings", Says::boilerplate},
    {"interesting", Says::boilerplate},
    {"authorcard", Says::boilerplate},
    {"userprofile", Says::boilerplate},
    {"citation", Says::boilerplate},
    {"upsell", Says::boilerplate},
    {"widget", Says::boilerplate},

    {"comment", Says::comments},
    {"commentlist", Says::comments},
    {"comments", Says::comments},
    {"disqus", Says::comments},
    {"kommentar", Says::comments},
    {"kommentare", Says::comments},
    {"replies", Says::comments},
    {"respond", Says::comments},
    {"trackbacks", Says::comments},

    {"author", Says::boilerplate},
    {"authors", Says::boilerplate},
    {"tweet", Says::boilerplate},
    {"affiliate", Says::boilerplate},
    {"disclosure", Says::boilerplate},
    {"postcomment", Says::comments},
    {"teaser", Says::teaser},
    {"teasertext", Says::teaser},

    {"articlebody", Says::surely},
    {"articlecontent", Says::surely},
    {"articletext", Says::surely},
    {"artikeltext", Says::surely},
    {"blogcontent", Says::surely},
    {"bodytext", Says::surely},
    {"entrycontent", Says::surely},
    {"fulltext", Says::surely},
    {"newsbody", Says::surely},
    {"newscontent", Says::surely},
    {"newstext", Says::surely},
    {"pagecontent", Says::content},
    {"postbody", Says::surely},
    {"postcontent", Says::surely},
    {"postentry", Says::surely},
    {"posttext", Says::surely},
    {"singlecontent", Says::surely},
    {"storybody", Says::surely},
    {"storycontent", Says::surely},
    {"storytext", Says::surely},
    {"textcontent", Says::surely},
    {"themecontent", Says::surely},

    {"articlemain", Says::content},
    {"contentbody", Says::content},
    {"contentmain", Says::content},
    {"hentry", Says::content},
    {"maincontent", Says::content},
    {"mainarticle", Says::content},
    {"article", Says::content},
    {"artikel", Says::content},
    {"post", Says::content},
    {"entry", Says::content},
    {"story", Says::content},

    {"content", Says::perhaps},
    {"inhalt", Says::perhaps},
    {"main", Says::perhaps},
    {"text", Says::perhaps},
};

constexpr size_t kSlots = 1024;
constexpr size_t hash_of(std::string_view w) {
  uint32_t h = 2166136261u;
  for (const char c : w) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return (h ^ h >> 15) % kSlots;
}
struct WordTable {
  std::array<uint16_t, kSlots> entry{};  // index + 1
};
constexpr WordTable make_words() {
  WordTable t;
  for (size_t i = 0; i < std::size(kWords); ++i) {
    size_t at = hash_of(kWords[i].word);
    while (t.entry[at] != 0) at = (at + 1) % kSlots;
    t.entry[at] = static_cast<uint16_t>(i + 1);
  }
  return t;
}
constexpr WordTable kTable = make_words();

Says look_up(std::string_view word) {
  for (size_t at = hash_of(word); kTable.entry[at] != 0; at = (at + 1) % kSlots)
    if (const NamedMark& m = kWords[kTable.entry[at] - 1]; m.word == word) return m.says;
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
      m.content = std::max<uint8_t>(m.content, 1);
      break;
    case Says::content:
      m.content = std::max<uint8_t>(m.content, 2);
      break;
    case Says::surely:
      m.content = std::max<uint8_t>(m.content, 3);
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
  if (same_html_word(role, "main")) m.content = std::max<uint8_t>(m.content, 2);
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
        if (same_html_word(a.value, "articlebody")) m.content = 4;
        if (same_html_word(a.value, "comment")) m.comments = true;
        break;
      default:  // aria-hidden
        m.hidden = m.hidden || same_html_word(a.value, "true");
    }
  }
  return m;
}

}  // namespace quern::text
