#include "quern/corpus/io/web_page.h"

#include <fmt/format.h>

#include "quern/corpus/bytes/ascii.h"
#include "quern/corpus/io/http_body.h"
#include "quern/text/html/encoding.h"
#include "quern/text/html/main_text.h"
#include "quern/text/html/page_license.h"

namespace quern::corpus {
namespace {

bool is_html(std::string_view type) { return type == "text/html" || type == "application/xhtml+xml"; }

bool begins_as_html(std::string_view body) {
  const size_t begin = body.find_first_not_of(" \t\r\n");
  if (begin == body.npos) return false;
  const std::string_view first = body.substr(begin);
  return same_ascii_word(first.substr(0, 5), "<html") || same_ascii_word(first.substr(0, 14), "<!doctype html");
}

void extract(std::string_view body, std::string_view charset, WebPage& page) {
  if (body.starts_with("%PDF-")) {
    page.outcome = WebPage::Outcome::other_type, page.type = "application/pdf";
    return;
  }
  std::string buffer;
  const text::DecodedPage decoded = text::decode_page(body, charset, buffer);
  text::MainText main = text::main_text(decoded.text);
  page.text = std::move(main.text), page.title = std::move(main.title);
  page.license = text::page_license(decoded.text);
  page.replaced = decoded.replaced > 0, page.guessed = decoded.guessed;
  if (page.text.empty()) page.outcome = WebPage::Outcome::empty;
}

}  // namespace

void read_page(PageForm form, std::string_view bytes, size_t maximum, WebPage& page) {
  page = {};
  page.type = "text/html";
  if (form == PageForm::html) return extract(bytes, {}, page);
  std::string buffer;
  const HttpResponse r = read_http_response(bytes, maximum, buffer);
  page.type = media_type(r.type);
  if (r.type.empty() && begins_as_html(r.body)) page.type = "text/html";
  if (r.status == 0) page.type = "no HTTP";
  if (r.status != 0 && (r.status < 200 || r.status > 299)) page.type = fmt::format("HTTP {}", r.status);
  if (!is_html(page.type)) {
    page.outcome = WebPage::Outcome::other_type;
    return;
  }
  page.truncated = r.state == BodyState::cut || r.state == BodyState::damaged;
  if (r.state == BodyState::unknown_coding) page.why = "its body is compressed in a way that is not read";
  if (page.truncated && r.body.empty()) page.why = "its body is damaged";
  if (!page.why.empty()) {
    page.outcome = WebPage::Outcome::damaged;
    return;
  }
  if (r.state == BodyState::too_long) {
    page.outcome = WebPage::Outcome::too_long;
    return;
  }
  extract(r.body, text::charset_of(r.type), page);
}

}  // namespace quern::corpus
