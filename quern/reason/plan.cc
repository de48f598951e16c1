// Parses plans, and fills in defaults.
#include "quern/reason/plan.h"

#include <charconv>
#include <string_view>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/nearest.h"

namespace quern::reason {
namespace {

const std::vector<std::string> kMethods = {"single", "vote", "best", "rsa", "mrsa", "delethink", "pacore", "hybrid"};

std::vector<std::string_view> split(std::string_view s, char by) {
  std::vector<std::string_view> out;
  for (size_t at; (at = s.find(by)) != s.npos; s.remove_prefix(at + 1)) out.push_back(s.substr(0, at));
  out.push_back(s);
  return out;
}

int64_t read_count(std::string_view text, const std::string& plan, std::string_view what) {
  int64_t v = 0;
  auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (bad != std::errc() || end != text.data() + text.size() || v < 0 || v > int64_t{1} << 32)
    fail("plan '{}': {} is '{}', expected a number", plan, what, text);
  return v;
}

}  // namespace

ThinkPlan parse_plan(const std::string& text) {
  const std::vector<std::string_view> parts = split(text, ',');
  const size_t colon = parts[0].find(':');
  const std::string method(parts[0].substr(0, colon));
  const std::string_view sizes = colon == parts[0].npos ? std::string_view() : parts[0].substr(colon + 1);
  ThinkPlan p;
  auto one = [&](int64_t& value, const char* what) { value = read_count(sizes, text, what); };
  if (method == "single") {
    if (!sizes.empty()) fail("plan '{}': single takes no sizes", text);
  } else if (method == "vote" || method == "best") {
    one(p.n, "N");
    if (method == "best") p.choose = ThinkPlan::Choose::likeliest;
  } else if (method == "delethink") {
    one(p.t, "T");
  } else if (method == "rsa" || method == "mrsa" || method == "pacore" || method == "hybrid") {
    const std::vector<std::string_view> three = split(sizes, 'x');
    if (three.size() != 3) fail("plan '{}': expected {}:NxCxT, as {}:16x4x2", text, method, method);
    p.n = read_count(three[0], text, "N"), p.c = read_count(three[1], text, "C"),
    p.t = read_count(three[2], text, "T");
    p.whole = method == "rsa";
    if (method == "pacore") p.carry = ThinkPlan::Carry::answer;
    if (method == "hybrid") p.carry = ThinkPlan::Carry::either;
  } else {
    fail("plan '{}': unknown method '{}'{} (known: {})", text, method, did_you_mean(method, kMethods),
         fmt::join(kMethods, ", "));
  }
  if (p.n < 1 || p.n > 1024) fail("plan '{}': N = {}, expected 1 to 1024", text, p.n);
  if (p.c < 1 || p.c > p.n) fail("plan '{}': C = {}, expected 1 to N = {}", text, p.c, p.n);
  if (p.t > 64) fail("plan '{}': T = {}, expected 0 to 64", text, p.t);
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    const std::string key(parts[i].substr(0, equals));
    const std::string_view value = equals == parts[i].npos ? std::string_view() : parts[i].substr(equals + 1);
    if (key == "beta")
      p.beta = read_count(value, text, key);
    else if (key == "tau")
      p.tau = read_count(value, text, key);
    else if (key == "final")
      p.final = read_count(value, text, key);
    else if (key == "seed")
      p.seed = static_cast<uint64_t>(read_count(value, text, key));
    else
      fail("plan '{}': unknown '{}', expected beta, tau, final or seed", text, key);
  }
  if (p.tau > 0 && p.beta > 0 && p.tau > p.beta)
    fail("plan '{}': tau = {} is more than beta = {}; a tail is a part of what was thought", text, p.tau, p.beta);
  return p;
}

ThinkPlan resolved(ThinkPlan p, int64_t max_tokens) {
  if (p.beta == 0) p.beta = max_tokens;
  if (p.tau == 0) p.tau = p.whole ? p.beta : (p.beta + 3) / 4;
  if (p.final == 0) p.final = p.beta;
  if (p.tau > p.beta) fail("tau = {} is more than beta = {}; a tail is a part of what was thought", p.tau, p.beta);
  return p;
}

std::string ThinkPlan::name() const {
  if (t == 0) return n == 1 ? "single" : fmt::format("{}:{}", choose == Choose::likeliest ? "best" : "vote", n);
  if (n == 1 && c == 1) return fmt::format("delethink:{}", t);
  const char* method = carry == Carry::answer ? "pacore" : carry == Carry::either ? "hybrid" : whole ? "rsa" : "mrsa";
  return fmt::format("{}:{}x{}x{}", method, n, c, t);
}

}  // namespace quern::reason
