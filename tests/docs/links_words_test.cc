// The checks of links, words and code blocks, on samples with planted faults.
#include <gtest/gtest.h>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "tests/docs/code_blocks.h"
#include "tests/docs/links.h"
#include "tests/docs/words.h"

namespace quern::docs {
namespace {

TEST(Links, LeadToFilesAndHeadings) {
  const std::filesystem::path root = QUERN_SOURCE_DIR "/tests/docs";
  const Page page = read_page("testdata/links.md", read_file(root / "testdata/links.md"));
  EXPECT_GT(page.links.size(), 10u);
  EXPECT_EQ(format(link_complaints({page}, root)),
            "testdata/links.md:7: 'none.md' leads to no file\n"
            "testdata/links.md:8: 'markdown.md#thrice': testdata/markdown.md has no such heading\n"
            "testdata/links.md:8: '#nowhere': testdata/links.md has no such heading\n"
            "testdata/links.md:9: '../../../../x.md' leads out of the project\n");
}

TEST(Words, ListsAreRead) {
  const WordList words = read_words("# comment\n\n+ KV cache\n- put away: unload\n");
  EXPECT_EQ(words.wanted, std::vector<std::string>{"KV cache"});
  ASSERT_EQ(words.unwanted.size(), 1u);
  EXPECT_EQ(words.unwanted[0].word, "put away");
  EXPECT_EQ(words.unwanted[0].instead, "unload");
  EXPECT_THROW(read_words("KV cache\n"), Error);
  EXPECT_THROW(read_words("- put away\n"), Error);
}

TEST(Words, WantedOnesAreFoundInProse) {
  const WordList words = read_words("+ KV cache\n+ fine-tuning\n+ batch\n+ MinHash\n");
  const Page a = read_page("a", "Text about **KV**\n caches, minibatch and `MinHash`.\n"),
             b = read_page("b", "Fine-Tuning\n");
  EXPECT_EQ(missing_words({a, b}, words), (std::vector<std::string>{"batch", "MinHash"}));
}

TEST(Words, UnwantedOnesAreReportedWithTheirLine) {
  const WordList words = read_words("- put away: unload\n- learnt: learned\n- quantis*: quantize\n");
  const Page page = read_page(
      "a.md", "# A\n\nIt is put\naway. `learnt` [x](learnt.md) unlearnt learnts\n\nQuantisation, learnt.\n");
  EXPECT_EQ(format(unwanted_words({page}, words)),
            "a.md:3: 'put away': say unload\na.md:6: 'learnt': say learned\na.md:6: 'quantis*': say quantize\n");
}

TEST(CodeBlocks, CompileOrAreReported) {
  const Page page = read_page("a.md",
                              "```c\nquern_model* m = quern_load(\"x\", \"bf16\");\nquern_free(m);\n```\n"
                              "```c\n#include <quern.h>\nint main(void) { return quern_version() == NULL; }\n```\n"
                              "```c\nquern_free();\n```\n"
                              "```cpp\n#include <quern.h>\nauto f = [](auto x) requires true { return x; };\n```\n"
                              "```cpp\n#include <quern.h>\nno_such_type x;\n```\n```text\nno C\n```\n");
  EXPECT_EQ(compiled_blocks(page), 5);
  const std::vector<Complaint> c = compile_complaints(page, QUERN_SOURCE_DIR "/include");
  ASSERT_EQ(c.size(), 2u) << format(c);
  EXPECT_EQ(c[0].line, 10);
  EXPECT_NE(c[0].text.find("a.md:10:"), std::string::npos) << c[0].text;
  EXPECT_NE(c[1].text.find("a.md:18:"), std::string::npos) << c[1].text;
}

TEST(CodeBlocks, DataParsesOrIsReported) {
  const Page page =
      read_page("a.md",
                "```json\n{\"a\": [1]}\n```\n```json\n{\"a\": 1}\n{\"b\": 2}\n```\n```json\n{\"a\": …}\n```\n"
                "```toml\n[a]\nb = 1\n```\n```json\n{\"a\": 1,}\n```\n```toml\nb = \n```\n```jsonl\n{}\n{\n```\n");
  const std::vector<Complaint> c = data_complaints(page);
  ASSERT_EQ(c.size(), 3u) << format(c);
  EXPECT_EQ(c[0].line, 16);
  EXPECT_EQ(c[1].line, 19);
  EXPECT_EQ(c[2].line, 22);
}

}  // namespace
}  // namespace quern::docs
