// A setting is declared once: no help stands in two declarations, and a flag that says something else in another verb
// is in flags_of_many_verbs.txt with the reason.
#include <gtest/gtest.h>

#include <filesystem>

#include "quern/base/mmap.h"
#include "tests/cli/declared_settings.h"
#include "tests/hygiene/source_tree.h"

namespace quern {
namespace {

using declared::Declaration;

// Where equal helps are no doubles: every model, mixer, feed-forward and optimizer type is a file format of its own,
// and metrics are results.
bool exempt(const std::string& file) {
  for (const char* folder : {"quern/models/", "quern/mixers/", "quern/ffn/", "quern/optim/", "quern/train/report/"})
    if (file.starts_with(folder)) return true;
  return file.ends_with("_test.cc");
}

TEST(DeclaredOnce, NoHelpStandsTwice) {
  std::vector<Declaration> all;
  for (const hygiene::SourceFile& f : hygiene::source_tree(QUERN_SOURCE_DIR)) {
    if (exempt(f.path)) continue;
    for (Declaration& d : declared::declarations(f.path, f.text)) all.push_back(std::move(d));
  }
  EXPECT_GT(all.size(), 300u);
  for (const std::string& complaint : declared::repeated_helps(all)) ADD_FAILURE() << complaint;
}

TEST(DeclaredOnce, AFlagSaysTheSameInEveryVerb) {
  const std::filesystem::path root = QUERN_SOURCE_DIR;
  const declared::FlagTexts flags = declared::flag_texts(read_file(root / "docs/cli.md"));
  EXPECT_GT(flags.size(), 150u);
  for (const std::string& c : declared::flag_complaints(flags, read_file(root / "tests/cli/flags_of_many_verbs.txt")))
    ADD_FAILURE() << c;
}

TEST(DeclaredOnce, FindsDeclarationsInSources) {
  const std::vector<Declaration> all = declared::declarations("a.cc", R"(
  a.flag("--out DIR", out, "output "  // joined
                           "folder [runs]")
      .flag("--none", none, help_of(none));
  // v("gone", gone, "in a comment");
  v("out", s.out, "output folder", {.value = "DIR"});
  div("x", x, "not a declaration");
)");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "--out DIR");
  EXPECT_EQ(all[0].help, "output folder");
  EXPECT_EQ(all[0].place, "a.cc:2");
  EXPECT_EQ(all[1].name, "out");
  EXPECT_EQ(all[1].place, "a.cc:6");
  ASSERT_EQ(declared::repeated_helps(all).size(), 1u);
  EXPECT_EQ(declared::repeated_helps(all)[0], "a.cc:2, a.cc:6 all say: output folder");
}

TEST(DeclaredOnce, FindsFlagsThatDiffer) {
  const declared::FlagTexts flags = declared::flag_texts(R"(## quern a
  -n, --size N   size of a thing [1]
  --json         print one JSON object
## quern b
  -n, --size N   size of a thing [2]
  --json         print one JSON object
)");
  ASSERT_EQ(flags.size(), 2u);
  EXPECT_EQ(flags.at("--size").size(), 2u);
  EXPECT_EQ(flags.at("--json").size(), 1u);
  EXPECT_EQ(declared::flag_complaints(flags, "# why\n--size  default: each has its own\n"),
            std::vector<std::string>{});
  EXPECT_EQ(declared::flag_complaints(flags, "").size(), 1u);
  EXPECT_EQ(declared::flag_complaints(flags, "--size  default: \n").size(), 1u) << "no reason";
  EXPECT_EQ(declared::flag_complaints(flags, "--size  each is another size\n").size(), 1u)
      << "only the default differs";
  EXPECT_EQ(declared::flag_complaints(flags, "--size  default: a reason\n--json  a reason\n").size(), 1u) << "not needed";
}

TEST(DeclaredOnce, AnExcuseOfDefaultsIsNoneOfTexts) {
  const declared::FlagTexts flags = declared::flag_texts(R"(## quern a
  --size N   size of a thing [1]
## quern b
  --size N   size of another thing [1]
)");
  EXPECT_EQ(declared::flag_complaints(flags, "--size  each is another size\n"), std::vector<std::string>{});
  EXPECT_EQ(declared::flag_complaints(flags, "--size\n").size(), 1u) << "no reason";
  EXPECT_EQ(declared::flag_complaints(flags, "--size  default: each has its own\n").size(), 1u);
}

}  // namespace
}  // namespace quern
