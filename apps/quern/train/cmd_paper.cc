// quern paper: lists the claims of papers/<name>/claims.toml, and measures them again. A claim: id, paper (value and
// conditions), command (ours), value (JSON pointer into the command's output), at_least or at_most, measured, verdict
// ("met", "not met", "not measurable here") and why.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/base/nearest.h"
#include "quern/base/toml.h"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

struct Claim {
  std::string paper_name, id, paper, command, value, verdict, measured, why;
  std::optional<double> at_least, at_most;
};

bool has_claims(const fs::path& papers) {
  std::error_code none;
  for (const auto& e : fs::directory_iterator(papers, none))
    if (fs::exists(e.path() / "claims.toml", none)) return true;
  return false;
}

fs::path papers_folder(const std::string& given) {
  if (!given.empty()) return given;
  for (fs::path p = fs::current_path();; p = p.parent_path()) {
    if (has_claims(p / "papers")) return p / "papers";
    if (p == p.parent_path()) break;
  }
  if (const auto shipped = shipped_file("papers")) return *shipped;
  fail("no folder papers/ with claims here, above or installed; name one with --dir");
}

// A claim's command names recipes and studies by their paths from the folder that holds papers/. Those that are not
// below the current folder are replaced by where they are.
std::string with_paths(const std::string& command, const fs::path& root) {
  std::string out;
  for (size_t at = 0; at <= command.size();) {
    const size_t end = std::min(command.find(' ', at), command.size());
    const std::string word = command.substr(at, end - at);
    const bool elsewhere = word.find('/') != word.npos && !fs::exists(word) && fs::exists(root / word);
    out += (at ? " " : "") + (elsewhere ? "'" + (root / word).string() + "'" : word);
    at = end + 1;
  }
  return out;
}

std::string text_of(const Json& c, const char* key, const std::string& where) {
  const Json* v = c.find(key);
  if (!v) return "";
  if (v->is_string()) return v->as_string();
  if (v->is_number()) return fmt::format("{}", v->as_double());
  fail("{}, {}: expected a string or a number", where, key);
}

std::vector<Claim> read_claims(const fs::path& folder) {
  std::vector<Claim> claims;
  std::string where = (folder / "claims.toml").string();
  Json toml = read_toml(folder / "claims.toml");
  for (const Json& c : toml.at("claim", where).as_array(where)) {
    Claim k;
    k.paper_name = folder.filename().string();
    k.id = c.at("id", where).as_string(where + ", id");
    std::string at = where + ", claim " + k.id;
    k.paper = c.at("paper", at).as_string(at + ", paper");
    k.verdict = c.at("verdict", at).as_string(at + ", verdict");
    if (k.verdict != "met" && k.verdict != "not met" && k.verdict != "not measurable here")
      fail("{}, verdict: '{}': expected 'met', 'not met' or 'not measurable here'", at, k.verdict);
    k.command = text_of(c, "command", at);
    k.value = text_of(c, "value", at);
    k.measured = text_of(c, "measured", at);
    k.why = text_of(c, "why", at);
    if (const Json* v = c.find("at_least")) k.at_least = v->as_double(at);
    if (const Json* v = c.find("at_most")) k.at_most = v->as_double(at);
    claims.push_back(std::move(k));
  }
  return claims;
}

std::vector<Claim> all_claims(const fs::path& papers, const std::string& only) {
  std::vector<fs::path> folders;
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(papers))
    if (fs::exists(e.path() / "claims.toml"))
      folders.push_back(e.path()), names.push_back(e.path().filename().string());
  std::sort(folders.begin(), folders.end());
  std::vector<Claim> claims;
  for (const fs::path& f : folders) {
    if (!only.empty() && f.filename() != only) continue;
    for (Claim& c : read_claims(f)) claims.push_back(std::move(c));
  }
  if (claims.empty() && !only.empty()) fail("unknown paper '{}'{}", only, did_you_mean(only, names));
  return claims;
}

// What it prints, or nothing when it fails; its reason is on stderr.
std::optional<std::string> output_of(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) fail("cannot run '{}'", command);
  std::string out;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe.get())) > 0;) out.append(buffer, n);
  if (pclose(pipe.release()) != 0) return std::nullopt;
  return out;
}

// RFC 6901, without escapes: /rows/0/ratio.
double value_at(const Json& j, const std::string& pointer) {
  const Json* at = &j;
  for (size_t i = 0; i < pointer.size();) {
    size_t end = std::min(pointer.find('/', i + 1), pointer.size());
    std::string key = pointer.substr(i + 1, end - i - 1);
    at = at->is_array() ? &at->as_array().at(std::stoul(key)) : &at->at(key, "the command's output");
    i = end;
  }
  return at->as_double("the command's output, " + pointer);
}

bool needs_lab(const Claim& c) {
  return c.command.starts_with("quern research ") || c.command.starts_with("quern study ") ||
         c.command.starts_with("quern bench tree");
}

int run_again(const std::vector<Claim>& claims, const fs::path& root) {
  if (!has_lab() && std::ranges::any_of(claims, needs_lab))
    fail("the claims of {} need a build with research studies: './run build dev', or cmake -DQUERN_LAB=ON",
         claims[0].paper_name);
  std::string self = fs::read_symlink("/proc/self/exe").string();
  std::string last_command;
  std::optional<Json> last_output;
  int missed = 0;
  for (const Claim& c : claims) {
    if (c.command.empty() || c.value.empty()) {
      fmt::print("{:<28} {}\n", c.id,
                 c.verdict == "not measurable here" ? "not measurable here: " + c.why : "no command");
      continue;
    }
    if (c.command != last_command) {
      if (!c.command.starts_with("quern ")) fail("claim {}: command '{}' must begin with 'quern '", c.id, c.command);
      fmt::print(stderr, "running {}\n", c.command);
      last_output.reset();
      if (const auto text = output_of("'" + self + "' " + with_paths(c.command.substr(6), root)))
        last_output = Json::parse(*text, c.command);
      last_command = c.command;
    }
    if (!last_output) {
      fmt::print("{:<28} not measured: the command failed (recorded: {}, {})\n", c.id, c.measured, c.verdict);
      ++missed;
      continue;
    }
    double v = value_at(*last_output, c.value);
    bool met = (!c.at_least || v >= *c.at_least) && (!c.at_most || v <= *c.at_most);
    missed += !met;
    fmt::print("{:<28} measured {:.10g}{}{}  {} (recorded: {}, {})\n", c.id, v,
               c.at_least ? fmt::format(", at least {:.10g}", *c.at_least) : "",
               c.at_most ? fmt::format(", at most {:.10g}", *c.at_most) : "", met ? "met" : "NOT MET", c.measured,
               c.verdict);
  }
  return missed ? 1 : 0;
}

}  // namespace

int cmd_paper(Words args) {
  std::string what, name, dir;
  Args a("paper", "list the claims of the papers, or measure them again");
  a.positional("list|run", what)
      .optional_positional("NAME", name)
      .flag("--dir DIR", dir, "folder papers/ [the nearest one above the current folder]")
      .note("list prints every claim; run NAME measures the claims of one paper again.");
  if (!a.parse(args)) return 0;
  fs::path papers = fs::absolute(papers_folder(dir)).lexically_normal();
  if (!papers.has_filename()) papers = papers.parent_path();  // it was given with a slash at its end
  std::vector<Claim> claims = all_claims(papers, name);
  if (what == "run") {
    if (name.empty()) throw UsageError("quern paper run: NAME is missing (see quern paper list)");
    return run_again(claims, papers.parent_path());
  }
  if (what != "list") throw UsageError(fmt::format("quern paper: unknown verb '{}', expected list or run", what));
  for (const Claim& c : claims) {
    fmt::print("{}/{}: {}\n  paper    {}\n  measured {}\n", c.paper_name, c.id, c.verdict, c.paper,
               c.measured.empty() ? "—" : c.measured);
    if (!c.why.empty()) fmt::print("  why      {}\n", c.why);
  }
  return 0;
}

}  // namespace quern::cli
