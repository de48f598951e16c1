// Chat templates against jinja2 under transformers' settings (tools/oracles/text/make_templates.py), hostile templates,
// and the ZAYA format.
#include "quern/text/chat/chat_template.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "quern/base/error.h"

namespace quern::text {
namespace {

Json golden(const char* file) {
  return Json::read(std::filesystem::path(QUERN_SOURCE_DIR) / "quern/text/chat/testdata" / file);
}

TEST(ChatTemplate, RendersAsJinjaDoes) {
  Json g = golden("templates.json");
  for (const Json& c : g.at("cases").as_array()) {
    const std::string& source = c.at("template").as_string();
    try {
      EXPECT_EQ(ChatTemplate::parse(source).render(g.at("context")), c.at("expected").as_string()) << source;
    } catch (const Error& e) {
      ADD_FAILURE() << e.what() << "\n" << source;
    }
  }
}

TEST(ChatTemplate, FailsWhereJinjaDoes) {
  Json g = golden("templates.json");
  for (const Json& c : g.at("failing").as_array())
    EXPECT_THROW(ChatTemplate::parse(c.as_string()).render(g.at("context")), Error) << c.as_string();
}

TEST(ChatTemplate, HostileTemplatesEndWithAnError) {
  std::string deep;
  for (int i = 0; i < 20000; ++i) deep += "(";
  std::string chain = "{{ x";
  for (int i = 0; i < 20000; ++i) chain += ".a";
  const std::string cases[] = {
      "{{ " + deep,
      chain + " }}",
      "{% for i in range(1000000) %}{% for j in range(1000000) %}{% endfor %}{% endfor %}",
      "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
      "{{ 'aaaaaaaaaaaaaaaa' * 99999999 }}",
      "{% set ns = namespace(s='xxxxxxxxxxxxxxxx') %}{% for i in range(100) %}{% set ns.s = ns.s ~ ns.s %}{% endfor "
      "%}",
      "{{ range(99999999999) }}",
      "{{ 2 ** 9999999999 }}",
  };
  for (const std::string& c : cases)
    EXPECT_THROW(ChatTemplate::parse(c).render(Json::parse(R"({"x":{}})")), Error) << c.substr(0, 60);
}

TEST(ChatTemplate, ZayaFormat) {
  ChatTemplate t = ChatTemplate::parse(zaya_chat_template());
  Json c = Json::parse(
      R"({"bos_token":"<bos>","add_generation_prompt":true,"messages":[{"role":"user","content":"Hi"}]})");
  EXPECT_EQ(t.render(c),
            "<bos><|im_start|>system\n<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n");
  c.set("enable_thinking", false);
  EXPECT_EQ(t.render(c),
            "<bos><|im_start|>system\n<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n</"
            "think>\n\n");
  c = Json::parse(
      R"({"bos_token":"<bos>","messages":[{"role":"system","content":"S"},{"role":"user","content":"a"},{"role":"assistant","content":"b"}]})");
  EXPECT_EQ(t.render(c),
            "<bos><|im_start|>system\nS<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\n</"
            "think>\n\nb<|im_end|>\n");
}

}  // namespace
}  // namespace quern::text
