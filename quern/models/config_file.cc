#include "quern/models/config_file.h"

#include <string_view>

#include "quern/base/mmap.h"

namespace quern::models {

Json read_config_file(const std::filesystem::path& file) {
  const std::string content = read_file(file);
  std::string out;
  bool text = false;
  for (size_t i = 0; i < content.size(); ++i) {
    const char c = content[i];
    std::string_view number;
    if (!text)
      for (const std::string_view word : {"-Infinity", "Infinity", "NaN"})
        if (number.empty() && std::string_view(content).substr(i).starts_with(word)) number = word;
    if (!number.empty()) {
      out += R"({"__float__": ")", out += number, out += R"("})";
      i += number.size() - 1;
      continue;
    }
    if (c == '"') text = !text;
    out += c;
    if (text && c == '\\' && i + 1 < content.size()) out += content[++i];
  }
  return Json::parse(out, file.string());
}

}  // namespace quern::models
