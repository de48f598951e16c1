#include "tests/docs/page_run.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "tests/docs/commands.h"
#include "tests/docs/shell_process.h"

namespace quern::docs {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Every step is sourced by one shell. The trap notes a failure and returns from the step, so that the next one is
// run.
constexpr std::string_view kPrelude = R"(set -e -o pipefail
declare -A docs_server
docs_listening() {  # PLACE PID: a port or a socket's path; waits until the server accepts connections
  docs_server[$1]=$2
  while kill -0 "$2" 2>/dev/null; do
    if [[ $1 == */* || $1 != [0-9]* ]]; then if [ -S "$1" ]; then return 0; fi
    elif (exec 9<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return 0; fi
    sleep 0.05
  done
  echo "the server ended before it listened" >&2
  return 1
}
docs_free_place() {  # PLACE: stops the page's server there
  local pid=${docs_server[$1]}
  if [ -z "$pid" ]; then return 0; fi
  kill -INT "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  unset "docs_server[$1]"
}
curl() {  # an error status is a failure, also where the page does not ask for that; a transcript shows its body
  case "$docs_console $* " in
    1*|*" --fail"*|*" -f"*) command curl "$@" || return ;;
    *) command curl --fail-with-body "$@" || return ;;
  esac
}
docs_code=0 docs_line=0
trap 'docs_code=$? docs_line=$LINENO; return 0' ERR
)";

struct Step {
  int line = 0, last_line = 0;
  std::string script;  // its first line is the page's first line
  std::vector<Command> commands;
  bool console = false, background_server = false;
  std::vector<std::string> shown;
};

struct Outcome {
  bool started = false, ended = false;
  int code = 0, line = 0;
};

int find_free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  const bool found = fd >= 0 && ::bind(fd, raw, size) == 0 && ::getsockname(fd, raw, &size) == 0;
  if (fd >= 0) ::close(fd);
  if (!found) fail("no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

class Ports {  // one free port for each that a page names
 public:
  int operator()(int named) {
    int& port = ports_[named];
    if (port == 0) port = find_free_port();
    return port;
  }

 private:
  std::map<int, int> ports_;
};

int lines_in(std::string_view text) { return 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

// Adds a command to a step, on the lines where the page has it.
void append(const Command& c, Ports& ports, Step& step, const std::string& page, PageRun& result) {
  step.script.append(static_cast<size_t>(std::max(0, c.line - lines_in(step.script))), '\n');
  step.last_line = c.line + lines_in(c.text) - 1;
  if (is_skipped(c.text)) {
    result.skipped.push_back(c.text);
    step.script += ":" + std::string(static_cast<size_t>(lines_in(c.text) - 1), '\n');
    return;
  }
  const Prepared p = prepare(c.text, std::ref(ports));
  if (!p.complaint.empty()) {
    result.complaints.push_back({page, c.line, p.complaint});
    step.script += ":" + std::string(static_cast<size_t>(lines_in(c.text) - 1), '\n');
    return;
  }
  step.script += p.text;
  step.commands.push_back(c);
  step.background_server |= p.background_server;
  ++result.commands;
}

std::vector<Step> steps_of(const Page& page, Ports& ports, PageRun& result) {
  std::vector<Step> steps;
  for (const Block& b : page.blocks) {
    if (b.language == "sh") {
      Step step;
      step.line = b.line;
      for (const Command& c : shell_commands(b.text, b.line)) append(c, ports, step, page.name, result);
      if (!step.commands.empty()) steps.push_back(step);
    }
    if (b.language != "console") continue;
    try {
      for (const ConsoleStep& c : console_steps(b.text, b.line)) {
        Step step;
        step.line = c.command.line;
        step.console = true;
        for (const std::string& line : c.output) step.shown.push_back(with_free_ports(line, std::ref(ports)));
        append(c.command, ports, step, page.name, result);
        if (!step.commands.empty()) steps.push_back(step);
      }
    } catch (const Error& e) {
      result.complaints.push_back({page.name, b.line, e.what()});
    }
  }
  return steps;
}

fs::path part(const RunPlace& place, size_t step, const char* what) {
  return place.folder / fmt::format("{}.{}", step, what);
}

std::string driver(const std::vector<Step>& steps, const RunPlace& place) {
  const std::string events = (place.folder / "events").string();
  std::string s(kPrelude);
  s += fmt::format("cd '{}'\n", (place.folder / "page").string());
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string file = part(place, i, "sh").string();
    write_file(file, steps[i].script + "\n");
    s += fmt::format(
        "docs_code=0 docs_line=0 docs_console={5}; echo start {0} >>'{1}'\n"
        "if bash -n '{2}' 2>'{4}'; then source '{2}' >'{3}' 2>'{4}'; else docs_code=2 docs_line=0; fi\n"
        "echo end {0} $docs_code $docs_line >>'{1}'\n",
        i, events, file, part(place, i, "out").string(), part(place, i, "err").string(), steps[i].console ? 1 : 0);
  }
  return s;
}

std::vector<Outcome> outcomes(const RunPlace& place, size_t steps) {
  std::vector<Outcome> out(steps);
  std::ifstream events(place.folder / "events");
  size_t step = 0;
  for (std::string word; events >> word >> step && step < steps;) {
    Outcome& o = out[step];
    o.started = true;
    if (word == "end") o.ended = static_cast<bool>(events >> o.code >> o.line);
  }
  return out;
}

std::string content(const fs::path& file) { return fs::exists(file) ? read_file(file) : ""; }

std::string tail(const std::string& text, int max_lines = 12) {
  size_t at = text.size();
  for (int i = 0; i <= max_lines && at != 0 && at != text.npos; ++i) at = text.rfind('\n', at - 1);
  const std::string end = at == 0 || at == text.npos ? text : text.substr(at + 1);
  std::istringstream lines(end);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += "\n    | " + line;
  return out;
}

// The command that holds a line of the page; the step's first when the shell names none.
const Command& command_at(const Step& step, int line) {
  const Command* found = &step.commands.front();
  for (const Command& c : step.commands)
    if (c.line <= line) found = &c;
  return *found;
}

std::optional<Complaint> judge_console(const Step& step, const Outcome& o, const std::string& out,
                                       const std::string& err) {
  const Command& c = step.commands.front();
  std::vector<std::string> shown = step.shown;
  if (step.background_server) shown.emplace_back("…");  // it goes on writing
  const bool both = prints(err + out, shown) || prints(out + err, shown);
  const bool message =
      std::any_of(shown.begin(), shown.end(), [](const std::string& s) { return s != "…" && !s.empty(); });
  const std::string streams = tail(out, 30) + (err.empty() ? "" : "\n  and to standard error:" + tail(err));
  if (o.code != 0 && !(both && message))
    return Complaint{"", c.line, fmt::format("'{}' failed with exit status {}{}", c.text, o.code, streams)};
  if (!both && !prints(out, shown))
    return Complaint{"", c.line, fmt::format("'{}' prints something else than the page shows:{}", c.text, streams)};
  return std::nullopt;
}

std::optional<Complaint> judge(const Step& step, const Outcome& o, const std::string& out, const std::string& err) {
  const Command& c = command_at(step, o.line);
  if (!o.started) return Complaint{"", step.line, "not run: the shell had ended"};
  if (!o.ended) return Complaint{"", c.line, "the shell ended in this block" + tail(out) + tail(err)};
  if (step.console) return judge_console(step, o, out, err);
  if (o.code == 0) return std::nullopt;
  return Complaint{"", c.line,
                   fmt::format("'{}' failed with exit status {}{}", c.text, o.code, tail(err.empty() ? out : err))};
}

}  // namespace

PageRun run_page(const Page& page, const RunPlace& place) {
  PageRun result;
  Ports ports;
  const std::vector<Step> steps = steps_of(page, ports, result);
  const auto start = Clock::now();
  fs::create_directories(place.folder / "home");
  fs::create_directories(place.folder / "page");
  if (!place.fixtures.empty()) fs::copy(place.fixtures, place.folder / "page", fs::copy_options::recursive);
  const fs::path script = place.folder / "driver.sh";
  write_file(script, driver(steps, place));
  const std::optional<int> code = run_script({script, place.folder / "log", place.folder / "home", place.seconds});
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const std::vector<Outcome> ends = outcomes(place, steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string out = content(part(place, i, "out")), err = content(part(place, i, "err"));
    std::optional<Complaint> c = judge(steps[i], ends[i], out, err);
    if (!code && ends[i].started && !ends[i].ended)
      c = Complaint{"", steps[i].line,
                    fmt::format("the page was still running after {} s, here{}", place.seconds, tail(err))};
    if (!c) continue;
    c->page = page.name;
    result.complaints.push_back(*c);
    if (!ends[i].started) break;  // said once
  }
  return result;
}

bool has_commands(const Page& page) {
  PageRun counted;
  Ports ports;
  steps_of(page, ports, counted);
  return counted.commands > 0;
}

}  // namespace quern::docs
