#include "quern/text/html/encoding.h"

#include <iconv.h>

#include <algorithm>
#include <cerrno>

#include "quern/text/html/entities.h"
#include "quern/text/html/guess_encoding.h"
#include "quern/text/html/scanner.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

constexpr size_t kSniffed = 4096;  // bytes of a page in which it says what it is

std::string lowered(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = html_lower(c);
  return out;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (is_html_space(s.front()) || s.front() == '"' || s.front() == '\'')) s.remove_prefix(1);
  size_t n = 0;
  while (n < s.size() && !is_html_space(s[n]) && s[n] != '"' && s[n] != '\'' && s[n] != ';' && s[n] != '>' &&
         s[n] != ',')
    ++n;
  return s.substr(0, n);
}

// Labels that mean more than they say (WHATWG's Encoding Standard), as iconv calls that.
std::string real_name(std::string_view label) {
  struct Alias {
    std::string_view label, name;
  };
  static constexpr Alias kAliases[] = {{"ascii", "windows-1252"},
                                       {"us-ascii", "windows-1252"},
                                       {"iso-8859-1", "windows-1252"},
                                       {"iso8859-1", "windows-1252"},
                                       {"latin1", "windows-1252"},
                                       {"latin-1", "windows-1252"},
                                       {"iso_8859-1", "windows-1252"},
                                       {"ansi", "windows-1252"},
                                       {"cp1252", "windows-1252"},
                                       {"x-cp1252", "windows-1252"},
                                       {"utf8", "utf-8"},
                                       {"unicode-1-1-utf-8", "utf-8"},
                                       {"iso-8859-9", "windows-1254"},
                                       {"iso-8859-11", "windows-874"},
                                       {"tis-620", "windows-874"},
                                       {"gb2312", "gb18030"},
                                       {"gbk", "gb18030"},
                                       {"gb_2312-80", "gb18030"},
                                       {"x-gbk", "gb18030"},
                                       {"shift_jis", "cp932"},
                                       {"shift-jis", "cp932"},
                                       {"sjis", "cp932"},
                                       {"x-sjis", "cp932"},
                                       {"windows-31j", "cp932"},
                                       {"euc-kr", "uhc"},
                                       {"ks_c_5601-1987", "uhc"},
                                       {"windows-949", "uhc"},
                                       {"x-euc-jp", "euc-jp"},
                                       {"big5", "big5-hkscs"},
                                       {"x-x-big5", "big5-hkscs"}};
  const std::string name = lowered(label);
  const auto at = std::ranges::find(kAliases, name, &Alias::label);
  return at == std::end(kAliases) ? name : std::string(at->name);
}

bool is_seven_bit(std::string_view name) { return name.starts_with("iso-2022") || name == "hz-gb-2312"; }

void decode_windows1252(std::string_view bytes, std::string& out) {
  out.clear();
  for (const char c : bytes) utf8_append(out, windows1252(static_cast<unsigned char>(c)));
}

class Converter {
 public:
  explicit Converter(const std::string& from) : c_(::iconv_open("UTF-8", from.c_str())) {}
  ~Converter() {
    if (known()) ::iconv_close(c_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  bool known() const { return c_ != reinterpret_cast<iconv_t>(-1); }

  size_t convert(std::string_view bytes, std::string& out) const {  // how many bytes were replaced
    out.resize(bytes.size() * 2 + 16);
    char* in = const_cast<char*>(bytes.data());
    size_t left = bytes.size(), have = 0, replaced = 0;
    while (left > 0) {
      char* to = out.data() + have;
      size_t room = out.size() - have;
      const size_t code = ::iconv(c_, &in, &left, &to, &room);
      have = out.size() - room;
      if (code != static_cast<size_t>(-1)) break;
      if (errno != E2BIG) {  // not of this encoding, or cut short at the end
        constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
        if (room < kReplacement.size()) out.resize(out.size() * 2);
        out.replace(have, kReplacement.size(), kReplacement);
        have += kReplacement.size(), ++replaced, ++in, --left;
      } else {
        out.resize(out.size() * 2);
      }
    }
    out.resize(have);
    return replaced;
  }

 private:
  iconv_t c_;
};

// More bytes that are no UTF-8 than characters beyond ASCII that are: the page is in an older encoding.
bool is_mostly_utf8(std::string_view s) {
  size_t good = 0, bad = 0;
  for (size_t i = 0; i < s.size();) {
    i += ascii_run(s, i);
    if (i >= s.size()) break;
    const Utf8Step step = utf8_step(s, i);
    ++(step.ok ? good : bad);
    i += step.len;
  }
  return good > bad;
}

DecodedPage by_name(std::string_view bytes, const std::string& name, std::string& buffer) {
  if (name == "windows-1252") {
    decode_windows1252(bytes, buffer);
    return {buffer, name, 0};
  }
  const Converter c(name);
  if (!c.known()) return {};
  const size_t replaced = c.convert(bytes, buffer);
  return {buffer, name, replaced};
}

}  // namespace

std::string_view charset_of(std::string_view content_type) {
  constexpr std::string_view kName = "charset";
  for (size_t at = 0; at + kName.size() < content_type.size(); ++at) {
    if (!same_html_word(content_type.substr(at, kName.size()), kName)) continue;
    size_t i = at + kName.size();
    while (i < content_type.size() && is_html_space(content_type[i])) ++i;
    if (i < content_type.size() && content_type[i] == '=') return trimmed(content_type.substr(i + 1));
  }
  return {};
}

std::string_view declared_charset(std::string_view page) {
  page = page.substr(0, kSniffed);
  if (page.starts_with("<?xml")) {
    const std::string_view head = page.substr(0, page.find('>'));
    if (const size_t at = head.find("encoding="); at != head.npos) return trimmed(head.substr(at + 9));
  }
  HtmlScanner scan(page);
  for (HtmlToken t = scan.next(); t.kind != HtmlToken::Kind::end; t = scan.next()) {
    if (t.kind != HtmlToken::Kind::open || t.tag != HtmlTag::meta) continue;
    for (size_t i = 0; i < t.attributes; ++i) {
      const HtmlAttribute& a = scan.attribute(i);
      if (same_html_word(a.name, "charset")) return trimmed(a.value);
      if (same_html_word(a.name, "content"))
        if (const std::string_view c = charset_of(a.value); !c.empty()) return c;
    }
  }
  return {};
}

DecodedPage decode_page(std::string_view bytes, std::string_view declared, std::string& buffer) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3), declared = "utf-8";
  if (bytes.starts_with("\xFF\xFE")) return by_name(bytes.substr(2), "utf-16le", buffer);
  if (bytes.starts_with("\xFE\xFF")) return by_name(bytes.substr(2), "utf-16be", buffer);
  std::string name = real_name(declared);
  if (name.starts_with("utf-16")) return by_name(bytes, name == "utf-16" ? "utf-16le" : name, buffer);
  if (name.empty() || (name != "utf-8" && name != "windows-1252" && !Converter(name).known()))
    name = real_name(declared_charset(bytes));
  const bool utf8 = utf8_error(bytes) == bytes.npos;
  if (is_seven_bit(name))
    if (DecodedPage page = by_name(bytes, name, buffer); !page.encoding.empty()) return page;
  if (name.empty() && looks_like_iso_2022_jp(bytes))
    if (DecodedPage page = by_name(bytes, "iso-2022-jp", buffer); page.replaced == 0 && !page.encoding.empty())
      return page;
  if (utf8) return {bytes, "utf-8", 0};
  if (!name.empty() && name != "utf-8" && !name.starts_with("utf-16"))
    if (DecodedPage page = by_name(bytes, name, buffer); !page.encoding.empty()) return page;
  if (!is_mostly_utf8(bytes)) {
    const std::string_view guess = name.empty() ? guess_encoding(bytes) : std::string_view();
    DecodedPage page = by_name(bytes, guess.empty() ? "windows-1252" : std::string(guess), buffer);
    page.guessed = name.empty();
    return page;
  }
  DecodedPage page{{}, "utf-8", 0};
  buffer = utf8_lossy(bytes, &page.replaced);
  page.text = buffer;
  return page;
}

}  // namespace quern::text
