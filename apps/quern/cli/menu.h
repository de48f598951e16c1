// A verb with sub-verbs: `quern recall index|query|…`. One table gives dispatch, `--help`, and suggestions for unknown
// words.
//
//   constexpr MenuItem kItems[] = {{"index", "PATH… --db DIR", "create or update a search index", recall_index}};
//
//   int cmd_recall(Words args) { return choose("recall", "search in long texts", kItems, args); }
#pragma once
#include <span>

#include "apps/quern/cli/verbs.h"

namespace quern::cli {

struct MenuItem {
  const char* name;
  const char* words;  // what is given after it, as --help shows it
  const char* help;
  int (*run)(Words);
};

// `path`: the words before, without "quern". No word at all prints the help and is wrong usage (2).
int choose(const char* path, const char* summary, std::span<const MenuItem> items, Words args);

}  // namespace quern::cli
