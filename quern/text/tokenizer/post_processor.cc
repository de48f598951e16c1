#include "quern/text/tokenizer/post_processor.h"

#include "quern/base/error.h"
#include "quern/text/tokenizer/component.h"

namespace quern::text {
namespace {

void add_template(const Json& c, PostProcessor& p) {
  constexpr const char* kWhere = "post_processor TemplateProcessing";
  PostProcessor mine;
  bool seen = false;
  for (const Json& piece : c.at("single", kWhere).as_array(kWhere)) {
    if (const Json* s = piece.find("Sequence")) {
      if (s->at("id", kWhere).as_string(kWhere) != "A" || seen)
        fail("tokenizer.json: {}: 'single' must hold sequence A once", kWhere);
      seen = true;
      continue;
    }
    const std::string& name = piece.at("SpecialToken", kWhere).at("id", kWhere).as_string(kWhere);
    const Json& token = c.at("special_tokens", kWhere).at(name, "special_tokens");
    for (const Json& id : token.at("ids", kWhere).as_array(kWhere)) {
      int64_t v = id.as_int("special_tokens ids");
      if (v < 0 || v > INT32_MAX) fail("tokenizer.json: {}: id {} of '{}' is out of range", kWhere, v, name);
      (seen ? mine.after : mine.before).push_back(static_cast<int32_t>(v));
    }
  }
  if (!seen) fail("tokenizer.json: {}: 'single' leaves out sequence A", kWhere);
  p.before.insert(p.before.begin(), mine.before.begin(), mine.before.end());
  p.after.insert(p.after.end(), mine.after.begin(), mine.after.end());
}

}  // namespace

PostProcessor::PostProcessor(const Json& j) {
  if (j.is_null()) return;
  each_component(j, "post_processor", "processors", [&](const Json& c) {
    const std::string& type = component_type(c, "post_processor");
    if (type == "TemplateProcessing") {
      add_template(c, *this);
    } else if (type != "ByteLevel") {
      unknown_component("post_processor", type, "Sequence, TemplateProcessing, ByteLevel");
    }
  });
}

}  // namespace quern::text
