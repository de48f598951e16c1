// The commands of a ```sh or ```console block, line by line of the page, and what a test changes in them.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::docs {

// What a shell reads as one line: with the lines that a backslash, a quote or a here-document makes part of it.
struct Command {
  int line = 0;
  std::string text;  // no newline at its end
};
std::vector<Command> shell_commands(std::string_view text, int first_line);  // comments and empty lines are left out

struct ConsoleStep {
  Command command;
  std::vector<std::string> output;  // the lines shown after it
};
// "$ " begins a command, "> " one of its further lines. Throws Error for output before the first command.
std::vector<ConsoleStep> console_steps(std::string_view text, int first_line);

// `shown` is what a page says that a command prints: a line of "…" stands for any lines, "…" in a line for any text.
// Blanks at the ends of lines and empty lines at the end do not count.
bool prints(std::string_view printed, const std::vector<std::string>& shown);

// Not run by a test: ./run, sudo, apt-get, git clone, pip install. They build, install or need a network.
bool is_skipped(std::string_view command);

// The same command on the binary under test and on free ports: `build/release/apps/quern/quern` becomes `quern`, a
// port of 8080 to 8099 becomes free_port(port). A server started in the background is told its port, an earlier
// server of the page at that port is stopped, and the next command waits until the new one listens (shell functions
// of page_run.cc).
struct Prepared {
  std::string text;
  bool background_server = false;
  std::string complaint;  // what keeps it from being run; empty
};
Prepared prepare(std::string_view command, const std::function<int(int)>& free_port);
std::string with_free_ports(std::string_view text, const std::function<int(int)>& free_port);

}  // namespace quern::docs
