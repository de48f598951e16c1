#include "quern/text/html/page_license.h"

#include <algorithm>

#include "quern/text/html/entities.h"
#include "quern/text/html/scanner.h"

namespace quern::text {
namespace {

constexpr std::string_view kLicense = "license";
constexpr size_t kMaxTag = 2'000, kMaxAddress = 500;  // bytes

// Whether one of the words of a value is "license".
bool has_license(std::string_view value) {
  size_t i = 0;
  while (i < value.size()) {
    while (i < value.size() && is_html_space(value[i])) ++i;
    const size_t begin = i;
    while (i < value.size() && !is_html_space(value[i])) ++i;
    if (same_html_word(value.substr(begin, i - begin), kLicense)) return true;
  }
  return false;
}

std::string resolved(std::string_view value) {
  std::string out;
  for (size_t i = 0; i < value.size();) {
    if (const size_t n = value[i] == '&' ? append_entity(value, i, out) : 0; n > 0)
      i += n;
    else
      out += value[i++];
  }
  const size_t begin = std::min(out.find_first_not_of(" \t\r\n\f"), out.size());
  const size_t end = out.find_last_not_of(" \t\r\n\f");
  return begin == out.size() ? std::string() : out.substr(begin, end + 1 - begin);
}

// Of the tag at page[at] == '<'.
std::string stated_in_tag(std::string_view page, size_t at) {
  HtmlScanner scanner(page.substr(at, kMaxTag));
  const HtmlToken t = scanner.next();
  if (t.kind != HtmlToken::Kind::open) return {};
  bool states = false;
  std::string_view address;
  for (size_t i = 0; i < t.attributes; ++i) {
    const HtmlAttribute& a = scanner.attribute(i);
    if (same_html_word(a.name, "rel") || same_html_word(a.name, "itemprop")) states = states || has_license(a.value);
    if (same_html_word(a.name, "href") || (same_html_word(a.name, "content") && address.empty())) address = a.value;
  }
  if (!states || address.size() > kMaxAddress) return {};
  return resolved(address);
}

}  // namespace

std::string page_license(std::string_view page) {
  for (size_t at = 0; (at = page.find(kLicense, at)) != page.npos; at += kLicense.size()) {
    const size_t open = page.rfind('<', at);
    if (open == page.npos || at - open > kMaxTag || page.substr(open, at - open).find('>') != page.npos) continue;
    if (std::string address = stated_in_tag(page, open); !address.empty()) return address;
  }
  return {};
}

}  // namespace quern::text
