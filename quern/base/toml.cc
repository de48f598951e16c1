// The only file that includes toml++.
#include "quern/base/toml.h"

#include <toml++/toml.h>

#include <sstream>

#include "quern/base/error.h"
#include "quern/base/mmap.h"

namespace quern {
namespace {

Json convert(const toml::node& n, std::string_view where) {
  if (auto* t = n.as_table()) {
    Json o = Json::object();
    for (auto&& [k, v] : *t) o.members().emplace_back(std::string(k.str()), convert(v, where));
    return o;
  }
  if (auto* a = n.as_array()) {
    Json list = Json::array();
    for (auto&& v : *a) list.push(convert(v, where));
    return list;
  }
  if (auto* s = n.as_string()) return Json(s->get());
  if (auto* i = n.as_integer()) return Json(int64_t{i->get()});
  if (auto* d = n.as_floating_point()) return Json(d->get());
  if (auto* b = n.as_boolean()) return Json(b->get());
  fail("{}, line {}: dates and times are not supported", where, n.source().begin.line);
}

}  // namespace

Json parse_toml(std::string_view text, std::string_view where) {
  try {
    return convert(toml::parse(text, where), where);
  } catch (const toml::parse_error& e) {
    fail("{}, line {}: {}", where, e.source().begin.line, std::string(e.description()));
  }
}

Json read_toml(const std::filesystem::path& file) { return parse_toml(read_file(file), file.string()); }

}  // namespace quern
