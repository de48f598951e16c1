#include "tests/docs/code_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/toml.h"
#include "tests/cli/shell.h"

namespace quern::docs {
namespace {

bool is_c(const Block& b) { return b.language == "c"; }
bool is_cpp(const Block& b) { return b.language == "cpp"; }

std::string translation_unit(const Page& page, const Block& b) {
  const std::string marked = fmt::format("#line {} \"{}\"\n{}", b.line, page.name, b.text);
  if (("\n" + b.text).find("\n#include") != std::string::npos) return marked;
  return fmt::format("#include <{}>\nvoid example(void);\nvoid example(void) {{\n{}}}\n",
                     is_c(b) ? "quern.h" : "quern/quern.hpp", marked);
}

void parse_lines(const std::string& text) {  // JSON lines
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(" \t") != std::string::npos) Json::parse(line);
}

}  // namespace

int compiled_blocks(const Page& page) {
  return static_cast<int>(
      std::count_if(page.blocks.begin(), page.blocks.end(), [](const Block& b) { return is_c(b) || is_cpp(b); }));
}

std::vector<Complaint> compile_complaints(const Page& page, const std::filesystem::path& include_folder) {
  const ScratchFolder folder;
  std::vector<Complaint> out;
  for (const Block& b : page.blocks) {
    if (!is_c(b) && !is_cpp(b)) continue;
    const std::string file = folder / (is_c(b) ? "block.c" : "block.cc");
    write_file(file, translation_unit(page, b));
    const char* compiler = is_c(b) ? QUERN_C_COMPILER " -std=c11" : QUERN_CXX_COMPILER " -std=c++20";
    const Ran r = shell(fmt::format("{} -fsyntax-only -pedantic -Wall -Wextra -Werror -Wno-unused -I '{}' '{}'",
                                    compiler, include_folder.string(), file));
    if (r.code != 0)
      out.push_back({page.name, b.line, fmt::format("this {} block does not compile:\n{}", b.language, r.err)});
  }
  return out;
}

std::vector<Complaint> data_complaints(const Page& page) {
  std::vector<Complaint> out;
  for (const Block& b : page.blocks) {
    if (b.text.find("…") != std::string::npos || b.text.find("...") != std::string::npos) continue;
    try {
      if (b.language == "toml") parse_toml(b.text);
      if (b.language == "jsonl") parse_lines(b.text);
      if (b.language == "json") try {
          Json::parse(b.text);
        } catch (const Error&) {
          if (std::count(b.text.begin(), b.text.end(), '\n') < 2) throw;
          parse_lines(b.text);
        }
    } catch (const Error& e) {
      out.push_back({page.name, b.line, fmt::format("this {} block does not parse: {}", b.language, e.what())});
    }
  }
  return out;
}

}  // namespace quern::docs
