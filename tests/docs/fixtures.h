// The files that a page's commands may use; tests/docs/README.md lists them for authors.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace quern::docs {

void make_fixtures(const std::filesystem::path& folder);  // runs `quern new`; throws Error when that fails

// JSON lines {"id", "text"}: `documents` texts of sentences drawn at random, and behind them an exact copy of every
// eighth and a near-duplicate (one word changed) of every ninth of them. The same bytes for the same arguments.
std::string corpus_lines(const std::vector<std::string>& sentences, const std::string& source, int documents);

}  // namespace quern::docs
