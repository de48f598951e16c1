// The service and the container file: what they start exists with these flags, and what they rely on is so. Tools that read
// them whole are used where they are installed: systemd-analyze, hadolint.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

const std::string kFolder = std::string(QUERN_SOURCE_DIR) + "/deploy/";

// Every --flag of a text.
std::set<std::string> flags_of(const std::string& text) {
  static const std::regex flag("(^|[ \"])(--[a-z][a-z-]*)");
  std::set<std::string> out;
  for (std::sregex_iterator i(text.begin(), text.end(), flag), end; i != end; ++i) out.insert((*i)[2]);
  return out;
}

void expect_flags_of_serve(const std::string& text) {
  const std::string help = shell("quern serve --help").out;
  const std::set<std::string> flags = flags_of(text);
  EXPECT_FALSE(flags.empty()) << text;
  for (const std::string& f : flags) EXPECT_NE(help.find(f + " "), help.npos) << f << " in " << text;
}

// Key=value lines by section; a key may stand several times.
std::map<std::string, std::multimap<std::string, std::string>> read_unit(const std::string& text) {
  std::map<std::string, std::multimap<std::string, std::string>> out;
  std::istringstream lines(text);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      section = line.substr(1, line.find(']') - 1);
    } else {
      const size_t equals = line.find('=');
      EXPECT_NE(equals, line.npos) << line;
      out[section].emplace(line.substr(0, equals), line.substr(equals + 1));
    }
  }
  return out;
}

TEST(Deployment, TheServiceStartsWhatThereIs) {
  const std::string text = read_file(kFolder + "quern.service");
  auto unit = read_unit(text);
  auto& service = unit["Service"];
  const auto one = [&](const char* key) {
    EXPECT_EQ(service.count(key), 1u) << key;
    return service.find(key)->second;
  };
  EXPECT_TRUE(one("ExecStart").starts_with("/usr/bin/quern serve $QUERN_SERVE "));
  expect_flags_of_serve(one("ExecStart"));
  expect_flags_of_serve(one("Environment"));
  EXPECT_EQ(one("Type"), "notify");
  EXPECT_NE(one("ExecReload").find("-HUP $MAINPID"), std::string::npos);
  std::smatch drain;
  const std::string start = one("ExecStart");
  ASSERT_TRUE(std::regex_search(start, drain, std::regex("--drain ([0-9]+)")));
  EXPECT_GT(std::stoi(one("TimeoutStopSec")), std::stoi(drain[1]) + 10) << "it must be able to end its requests";
  EXPECT_EQ(unit["Install"].count("WantedBy"), 1u);
  EXPECT_FALSE(service.contains("MemoryDenyWriteExecute")) << "kernels and patterns are compiled at run time";
}

TEST(Deployment, SystemdTakesTheService) {
  const ScratchFolder folder;
  std::string text = read_file(kFolder + "quern.service");
  // It checks that the program is there.
  text.replace(text.find("/usr/bin/quern"), std::string("/usr/bin/quern").size(), "/bin/true");
  write_file(folder / "quern.service", text);
  if (shell("command -v systemd-analyze").code != 0) GTEST_SKIP() << "systemd-analyze is not installed";
  const Ran r = shell("systemd-analyze verify --man=no " + (folder / "quern.service") + " 2>&1");
  EXPECT_EQ(r.code, 0) << r.out;
  EXPECT_EQ(r.out, "");
}

struct Instruction {
  std::string name, rest;
};

// Continued lines are one; comments and blank lines are left out.
std::vector<Instruction> read_container_file(const std::string& text) {
  std::vector<Instruction> out;
  std::istringstream lines(text);
  bool goes_on = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const bool more = line.ends_with('\\');
    if (more) line.pop_back();
    if (goes_on) {
      out.back().rest += " " + line;
    } else {
      const size_t blank = line.find(' ');
      EXPECT_NE(blank, line.npos) << line;
      out.push_back({line.substr(0, blank), line.substr(blank + 1)});
    }
    goes_on = more;
  }
  EXPECT_FALSE(goes_on) << "the last line goes on";
  return out;
}

TEST(Deployment, TheContainerFileHoldsTogether) {
  static const std::set<std::string> kKnown = {"FROM",   "COPY",       "WORKDIR",     "RUN",        "USER",
                                               "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"};
  std::set<std::string> stages;
  std::map<std::string, std::string> last;
  const auto all = read_container_file(read_file(kFolder + "Containerfile"));
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].name, "FROM");
  static const std::regex stage("^[a-z0-9./:-]+( AS ([a-z]+))?$"), from("--from=([a-z]+) ");
  for (const Instruction& i : all) {
    EXPECT_TRUE(kKnown.contains(i.name)) << i.name;
    std::smatch m;
    if (i.name == "FROM") {
      ASSERT_TRUE(std::regex_match(i.rest, m, stage)) << i.rest;
      if (m[2].matched) stages.insert(m[2]);
      last.clear();
    }
    if (i.name == "COPY" && std::regex_search(i.rest, m, from)) {
      EXPECT_TRUE(stages.contains(m[1])) << i.rest;
    }
    last[i.name] = i.rest;
  }
  const auto list = [&](const char* name) { return Json::parse(last[name].substr(last[name].find('['))).as_array(); };
  EXPECT_EQ(list("ENTRYPOINT")[0].as_string() + " " + list("ENTRYPOINT")[1].as_string(), "quern serve");
  std::string command;
  for (const Json& word : list("CMD")) command += " " + word.as_string();
  expect_flags_of_serve(command);
  EXPECT_NE(command.find("--host 0.0.0.0 --port " + last["EXPOSE"]), command.npos) << command;
  EXPECT_NE(list("HEALTHCHECK").back().as_string().find(":" + last["EXPOSE"] + "/health"), std::string::npos);
  EXPECT_EQ(last["STOPSIGNAL"], "SIGTERM");
  EXPECT_NE(last["USER"], "");
  EXPECT_NE(last["USER"].substr(0, 1), "0") << "not as root";
}

TEST(Deployment, HadolintTakesTheContainerFile) {
  if (shell("command -v hadolint").code != 0) GTEST_SKIP() << "hadolint is not installed";
  const Ran r = shell("hadolint " + kFolder + "Containerfile 2>&1");
  EXPECT_EQ(r.code, 0) << r.out;
}

}  // namespace
}  // namespace quern
