// The sources of quern/ and apps/ keep the house rules of include_rules.h; and the rules, shown bad samples,
// complain.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "quern/base/mmap.h"
#include "tests/hygiene/include_rules.h"
#include "tests/hygiene/source_tree.h"

namespace quern::hygiene {
namespace {

namespace fs = std::filesystem;

struct Tree {
  std::vector<SourceFile> files;
  House house;
};

const Tree& tree() {
  static const Tree t = [] {
    Tree r;
    const fs::path root = QUERN_SOURCE_DIR;
    r.house.rooms = read_rooms(read_file(root / "quern/rooms.txt"));
    r.files = source_tree(root);
    for (const char* top : {"quern", "lab", "apps"})
      for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
        if (!entry.is_regular_file()) continue;
        const fs::path at = fs::relative(entry.path(), root);
        if (at.filename() == "CMakeLists.txt")
          r.house.siblings
              [at.parent_path().lexically_relative(top == std::string("quern") ? "quern" : "").generic_string()] =
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
  EXPECT_TRUE(tree().house.siblings.contains("kernels/gemm"));
}

TEST(Sources, IncludeOnlyUpwards) {
  for (const SourceFile& f : tree().files) expect_none(direction_complaints(f, tree().house));
}

TEST(Rooms, NameOnlyRoomsAboveThem) { expect_none(sibling_complaints(tree().house)); }

TEST(Rooms, AreFolders) {
  for (const Room& room : tree().house.rooms) {
    const std::string path = room.name.substr(0, room.name.find("/*"));
    const fs::path root = QUERN_SOURCE_DIR;
    EXPECT_TRUE(fs::is_directory(root / "quern" / path) || fs::is_directory(root / path)) << room.name;
    EXPECT_FALSE(room.purpose.empty()) << room.name;
  }
}

// docs/architecture.md shows the list; QUERN_REWRITE=1 writes it there again.
TEST(Rooms, StandInTheDocument) {
  const fs::path file = fs::path(QUERN_SOURCE_DIR) / "docs/architecture.md";
  const std::string begin = "<!-- rooms: generated from quern/rooms.txt -->\n", end = "<!-- end of rooms -->\n";
  std::string text = read_file(file), table = "| room | what it holds |\n|---|---|\n";
  for (const Room& room : tree().house.rooms) table += fmt::format("| `{}` | {} |\n", room.name, room.purpose);
  const size_t from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != text.npos && to != text.npos);
  const std::string now = text.substr(from + begin.size(), to - from - begin.size());
  if (now != table && std::getenv("QUERN_REWRITE"))
    write_file(file, text.replace(from + begin.size(), now.size(), table));
  else
    EXPECT_EQ(now, table) << "QUERN_REWRITE=1 writes the table again";
}

TEST(Sources, StartWithAComment) {
  for (const SourceFile& f : tree().files) expect_none(opening_complaints(f));
}

TEST(Sources, StayShort) {
  for (const SourceFile& f : tree().files) expect_none(length_complaints(f));
}

TEST(Sources, DoNotCrowdAFolder) { expect_none(crowding_complaints(tree().files)); }

TEST(Sources, IncludeHeavyHeadersOnce) { expect_none(heavy_header_complaints(tree().files)); }

TEST(Sources, StayInTheirNamespace) {
  for (const SourceFile& f : tree().files) expect_none(namespace_complaints(f));
}

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
  const House house = {.rooms = read_rooms("# order\nbase b\ntensor t\nkernels/* k\nhost h\ngrad g\nnn "
                                           "n\ninfer/options o\nmodels m\ninfer/engine e\nserve s\napps a\n"),
                       .siblings = {{"kernels/moe", {"kernels/gemm"}}}};
  return direction_complaints({std::move(path), std::move(text)}, house).size();
}

TEST(Rules, Direction) {
  EXPECT_EQ(complaints("quern/nn/a.cc", "#include \"quern/nn/a.h\"\n#include \"quern/grad/tape.h\"\n"), 0u);
  EXPECT_EQ(complaints("quern/nn/a.cc", "#include \"quern/models/model.h\"\n"), 1u);  // downwards
  EXPECT_EQ(complaints("quern/base/a.h", "#include \"quern/tensor/view.h\"\n#include \"quern/nn/b.h\"\n"), 2u);
  EXPECT_EQ(complaints("quern/nn/a.cc", "#include \"apps/quern/cli/args.h\"\n"), 1u);
  EXPECT_EQ(complaints("quern/attic/a.cc", ""), 1u);  // an unknown room
  // infer/options stands above models, the rest of infer below.
  EXPECT_EQ(complaints("quern/models/a.h", "#include \"quern/infer/options/sampling_options.h\"\n"), 0u);
  EXPECT_EQ(complaints("quern/models/a.h", "#include \"quern/infer/engine/engine.h\"\n"), 1u);
  EXPECT_EQ(complaints("quern/infer/options/a.h", "#include \"quern/models/model.h\"\n"), 1u);
  EXPECT_EQ(complaints("quern/nn/a.cc", "#include \"quern/attic/a.h\"\n"), 1u);
  EXPECT_EQ(
      complaints("apps/quern/main.cc", "#include \"quern/serve/server.h\"\n#include \"apps/quern/cli/args.h\"\n"),
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

TEST(Rules, InnerRooms) {
  const House house = {
      .rooms = read_rooms("corpus/io  bytes\ncorpus/text words\nmixers m\nmixers/ranks r\nmixers/* x\n"),
      .siblings = {{"corpus/io", {"corpus/text", "base"}},
                   {"corpus/text", {"corpus/io"}},
                   {"mixers/cca", {"mixers", "mixers/ranks", "mixers/ovq"}},
                   {"mixers/ranks", {"mixers", "mixers/cca"}}}};
  EXPECT_EQ(house.rooms[0].name, "corpus/io");
  EXPECT_EQ(house.rooms[0].purpose, "bytes");
  EXPECT_EQ(sibling_complaints(house),
            (std::vector<std::string>{"corpus/io names corpus/text, which is not above it",
                                      "mixers/ranks names mixers/cca, which is not above it"}));
}

TEST(Rules, Crowding) {
  const std::vector<SourceFile> full(41, {"quern/nn/a.cc", ""}), fits(40, {"quern/nn/a.cc", ""});
  EXPECT_EQ(crowding_complaints(full).size(), 1u);
  EXPECT_TRUE(crowding_complaints(fits).empty());
}

TEST(Rules, OpeningAndLength) {
  EXPECT_TRUE(opening_complaints({"quern/nn/a.h", "// What it is.\n#pragma once\n"}).empty());
  EXPECT_EQ(opening_complaints({"quern/nn/a.h", "#pragma once\n"}).size(), 1u);
  EXPECT_TRUE(opening_complaints({"quern/nn/a.cc", "#include \"quern/nn/a.h\"\n"}).empty());
  EXPECT_EQ(opening_complaints({"quern/nn/a.cc", "#include \"quern/grad/tape.h\"\n"}).size(), 1u);
  EXPECT_EQ(opening_complaints({"quern/nn/a.cc", ""}).size(), 1u);
  EXPECT_TRUE(length_complaints({"a", std::string(500, '\n')}).empty());
  EXPECT_EQ(length_complaints({"a", std::string(501, '\n')}).size(), 1u);
}

TEST(Rules, Namespaces) {
  EXPECT_EQ(namespace_of("quern/infer/engine/engine.h"), "quern::infer");
  EXPECT_EQ(namespace_of("quern/base/json.h"), "quern");
  EXPECT_EQ(namespace_of("apps/quern/main.cc"), "quern::cli");
  const auto count = [](const char* path, const char* text) { return namespace_complaints({path, text}).size(); };
  const char* ahead = "namespace quern::nn {\nclass Module;\n}  // namespace quern::nn\n";
  EXPECT_EQ(count("quern/nn/a.cc", "namespace quern::nn {\nnamespace {\nint a;\n}\n}  // namespace quern::nn\n"), 0u);
  EXPECT_EQ(count("quern/text/jinja/a.cc", "namespace quern::text::jinja {\nint a;\n}\n"), 0u);
  EXPECT_EQ(count("quern/models/a.h", ahead), 0u);
  EXPECT_EQ(count("quern/models/a.h", "namespace quern::nn {\nint module();\n}\n"), 1u);
  EXPECT_EQ(count("quern/models/a.h", "namespace quern::nn { int module(); }\n"), 1u);
  EXPECT_EQ(count("quern/nn/a.cc", "namespace quern {\nint a;\n}  // namespace quern\n"), 1u);
  EXPECT_EQ(count("quern/base/a.h", "namespace quern::nn {\nint a;\n}\n"), 1u);
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
