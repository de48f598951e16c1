// Runs the commands of a page as its reader would: in order, in one shell, in one folder made for the page.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tests/docs/markdown.h"

namespace quern::docs {

struct RunPlace {
  std::filesystem::path fixtures;  // its content is copied into the page's folder
  std::filesystem::path folder;    // does not exist yet; holds the page's folder and what its commands printed
  double seconds = 120;            // of the whole page; then everything it started is killed
};

struct PageRun {
  int commands = 0;                  // in ```sh and ```console blocks, the skipped ones left out
  std::vector<std::string> skipped;  // is_skipped()
  std::vector<Complaint> complaints;
  double seconds = 0;
};

// A ```sh block ends at its first command that fails (set -e -o pipefail); the next block is run all the same. Variables
// and background jobs last over the page. A ```console block must print what it shows, on standard output or on both
// streams; a command that fails must show its message. In ```sh blocks curl fails at an error status, too. Whatever
// still runs at the end is killed.
PageRun run_page(const Page& page, const RunPlace& place);

bool has_commands(const Page& page);  // one at least that is not skipped

}  // namespace quern::docs
