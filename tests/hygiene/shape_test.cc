// Functions and signatures of quern/, lab/ and apps/ stay within the limits of shape_rules.h; and the rule, shown bad
// samples, complains.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/hygiene/shape_rules.h"
#include "tests/hygiene/source_tree.h"

namespace quern::hygiene {
namespace {

TEST(Shape, OfTheSources) {
  const std::filesystem::path root = QUERN_SOURCE_DIR;
  const std::vector<SourceFile> files = source_tree(root);
  ASSERT_GT(files.size(), 50u);  // an empty walk would pass
  const auto complaints = shape_complaints(files);
  EXPECT_TRUE(complaints.empty()) << fmt::format("{}", fmt::join(complaints, "\n"));
}

// What the rule sees in a text: "name/parameters/lines", a word each.
std::string seen(std::string_view text) {
  std::string out;
  for (const Function& f : functions(text))
    out += fmt::format("{}{}/{}/{}", out.empty() ? "" : " ", f.name, f.parameters, f.lines);
  return out;
}

TEST(Shape, ParametersAreCounted) {
  EXPECT_EQ(seen("void f();\nint g(int a, std::map<int, int> b = {{1, 2}}, int c = h(3, 4));"), "f/0/0 g/3/0");
  EXPECT_EQ(seen("// f(a, b)\n#define M(a, b) \\\n  a(b, b)\nvoid f(char a = ',', /* b, */ S c = \"(,\");"), "f/2/0");
  EXPECT_EQ(seen("struct S : T<int, int> {\n  S(int a, int b);\n  void operator()(int a, int b) const;\n};"),
            "S/2/0 operator/0/0 operator()/2/0");
  EXPECT_EQ(seen("using F = void (*)(int, int);\nvoid (*f)(int, int);\nint n = f(1, 2);"), "f/2/0");
  EXPECT_EQ(seen("template <class T, class U = std::less<T>>\n[[nodiscard]] inline auto f(T a, U b) -> int;"),
            "f/2/0");
}

TEST(Shape, CallsInBodiesAreNoSignatures) {
  EXPECT_EQ(seen("namespace a {\ninline int f(int a) {\n  return g(a, [](int b, int c) { return b; }, 3);\n}\n}"),
            "f/1/3");
}

TEST(Shape, LinesAreCounted) {
  EXPECT_EQ(seen("int f() {\n  if (a) {\n  }\n}\nint g() { return 1; }\n"), "f/0/4 g/0/1");
  EXPECT_EQ(seen("S::S(int a)\n    : T{a},\n      b_(a, 1) {\n\n}\nvoid S::f(O o = {}) const {\n}"), "S/1/3 f/1/2");
  EXPECT_EQ(seen("const char* s = R\"x({)\")x\";\nconst int k[] = {1'000,\n 2};\nvoid f() {\n}"), "f/0/2");
}

TEST(Shape, BoolParameters) {
  const std::filesystem::path root = QUERN_SOURCE_DIR;
  std::vector<SourceFile> files = source_tree(root);
  files.push_back({"include/quern/quern.hpp", read_file(root / "include/quern/quern.hpp")});
  const auto exceptions = bool_exceptions(read_file(root / "tests/hygiene/bool_parameters.txt"));
  const auto complaints = bool_complaints(files, exceptions);
  EXPECT_TRUE(complaints.empty()) << fmt::format("{}", fmt::join(complaints, "\n"));
}

TEST(Shape, BoolParametersAreSeen) {
  const auto bools = [](std::string_view text) {
    std::string out;
    for (const Function& f : functions(text)) out += f.takes_bool ? '1' : '0';
    return out;
  };
  EXPECT_EQ(bools("void f(bool);\nvoid f(int a, bool b = true);\nvoid f(const bool b, int a);\n"
                  "void f(const bool& b);\nvoid f([[maybe_unused]] bool b);\nvoid f(bool=true);"),
            "111111");
  EXPECT_EQ(bools("bool f();\nbool f(int bools);\nvoid f(bool& b);\nvoid f(const bool* b);\n"
                  "void f(std::array<bool, 2> b);\nvoid f(std::function<void(bool)> g);\nvoid f(bool (*g)(int));\n"
                  "void f(int a /* bool b */) { g(bool(a), [](bool c) {}); }"),
            "00000000");
  EXPECT_EQ(bools("class C {\n  C(int a, bool b) : a_(a) {}\n  static void f(bool a);\n};\n"
                  "using F = std::function<void(int, bool)>;"),
            "1011");
}

TEST(Shape, BoolExceptions) {
  const std::vector<SourceFile> files = {{"quern/a.h", "void f(bool a);\nvoid g(int a, bool b);\nvoid h();"},
                                         {"quern/a.cc", "void f(bool a) {}"}};
  const auto with = [&](std::string_view list) { return bool_complaints(files, bool_exceptions(list)); };
  using Complaints = std::vector<std::string>;
  EXPECT_EQ(with("# none\n"), (Complaints{"quern/a.h:1: f takes a bool", "quern/a.h:2: g takes a bool"}));
  EXPECT_EQ(with("quern/a.h f the value\n"), (Complaints{"quern/a.h:2: g takes a bool"}));
  EXPECT_EQ(with("quern/a.h f the value\nquern/a.h g the value\n\nquern/a.h h the value\nquern/b.h f the value"),
            (Complaints{"bool_parameters.txt: h in quern/a.h takes no bool",
                        "bool_parameters.txt: f in quern/b.h takes no bool"}));
  EXPECT_THROW(bool_exceptions("quern/a.h f"), std::runtime_error);
}

size_t complaints(std::string path, std::string text) {
  return shape_complaints(std::vector<SourceFile>{{std::move(path), std::move(text)}}).size();
}

TEST(Shape, TooManyParameters) {
  const std::string six = "void f(int a, int b, int c, int d, int e, int f);",
                    seven = "void f(int a, int b, int c, int d, int e, int f, int g);";
  EXPECT_EQ(complaints("quern/nn/a.h", six), 0u);
  EXPECT_EQ(complaints("quern/nn/a.h", seven), 1u);
  EXPECT_EQ(complaints("quern/nn/a.cc", seven), 0u);
}

TEST(Shape, TooManyLines) {
  const std::string fits = "void f() {" + std::string(79, '\n') + "}",
                    over = "void f() {" + std::string(80, '\n') + "}";
  EXPECT_EQ(complaints("quern/nn/a.cc", fits), 0u);
  EXPECT_EQ(complaints("quern/nn/a.cc", over), 1u);
}

}  // namespace
}  // namespace quern::hygiene
