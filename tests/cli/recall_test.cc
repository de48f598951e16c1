// quern recall from outside: files become an index that answers, follows their changes and packs prompts; mistakes
// are named.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

TEST(CliRecall, IndexQueryPackStats) {
  ScratchFolder d;
  const std::string dir = d / "";
  ASSERT_EQ(shell(fmt::format("mkdir {}/docs", dir)).code, 0);
  write_file(dir + "/docs/a.md", "Mara took the lantern. It rained all night.\n\nThe mill stood still.");
  write_file(dir + "/docs/b.txt", "Mara walked to the orchard. Nobody saw her.");
  Ran r = shell(fmt::format("quern recall index {0}/docs --db {0}/db --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  Json j = Json::parse(r.out);
  EXPECT_EQ(j.at("added").as_int(), 2);
  EXPECT_EQ(j.at("chunks").as_int(), 2);  // short sentences are joined
  r = shell(fmt::format("quern recall index {0}/docs --db {0}/sentences --unit sentence --json", dir));
  EXPECT_EQ(Json::parse(r.out).at("chunks").as_int(), 5);

  r = shell(fmt::format("quern recall query 'Where is the lantern?' --db {}/sentences -k 2 --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  j = Json::parse(r.out);
  ASSERT_EQ(j.at("chunks").as_array().size(), 2u) << r.out;
  EXPECT_EQ(j.at("chunks").as_array()[0].at("text").as_string(), "Mara took the lantern.");
  EXPECT_EQ(j.at("chunks").as_array()[1].at("text").as_string(), "Mara walked to the orchard.");
  EXPECT_EQ(j.at("mode").as_string(), "local");
  EXPECT_EQ(j.at("method").as_string(), "fused");
  for (const char* flag : {"--mode local", "--alpha 0.6", "--restart bm25"}) {
    r = shell(fmt::format("quern recall query 'Where is the lantern?' --db {}/sentences {} --json", dir, flag));
    EXPECT_EQ(Json::parse(r.out).at("method").as_string(), "mixpr") << flag;
  }
  EXPECT_TRUE(j.at("fallback").is_null());

  r = shell(fmt::format("quern recall query zebra --db {}/db -k 1", dir));
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.err.find("nothing in the index matches"), std::string::npos) << r.err;
  EXPECT_EQ(r.out, "");

  r = shell(fmt::format("quern recall pack 'lantern' --method bm25 --db {}/sentences", dir));
  EXPECT_EQ(r.out, fmt::format("[{}]\nMara took the lantern.\n\nQuestion: lantern\n",
                               (std::filesystem::path(dir) / "docs" / "a.md").lexically_normal().string()));

  write_file(dir + "/docs/a.md", "The lantern is broken.");
  r = shell(fmt::format("quern recall index {0}/docs --db {0}/db --json", dir));
  j = Json::parse(r.out);
  EXPECT_EQ(j.at("changed").as_int(), 1);
  EXPECT_EQ(j.at("unchanged").as_int(), 1);
  r = shell(fmt::format("quern recall query lantern --method bm25 --db {}/db --json", dir));
  EXPECT_EQ(Json::parse(r.out).at("chunks").as_array().size(), 1u);
  r = shell(fmt::format("quern recall delete {0}/docs/nowhere --db {0}/db", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("nowhere: no document of this name"), std::string::npos) << r.err;
  r = shell(fmt::format("cp -r {0}/db {0}/copy && quern recall delete {1} --db {0}/copy --json", dir,
                        (std::filesystem::path(dir) / "docs" / "a.md").lexically_normal().string()));
  EXPECT_EQ(Json::parse(r.out).at("deleted").as_int(), 1) << r.err;
  r = shell(fmt::format("quern recall query lantern --db {}/copy --json", dir));
  EXPECT_EQ(Json::parse(r.out).at("fallback").as_string(), "none");
  r = shell(fmt::format("quern recall stats --db {}/db --json", dir));
  EXPECT_EQ(Json::parse(r.out).at("documents").as_int(), 2);
}

TEST(CliRecall, EvalOfQuestionsAboutDocuments) {
  ScratchFolder d;
  const std::string dir = d / "";
  ASSERT_EQ(shell(fmt::format("mkdir {}/docs && printf x > {}/docs/picture.png", dir, dir)).code, 0);
  write_file(dir + "/docs/a.md", "# Wheel repair\n\nOil the axle.\n\n# Harvest\n\nCut the barley with a scythe.\n");
  write_file(dir + "/docs/empty.html", "<nav>links</nav>");
  write_file(dir + "/docs/mill.1", ".TH MILL 1\n.SH NAME\nmill \\- grinds \\fIgrain\\fP\n");
  ASSERT_EQ(shell(fmt::format("gzip {}/docs/mill.1", dir)).code, 0);
  Ran r = shell(fmt::format("quern recall index {0}/docs --db {0}/db", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(shell(fmt::format("quern recall query 'grain' --db {}/db", dir)).out.find("mill - grinds grain"),
            std::string::npos);
  EXPECT_NE(r.err.find("skipped 1 files of kinds that are not read: .png 1"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("1 files hold no text"), std::string::npos) << r.err;
  write_file(dir + "/q.jsonl",
             "{\"kind\": \"heading\", \"question\": \"Wheel repair\", \"path\": \"docs/a.md\", "
             "\"section\": \"Wheel repair Oil the axle.\"}\n"
             "{\"kind\": \"heading\", \"question\": \"barley\", \"path\": \"docs/a.md\", "
             "\"section\": \"Wheel repair Oil the axle.\"}\n");
  r = shell(fmt::format("quern recall eval --set {0}/q.jsonl --db {0}/db --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out).at("heading");
  EXPECT_EQ(j.at("questions").as_int(), 2);
  EXPECT_EQ(j.at("fused").at("at_1").as_double(), 0.5);
  EXPECT_EQ(j.at("bm25").at("at_1").as_double(), 0.5);
}

TEST(CliRecall, Eval) {
  const Ran r = shell("quern recall eval --tokens 8000 --questions 4 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out);
  EXPECT_EQ(j.at("hash-hop").at("mixpr").at("share").as_double(), 1.0);
  EXPECT_EQ(j.at("hash-hop").at("bm25").at("share").as_double(), 0.0);
  EXPECT_EQ(j.at("needles").at("mixpr").at("share").as_double(), 1.0);
  EXPECT_EQ(j.at("facts").at("mixpr").at("n").as_int(), 4);
}

TEST(CliRecall, MistakesAreNamed) {
  ScratchFolder d;
  EXPECT_EQ(shell("quern recall").code, 2);
  EXPECT_EQ(shell("quern recall qurey").code, 2);
  EXPECT_EQ(shell("quern recall index x").code, 2);
  EXPECT_EQ(shell("quern recall delete x").code, 2);
  EXPECT_EQ(shell("quern recall eval --task chess").code, 2);
  Ran language = shell(fmt::format("quern recall index x --db {} --language klingon", d / "db"));
  EXPECT_EQ(language.code, 2);
  EXPECT_NE(language.err.find("german"), std::string::npos) << language.err;
  EXPECT_EQ(shell(fmt::format("quern recall query x --mode sideways --db {}", d / "db")).code, 1);
  Ran r = shell(fmt::format("quern recall query x --db {}", d / "none"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("is not a recall index"), std::string::npos) << r.err;
  r = shell(fmt::format("quern recall index {} --db {}", d / "missing.txt", d / "db"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("missing.txt: no such file"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern
