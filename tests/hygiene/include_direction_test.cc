// The sources of quern/ and apps/ keep the house rules of include_rules.h; and the rules, shown bad samples,
// complain.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "quern/base/mmap.h"
#include "tests/hygiene/include_rules.h"

namespace quern::hygiene {
namespace {

namespace fs = std::filesystem;

struct Tree {
  std::vector<SourceFile> files;
  Siblings siblings;
};

const Tree& tree() {
  static const Tree t = [] {
    Tree r;
    const fs::path root = QUERN_SOURCE_DIR;
    for (const char* top : {"quern", "apps"})
      for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
        if (!entry.is_regular_file()) continue;
        const fs::path at = fs::relative(entry.path(), root);
        if (at.extension() == ".h" || at.extension() == ".cc")
          r.files.push_back({at.generic_string(), read_file(entry.path())});
        if (at.filename() == "CMakeLists.txt")
          r.siblings[fs::relative(at.parent_path(), "quern").generic_string()] =
              named_dependencies(read_file(entry.path()));
      }
    return r;
  }();
  return t;
}

void expect_none(const std::vector<std::string>& complaints) {
  EXPECT_TRUE(complaints.empty()) << fmt::format("{}", fmt::join(complaints, "\n"));
}

TEST(Sources, AreFound) {  // an empty walk would pass every rule
  EXPECT_GT(tree().files.size(), 50u);
  EXPECT_TRUE(tree().siblings.contains("kernels/gemm"));
}

TEST(Sources, IncludeOnlyUpwards) {
  for (const SourceFile& f : tree().files) expect_none(direction_complaints(f, tree().siblings));
}

TEST(Sources, StartWithAComment) {
  for (const SourceFile& f : tree().files) expect_none(opening_complaints(f));
}

TEST(Sources, StayShort) {
  for (const SourceFile& f : tree().files) expect_none(length_complaints(f));
}

TEST(Sources, IncludeHeavyHeadersOnce) { expect_none(heavy_header_complaints(tree().files)); }

TEST(Rules, FindIncludes) {
  EXPECT_EQ(includes("// #include \"no.h\"\n#include \"a/b.h\"  // why\n #  include <c.h>\nint x;\n"),
            (std::vector<std::string>{"a/b.h", "c.h"}));
}

TEST(Rules, ReadDependencies) {
  EXPECT_EQ(named_dependencies("quern_room(kernels_cross_entropy DEPS kernels_gemm nn LIBS dnnl)"),
            (std::set<std::string>{"kernels/gemm", "nn"}));
  EXPECT_EQ(named_dependencies("quern_room(base)"), std::set<std::string>{});
}

size_t complaints(std::string path, std::string text) {
  const Siblings siblings = {{"kernels/moe", {"kernels/gemm"}}};
  return direction_complaints({std::move(path), std::move(text)}, siblings).size();
}

TEST(Rules, Direction) {
  EXPECT_EQ(complaints("quern/nn/a.cc", "#include \"quern/nn/a.h\"\n#include \"quern/grad/tape.h\"\n"), 0u);
  EXPECT_EQ(complaints("quern/nn/a.cc", "#include \"quern/models/model.h\"\n"), 1u);  // downwards
  EXPECT_EQ(complaints("quern/base/a.h", "#include \"quern/tensor/view.h\"\n#include \"quern/nn/b.h\"\n"), 2u);
  EXPECT_EQ(complaints("quern/nn/a.cc", "#include \"apps/quern/args.h\"\n"), 1u);
  EXPECT_EQ(complaints("quern/attic/a.cc", ""), 1u);  // an unknown room
  EXPECT_EQ(complaints("quern/nn/a.cc", "#include \"quern/attic/a.h\"\n"), 1u);
  EXPECT_EQ(complaints("apps/quern/main.cc", "#include \"quern/serve/server.h\"\n#include \"apps/quern/args.h\"\n"),
            0u);
}

TEST(Rules, SiblingsAndBenches) {
  EXPECT_EQ(complaints("quern/kernels/moe/moe.cc", "#include \"quern/kernels/gemm/gemm.h\"\n"), 0u);  // named
  EXPECT_EQ(complaints("quern/kernels/moe/moe.cc", "#include \"quern/kernels/conv/conv.h\"\n"), 1u);  // not named
  EXPECT_EQ(complaints("quern/kernels/moe/moe.cc", "#include \"quern/kernels/dispatch.h\"\n"), 0u);
  EXPECT_EQ(complaints("quern/kernels/dispatch.h", "#include \"quern/kernels/gemm/gemm.h\"\n"), 1u);
  EXPECT_EQ(complaints("quern/kernels/moe/moe_bench.cc", "#include \"quern/host/bench.h\"\n"), 0u);
  EXPECT_EQ(complaints("quern/kernels/moe/moe.cc", "#include \"quern/host/bench.h\"\n"), 1u);
}

TEST(Rules, OpeningAndLength) {
  EXPECT_TRUE(opening_complaints({"quern/nn/a.h", "// What it is.\n#pragma once\n"}).empty());
  EXPECT_EQ(opening_complaints({"quern/nn/a.h", "#pragma once\n"}).size(), 1u);
  EXPECT_TRUE(opening_complaints({"quern/nn/a.cc", "#include \"quern/nn/a.h\"\n"}).empty());
  EXPECT_EQ(opening_complaints({"quern/nn/a.cc", "#include \"quern/grad/tape.h\"\n"}).size(), 1u);
  EXPECT_EQ(opening_complaints({"quern/nn/a.cc", ""}).size(), 1u);
  EXPECT_TRUE(length_complaints({"a", std::string(600, '\n')}).empty());
  EXPECT_EQ(length_complaints({"a", std::string(601, '\n')}).size(), 1u);
}

TEST(Rules, HeavyHeaders) {
  const std::string json = "#include <nlohmann/json.hpp>\n#include <nlohmann/json_fwd.hpp>\n",
                    dnnl = "#include <oneapi/dnnl/dnnl.h>\n";
  EXPECT_TRUE(heavy_header_complaints(std::vector<SourceFile>{{"a.cc", json}, {"b.cc", dnnl}}).empty());
  EXPECT_EQ(heavy_header_complaints(std::vector<SourceFile>{{"a.cc", json}, {"b.cc", json}}).size(), 1u);
  EXPECT_EQ(heavy_header_complaints(std::vector<SourceFile>{{"a.h", dnnl}}).size(), 1u);
}

}  // namespace
}  // namespace quern::hygiene
