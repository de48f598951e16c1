// A class is defined once in a namespace. Two of one name in different files still link: the linker keeps one's
// inline functions for both, and a program ends up in the other's destructor. Reads every source and header.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// "quern::kernels::Tile" for every class, struct and enum that a text defines outside functions, classes and unnamed
// namespaces.
std::vector<std::string> defined_names(std::istream& text) {
  static const std::regex definition(R"(^(?:class|struct|enum class|enum) (?:alignas\(\w+\) )?([A-Z]\w*)(.*))");
  std::vector<std::string> spaces, names;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("namespace ") && line.ends_with("{")) {
      spaces.push_back(line.substr(10, line.size() - 11));
    } else if (line.starts_with("}  // namespace") && !spaces.empty()) {
      spaces.pop_back();
    } else if (std::smatch m; std::regex_match(line, m, definition)) {
      std::string rest = m[2], name;
      // Declared only, a specialization, or a class of a class.
      if (rest.find('{') == std::string::npos || rest.starts_with("<") || rest.starts_with("::")) continue;
      bool unnamed = false;
      for (const std::string& s : spaces) {
        unnamed = unnamed || s.empty();
        name += s.substr(0, s.find(' ')) + "::";
      }
      if (!unnamed && !spaces.empty()) names.push_back(name + std::string(m[1]));
    }
  }
  return names;
}

TEST(UniqueNames, AClassIsDefinedOnceInANamespace) {
  std::map<std::string, std::string> places;
  int files = 0;
  for (const char* room : {"quern", "lab", "apps"})
    for (const auto& e : fs::recursive_directory_iterator(fs::path(QUERN_SOURCE_DIR) / room)) {
      std::string f = e.path().filename().string();
      if ((!f.ends_with(".h") && !f.ends_with(".cc")) || f.ends_with("_test.cc")) continue;
      ++files;
      std::ifstream in(e.path());
      for (const std::string& name : defined_names(in)) {
        auto [it, fresh] = places.emplace(name, e.path().string());
        EXPECT_TRUE(fresh) << name << " is defined in " << it->second << " and in " << e.path();
      }
    }
  EXPECT_GT(files, 200);
  EXPECT_GT(places.size(), 200u);
  EXPECT_TRUE(places.contains("quern::Tensor"));
}

TEST(UniqueNames, SeesWhatItShould) {
  std::istringstream text(R"(namespace quern {
class A;
class B : public A {
  struct Inner {
  };
};
namespace {
struct Hidden {
};
}  // namespace
namespace kernels {
template <class T>
struct C {
};
enum class D { a };
}  // namespace kernels
template <>
struct B<int> {
};
}  // namespace quern
)");
  EXPECT_EQ(defined_names(text), (std::vector<std::string>{"quern::B", "quern::kernels::C", "quern::kernels::D"}));
}

}  // namespace
