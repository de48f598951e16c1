#include "quern/corpus/io/input_paths.h"

#include <glob.h>

#include <filesystem>

#include "quern/base/error.h"

namespace quern::corpus {
namespace {

std::vector<std::string> globbed(const std::string& pattern, int& code) {
  glob_t found{};
  code = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + (code == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  return paths;
}

}  // namespace

bool is_path_or_pattern(const std::string& word) {
  int code = 0;
  return std::filesystem::exists(word) || (word.find_first_of("*?[") != word.npos && !globbed(word, code).empty());
}

std::vector<std::string> matching_paths(const std::string& word) {
  if (word.find_first_of("*?[") == word.npos || std::filesystem::exists(word)) return {word};
  int code = 0;
  std::vector<std::string> paths = globbed(word, code);
  if (code != 0 && code != GLOB_NOMATCH) fail("{}: a folder of this pattern cannot be read", word);
  if (paths.empty()) fail("{}: no file or folder matches this pattern", word);
  return paths;
}

}  // namespace quern::corpus
