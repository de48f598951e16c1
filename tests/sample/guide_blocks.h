// Holds a guide to its example: every code block that the guide titles by a file of the example's folder is in that
// file, line by line; lines of "…" stand for what the guide leaves out.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "quern/base/mmap.h"

namespace quern {

// sample: the folder in tests/sample/. A block's title is the last `path/file` in backquotes before it.
inline void expect_shown(const std::string& guide, const std::string& sample, int blocks) {
  const std::filesystem::path root = QUERN_SOURCE_DIR;
  std::istringstream lines(read_file(root / guide));
  std::string title, file;
  size_t at = 0;
  bool code = false, shown = false;
  int found = 0, number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("```")) {
      code = !code, at = 0;
      shown = code && title.starts_with("quern/" + sample + "/");
      if (!shown) continue;
      file = read_file(root / "tests/sample" / title.substr(6));
      title.clear();
      ++found;
    } else if (code && shown) {
      const size_t first = line.find_first_not_of(' ');
      if (first == line.npos || line.substr(first) == "…") continue;
      const size_t place = file.find(line.substr(first), at);
      ASSERT_NE(place, file.npos) << guide << ":" << number << ": '" << line << "' is not in the example";
      at = place + 1;
    } else if (!code) {
      for (size_t open = line.find('`'); open != line.npos;) {
        const size_t close = line.find('`', open + 1);
        if (close == line.npos) break;
        if (const std::string word = line.substr(open + 1, close - open - 1); word.starts_with("quern/"))
          title = word;
        open = line.find('`', close + 1);
      }
    }
  }
  EXPECT_EQ(found, blocks) << guide << " shows another number of blocks of tests/sample/" << sample;
}

}  // namespace quern
