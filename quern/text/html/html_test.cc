// Tags, trees, character references and encodings of web pages, against what browsers make of them.
#include <gtest/gtest.h>
#include <iconv.h>

#include <tuple>

#include "quern/text/html/encoding.h"
#include "quern/text/html/entities.h"
#include "quern/text/html/guess_encoding.h"
#include "quern/text/html/scanner.h"
#include "quern/text/html/tree.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

std::string tokens(std::string_view page) {
  HtmlScanner scan(page);
  std::string out;
  for (HtmlToken t = scan.next(); t.kind != HtmlToken::Kind::end; t = scan.next()) {
    if (t.kind == HtmlToken::Kind::text) {
      out += fmt::format("'{}' ", t.text);
      continue;
    }
    out += fmt::format("{}{}", t.kind == HtmlToken::Kind::open ? "<" : "</", t.text);
    for (size_t i = 0; i < t.attributes; ++i)
      out += fmt::format(" {}={}", scan.attribute(i).name, scan.attribute(i).value);
    out += t.self_closed ? "/> " : "> ";
  }
  return out;
}

TEST(HtmlScanner, CutsAsBrowsersDo) {
  EXPECT_EQ(tokens("a<b>c</b>"), "'a' <b> 'c' </b> ");
  EXPECT_EQ(tokens("<a href=x class='y z' ID=\"q>\" hidden data-a = 1>"),
            "<a href=x class=y z ID=q> hidden= data-a=1> ");
  EXPECT_EQ(tokens("<br/><img src=a/b />"), "<br/> <img src=a/b/> ");
  EXPECT_EQ(tokens("1 < 2 <3 </ x>"), "'1 ' '< 2 ' '<3 ' ");
  EXPECT_EQ(tokens("<!DOCTYPE html><!-- <p> --><!-->x<!--->y<?xml v?>z"), "'x' 'y' 'z' ");
  EXPECT_EQ(tokens("<script>if (a</b>) '</p>'</SCRIPT>x"), "<script> 'if (a</b>) '</p>'' </SCRIPT> 'x' ");
  EXPECT_EQ(tokens("<title>a <b> &amp;</title>"), "<title> 'a <b> &amp;' </title> ");
  EXPECT_EQ(tokens("<p>x<style>never closed <p>"), "<p> 'x' <style> 'never closed <p>' ");
  EXPECT_EQ(tokens("<p class=\"open"), "<p class=open> ");
  EXPECT_EQ(tokens("<script></script>x"), "<script> </script> 'x' ");
}

TEST(HtmlScanner, KnowsTagsInAnyCase) {
  EXPECT_EQ(html_tag("BlockQuote"), HtmlTag::blockquote);
  EXPECT_EQ(html_tag("H1"), HtmlTag::h1);
  EXPECT_EQ(html_tag("template"), HtmlTag::template_);
  for (const char* none : {"", "h7", "blockquotes", "p1", "q:p", "a_"})
    EXPECT_EQ(html_tag(none), HtmlTag::other) << none;
}

// "div(p('a') …)".
std::string outline(const HtmlTree& t, uint32_t i = 0) {
  std::string out;
  for (uint32_t k = i + 1; k < t.nodes[i].end; k = t.nodes[k].end) {
    if (!out.empty()) out += ' ';
    if (t.is_text(k))
      out += fmt::format("{}", t.nodes[k].text);
    else
      out += fmt::format("{}({})", static_cast<int>(t.nodes[k].tag), outline(t, k));
  }
  return out;
}

void expect_same_tree(std::string_view page, std::string_view whole) {
  HtmlTree a, b;
  parse_html(page, a), parse_html(whole, b);
  EXPECT_EQ(outline(a), outline(b)) << page;
}

TEST(HtmlTree, ClosesWhatHtmlLeavesOpen) {
  expect_same_tree("<p>a<p>b<div>c</div>d", "<p>a</p><p>b</p><div>c</div>d");
  expect_same_tree("<ul><li>a<ul><li>b</ul><li>c</ul>", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>");
  expect_same_tree("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>");
  expect_same_tree("<table><tr><td>a<td>b<tr><td>c</table>d",
                   "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>d");
  expect_same_tree(
      "<table><tbody><tr><td><p>x<table><tr><td>y</table>z<tbody>",
      "<table><tbody><tr><td><p>x</p><table><tr><td>y</td></tr></table>z</td></tr></tbody><tbody></tbody>"
      "</table>");
  expect_same_tree("<div><button>a<div>b</div></div>c", "<div><button>a<div>b</div></button></div>c");
  expect_same_tree("<div><b>x</div>y", "<div><b>x</b></div>y");
  expect_same_tree("</p></div>x</body>y</html>z", "x</b>y</i>z");
  expect_same_tree("<a>x<a>y</a>", "<a>x</a><a>y</a>");
  expect_same_tree("<p><span>a<h2>b</h2>", "<p><span>a</span></p><h2>b</h2>");
}

TEST(HtmlTree, StaysFlatWhereItWouldBeTooDeep) {
  std::string page;
  for (int i = 0; i < 100000; ++i) page += "<div><b>";
  page += "x";
  HtmlTree t;
  parse_html(page, t);
  EXPECT_EQ(t.nodes.size(), 200002u);
  size_t deepest = 0;
  std::vector<size_t> depth(t.nodes.size());
  for (size_t i = 1; i < t.nodes.size(); ++i) deepest = std::max(deepest, depth[i] = depth[t.nodes[i].parent] + 1);
  EXPECT_EQ(deepest, HtmlTree::kMaxDepth);
}

std::string entity(std::string_view s) {
  std::string out;
  const size_t n = append_entity(s, 0, out);
  return n == 0 ? "none" : out + std::string(s.substr(n));
}

TEST(Entities, NamesAndNumbers) {
  EXPECT_EQ(entity("&amp;x"), "&x");
  EXPECT_EQ(entity("&eacute;"), "é");
  EXPECT_EQ(entity("&Eacute;"), "É");
  EXPECT_EQ(entity("&hearts;"), "♥");
  EXPECT_EQ(entity("&nbsp;"), " ");
  EXPECT_EQ(entity("&shy;"), "");
  EXPECT_EQ(entity("&#8364;"), "€");
  EXPECT_EQ(entity("&#x20AC;"), "€");
  EXPECT_EQ(entity("&#128;"), "€");  // Windows-1252, as browsers read it
  for (const char* none :
       {"&;", "&bogus;", "&#;", "&#x;", "&#0;", "&#xD800;", "&#1114112;", "&#99999999999;", "& amp;", "&EACUTE;"})
    EXPECT_EQ(entity(none), "none") << none;
}

// Expected values: Python's html.unescape, which follows the HTML standard.
TEST(Entities, OldNamesAndNumbersNeedNoSemicolon) {
  EXPECT_EQ(entity("&amp"), "&");
  EXPECT_EQ(entity("&nbspgegl"), " gegl");
  EXPECT_EQ(entity("&notit;"), "¬it;");
  EXPECT_EQ(entity("&eacutes"), "és");
  EXPECT_EQ(entity("&#233 s"), "é s");
  EXPECT_EQ(entity("&#xE9s"), "és");
  for (const char* none : {"&hearts", "&half", "&e", "&", "&#x", "&#"}) EXPECT_EQ(entity(none), "none") << none;
}

std::string decoded(std::string_view bytes, std::string_view declared = "") {
  std::string buffer;
  const DecodedPage page = decode_page(bytes, declared, buffer);
  EXPECT_EQ(utf8_error(page.text), std::string_view::npos);
  return fmt::format("{} {}{}", page.encoding, page.text, page.replaced ? fmt::format(" ({})", page.replaced) : "");
}

TEST(Encoding, TheMarkTheServerThePageAndTheBytes) {
  EXPECT_EQ(decoded("abc"), "utf-8 abc");
  EXPECT_EQ(decoded("\xEF\xBB\xBF\xC3\xA9", "windows-1251"), "utf-8 é");
  EXPECT_EQ(decoded(std::string_view("\xFF\xFE\xE9\0", 4)), "utf-16le é");
  EXPECT_EQ(decoded(std::string_view("\xFE\xFF\0\xE9", 4)), "utf-16be é");
  EXPECT_EQ(decoded("caf\xE9 \x80"), "windows-1252 café €");
  EXPECT_EQ(decoded("caf\xE9", "ISO-8859-1"), "windows-1252 café");
  EXPECT_EQ(decoded("caf\xC3\xA9", "iso-8859-1"), "utf-8 café");  // valid UTF-8, whatever is said
  EXPECT_EQ(decoded("\xEF\xF0\xE8", "windows-1251"), "windows-1251 при");
  EXPECT_EQ(decoded("<meta charset=koi8-r>\xD0\xD2"), "koi8-r <meta charset=koi8-r>пр");
  EXPECT_EQ(decoded("<META http-equiv=x content='text/html; Charset=Shift_JIS'>\x93\xFA"),
            "cp932 <META http-equiv=x content='text/html; Charset=Shift_JIS'>日");
  EXPECT_EQ(decoded("<?xml version='1.0' encoding=\"gb2312\"?>\xD6\xD0"),
            "gb18030 <?xml version='1.0' encoding=\"gb2312\"?>中");
  EXPECT_EQ(decoded("\x1B$B8@\x1B(B", "iso-2022-jp"), "iso-2022-jp 言");
  EXPECT_EQ(decoded("\xB0\xA1", "euc-kr"), "uhc 가");
}

std::string in_encoding(const char* encoding, std::string utf8) {
  const iconv_t c = ::iconv_open(encoding, "UTF-8");
  EXPECT_NE(c, reinterpret_cast<iconv_t>(-1)) << encoding;
  std::string out(utf8.size() * 4, '\0');
  char *from = utf8.data(), *to = out.data();
  size_t left = utf8.size(), room = out.size();
  EXPECT_NE(::iconv(c, &from, &left, &to, &room), static_cast<size_t>(-1)) << encoding;
  EXPECT_NE(::iconv(c, nullptr, nullptr, &to, &room), static_cast<size_t>(-1));
  ::iconv_close(c);
  out.resize(out.size() - room);
  return out;
}

TEST(Encoding, IsToldByWhatATextRepeats) {
  const std::string russian =
      "Мельница стоит у реки с тех пор, как её построили, и мука, которую в ней мелют, продаётся в соседнем городе.";
  const std::string greek =
      "Ο μύλος στέκει δίπλα στο ποτάμι από τότε που χτίστηκε, και το αλεύρι πουλιέται στην πόλη.";
  const std::string chinese =
      "这个磨坊自从建成以后就在河边，人们把磨好的面粉带到城里去卖，那里的面包师都说这是最好的。";
  const std::string japanese =
      "この水車小屋は建てられてからずっと川のそばにあり、ここで挽かれた粉は町のパン屋で売られています。";
  const std::string korean =
      "이 방앗간은 지어진 뒤로 줄곧 강가에 있었고, 여기에서 빻은 가루는 이웃 도시의 빵집으로 팔려 나간다.";
  const std::tuple<const char*, const char*, std::string> cases[] = {
      {"windows-1251", "windows-1251", russian},
      {"koi8-r", "koi8-r", russian},
      {"iso-8859-5", "iso-8859-5", russian},
      {"cp866", "cp866", russian},
      {"windows-1253", "windows-1253", greek},
      {"gb18030", "gb18030", chinese},
      {"euc-jp", "euc-jp", japanese},
      {"cp932", "cp932", japanese},
      {"iso-2022-jp", "iso-2022-jp", japanese},
      {"uhc", "uhc", korean},
      {"big5-hkscs", "big5-hkscs",
       "這個磨坊自從建成以後就在河邊，人們把磨好的麵粉帶到城裡去賣，那裡的麵包師都說這是最好的。"},
      {"windows-1255", "windows-1255", "הטחנה עומדת ליד הנהר מאז שנבנתה, והקמח שנטחן בה נמכר בעיר הסמוכה."},
      {"windows-1256", "windows-1256",
       "تقف الطاحونة بجانب النهر منذ أن بنيت، ويباع الدقيق الذي يطحن فيها في المدينة المجاورة."},
      {"windows-874", "windows-874", "โรงสีตั้งอยู่ริมแม่น้ำมาตั้งแต่สร้างเสร็จ และแป้งที่โม่ที่นี่ถูกนำไปขายในเมืองใกล้เคียง"},
      {"windows-1252", "windows-1252",
       "Der Müller öffnete früh die Tür, und das Brot wurde über Nacht schön knusprig."},
      {"windows-1252", "windows-1252",
       "Le meunier a été élevé près d'une forêt où naît la rivière qui mène à la mer."}};
  for (const auto& [encoding, name, text] : cases) {
    const std::string page = "<html><title>mill</title><p>" + text;
    std::string buffer;
    const DecodedPage d = decode_page(in_encoding(encoding, page), {}, buffer);
    EXPECT_EQ(d.encoding, name);
    EXPECT_EQ(d.text, page) << encoding;
    EXPECT_EQ(d.guessed, std::string_view(encoding) != "iso-2022-jp");
  }
  for (const char* few : {"\xE4", "a \xE4\xE4 b", "\xFF\xFF\xFF"})
    EXPECT_EQ(guess_encoding(few), "") << "too little, or nothing of the kind";
}

TEST(Encoding, APageIsNeverLost) {
  EXPECT_EQ(decoded("\xC3\xA9\xC3\xA8 \xFF", "utf-8"), "utf-8 éè \xEF\xBF\xBD (1)");
  EXPECT_EQ(decoded("caf\xE9", "utf-8"), "windows-1252 café");
  EXPECT_EQ(decoded("caf\xE9", "no-such-charset"), "windows-1252 café");
  EXPECT_EQ(decoded("<meta charset=koi8-r>\xD0", "no-such-charset"), "koi8-r <meta charset=koi8-r>п");
  EXPECT_EQ(decoded("\x93\xFA\x81", "shift_jis"), "cp932 日\xEF\xBF\xBD (1)");
  EXPECT_EQ(decoded(std::string_view("\xFF\xFE\xE9", 3)), "utf-16le \xEF\xBF\xBD (1)");
  std::string all;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  for (const char* name : {"", "utf-8", "euc-jp", "big5", "utf-16", "iso-2022-kr", "gbk", "x"}) decoded(all, name);
}

TEST(Encoding, OfAContentType) {
  EXPECT_EQ(charset_of("text/html; charset=UTF-8"), "UTF-8");
  EXPECT_EQ(charset_of("text/html;CHARSET = \"koi8-r\" ; x=y"), "koi8-r");
  EXPECT_EQ(charset_of("text/html"), "");
  EXPECT_EQ(charset_of("text/html; charset"), "");
}

}  // namespace
}  // namespace quern::text
