#include "quern/text/tokenizer/post_processor.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/text/tokenizer/component.h"

namespace quern::text {
namespace {

using Items = std::vector<PostProcessor::Item>;
using What = PostProcessor::What;

int32_t id_of(const Json& j, std::string_view name) {
  const int64_t v = j.as_int("special_tokens ids");
  if (v < 0 || v > INT32_MAX) fail("tokenizer.json: post_processor: id {} of '{}' is out of range", v, name);
  return static_cast<int32_t>(v);
}

int32_t type_of(const Json& piece) {
  const Json* t = piece.find("type_id");
  return t ? static_cast<int32_t>(t->as_int("type_id")) : 0;
}

Items read_template(const Json& c, const char* form) {
  constexpr const char* kWhere = "post_processor TemplateProcessing";
  Items out;
  int64_t seen[2] = {0, 0};
  for (const Json& piece : c.at(form, kWhere).as_array(kWhere)) {
    if (const Json* s = piece.find("Sequence")) {
      const bool second = s->at("id", kWhere).as_string(kWhere) == "B";
      ++seen[second];
      out.push_back({second ? What::second : What::first, 0, type_of(*s)});
      continue;
    }
    const Json& special = piece.at("SpecialToken", kWhere);
    const std::string& name = special.at("id", kWhere).as_string(kWhere);
    for (const Json& id :
         c.at("special_tokens", kWhere).at(name, "special_tokens").at("ids", kWhere).as_array(kWhere))
      out.push_back({What::special, id_of(id, name), type_of(special)});
  }
  // Generators' tokenizers often have no proper form of pairs, and need none.
  const bool pair = std::string_view(form) == "pair", proper = seen[0] == 1 && seen[1] == pair;
  if (!pair && !proper) fail("tokenizer.json: {}: 'single' must hold sequence A once", kWhere);
  return proper ? out : Items();
}

// `outer` with its first sequence replaced by what an earlier step makes of the text.
Items nested(const Items& outer, const Items& inner) {
  Items out;
  for (const auto& item : outer) {
    if (item.what == What::first) {
      out.insert(out.end(), inner.begin(), inner.end());
    } else {
      out.push_back(item);
    }
  }
  return out;
}

// [cls] A [sep], and [cls] A [sep] B [sep] with B of type 1; RoBERTa's has one more [sep] between and one type.
void add_fixed(const Json& c, bool roberta, PostProcessor& p) {
  const auto token = [&](const char* key) {
    const auto& pair = c.at(key, "post_processor").as_array(key);
    if (pair.size() != 2) fail("tokenizer.json: post_processor: '{}' must be a token and its id", key);
    return id_of(pair[1], key);
  };
  const int32_t cls = token("cls"), sep = token("sep"), type = roberta ? 0 : 1;
  p.single = nested({{What::special, cls, 0}, {What::first, 0, 0}, {What::special, sep, 0}}, p.single);
  p.pair = {{What::special, cls, 0}, {What::first, 0, 0}, {What::special, sep, 0}};
  if (roberta) p.pair.push_back({What::special, sep, 0});
  p.pair.push_back({What::second, 0, type});
  p.pair.push_back({What::special, sep, type});
}

}  // namespace

PostProcessor::PostProcessor(const Json& j) {
  if (j.is_null()) return;
  bool templated = false;
  each_component(j, "post_processor", "processors", [&](const Json& c) {
    const std::string& type = component_type(c, "post_processor");
    if (type == "ByteLevel") return;
    if (type == "TemplateProcessing") {
      single = nested(read_template(c, "single"), single);
      pair = c.find("pair") && !templated ? read_template(c, "pair") : Items();
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      add_fixed(c, type == "RobertaProcessing", *this);
    } else {
      unknown_component("post_processor", type,
                        "Sequence, TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel");
    }
    templated = true;
  });
}

std::vector<int32_t> PostProcessor::before() const {
  std::vector<int32_t> out;
  for (const Item& item : single) {
    if (item.what != What::special) break;
    out.push_back(item.id);
  }
  return out;
}

std::vector<int32_t> PostProcessor::after() const {
  std::vector<int32_t> out;
  for (size_t i = single.size(); i-- > 0 && single[i].what == What::special;) out.push_back(single[i].id);
  std::reverse(out.begin(), out.end());
  return out;
}

TokenSequence PostProcessor::wrap(std::span<const Item> items, std::span<const int32_t> a,
                                  std::span<const int32_t> b) const {
  TokenSequence out;
  for (const Item& item : items) {
    const std::span<const int32_t> ids = item.what == What::special ? std::span(&item.id, 1)
                                         : item.what == What::first ? a
                                                                    : b;
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
    out.types.insert(out.types.end(), ids.size(), item.type);
  }
  return out;
}

}  // namespace quern::text
