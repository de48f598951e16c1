// Any bytes as a chat template, rendered over a small conversation: text or an Error, in bounded time and memory.
#include <cstdint>

#include "quern/base/error.h"
#include "quern/text/chat/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const quern::Json context = quern::Json::parse(
      R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"add_generation_prompt":true,"bos_token":"<s>","x":[1,2.5,null]})");
  if (size > 4096) return 0;
  try {
    quern::text::ChatTemplate::parse(std::string(reinterpret_cast<const char*>(data), size)).render(context);
  } catch (const quern::Error&) {
  }
  return 0;
}
