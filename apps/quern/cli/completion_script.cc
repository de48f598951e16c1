// Completion scripts of three shells: find the verb that the words lead to, then offer its verbs or flags, or files.
#include <algorithm>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/cli_map.h"
#include "apps/quern/cli/shell_word.h"
#include "quern/base/nearest.h"

namespace quern::cli {
namespace {

std::string quoted(const std::string& s, bool fish) {
  if (!fish) return shell_word(s);
  std::string out = "'";
  for (const char c : s) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::vector<std::string> flag_names(const CliPlace& p) {
  std::vector<std::string> out;
  for (const CliFlag& f : p.flags) out.insert(out.end(), f.names.begin(), f.names.end());
  return out;
}

std::vector<std::string> verb_names(const CliPlace& p) {
  std::vector<std::string> out;
  for (const CliVerb& v : p.verbs) out.push_back(v.name);
  return out;
}

// A shell function that sets `at` to the path the words before the cursor lead to.
std::string path_finder(const std::vector<CliPlace>& places, const char* words) {
  std::vector<std::string> paths;
  for (const CliPlace& p : places)
    if (!p.path.empty()) paths.push_back(quoted(p.path, false));
  return fmt::format(
      "  local at='' w\n  for w in {}; do\n    case \"${{at:+$at }}$w\" in\n      {}) at=\"${{at:+$at }}$w\" ;;\n    "
      "esac\n  done\n",
      words, fmt::join(paths, "|"));
}

std::string bash_script(const std::vector<CliPlace>& places) {
  std::string s =
      "# Completion of quern for bash: quern completion bash > ~/.local/share/bash-completion/completions/quern\n"
      "_quern() {\n  local cur=\"${COMP_WORDS[COMP_CWORD]}\" flags='' verbs=''\n";
  s += path_finder(places, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"");
  s += "  case \"$at\" in\n";
  for (const CliPlace& p : places)
    s += fmt::format("    {}) verbs={} flags={} ;;\n", quoted(p.path, false), quoted(joined(verb_names(p)), false),
                     quoted(joined(flag_names(p)), false));
  s += "  esac\n"
       "  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$flags --help\" -- \"$cur\"))\n"
       "  elif [[ -n $verbs ]]; then COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\"))\n"
       "  else compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n  fi\n}\n"
       "complete -F _quern quern\n";
  return s;
}

// zsh's _describe reads "name:help".
std::string zsh_script(const std::vector<CliPlace>& places) {
  std::string s =
      "#compdef quern\n# Completion of quern for zsh: quern completion zsh > a folder of $fpath, as _quern\n"
      "_quern() {\n  local -a flags verbs\n";
  s += path_finder(places, "\"${words[@]:1:$((CURRENT - 2))}\"");
  s += "  case \"$at\" in\n";
  for (const CliPlace& p : places) {
    s += fmt::format("    {})\n      verbs=(", quoted(p.path, false));
    for (const CliVerb& v : p.verbs) s += quoted(v.name + ":" + v.help, false) + " ";
    s += ")\n      flags=(";
    for (const CliFlag& f : p.flags)
      for (const std::string& n : f.names) s += quoted(n + ":" + f.help, false) + " ";
    s += "'--help:list the flags of this verb') ;;\n";
  }
  s += "  esac\n"
       "  if [[ $PREFIX == -* ]]; then _describe -t flags flag flags\n"
       "  elif (( $#verbs )); then _describe -t verbs verb verbs\n"
       "  else _files\n  fi\n}\n"
       "if [[ $funcstack[1] == _quern ]]; then _quern \"$@\"; else compdef _quern quern; fi\n";
  return s;
}

std::string fish_script(const std::vector<CliPlace>& places) {
  std::vector<std::string> paths;
  for (const CliPlace& p : places)
    if (!p.path.empty()) paths.push_back(quoted(p.path, true));
  std::string s =
      "# Completion of quern for fish: quern completion fish > ~/.config/fish/completions/quern.fish\n"
      "function __quern_at\n  set -l at ''\n  for w in (commandline -opc)[2..-1]\n    set -l next (string trim -- "
      "\"$at $w\")\n    contains -- $next ";
  s += joined(paths);
  s += "; and set at $next\n  end\n  test \"$at\" = \"$argv[1]\"\nend\n";
  for (const CliPlace& p : places) {
    const std::string here = quoted("__quern_at " + quoted(p.path, true), true);
    for (const CliVerb& v : p.verbs)
      s += fmt::format("complete -c quern -f -n {} -a {} -d {}\n", here, quoted(v.name, true), quoted(v.help, true));
    for (const CliFlag& f : p.flags) {
      s += fmt::format("complete -c quern -n {}", here);
      for (const std::string& n : f.names)
        s += n.starts_with("--") ? " -l " + n.substr(2) : (n.size() == 2 ? " -s " : " -o ") + n.substr(1);
      s += fmt::format("{} -d {}\n", f.takes_value ? " -r" : "", quoted(f.help, true));
    }
  }
  return s;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::vector<CliPlace>& places) {
  if (shell == "bash") return bash_script(places);
  if (shell == "zsh") return zsh_script(places);
  if (shell == "fish") return fish_script(places);
  throw UsageError(fmt::format("quern completion: unknown shell '{}', expected bash, zsh or fish{}", shell,
                               did_you_mean(shell, {"bash", "zsh", "fish"})));
}

}  // namespace quern::cli
