#include "lab/ablation/study.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "quern/base/config_keys.h"
#include "quern/base/mmap.h"
#include "quern/base/toml.h"
#include "quern/comm/in_process.h"
#include "quern/data/build.h"
#include "quern/gym/curriculum_problems.h"
#include "quern/train/checkpoint/crc.h"
#include "quern/train/checkpoint/file.h"
#include "quern/train/trainer/trainer.h"

namespace quern::lab {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSmooth = 16;  // steps that a balance is the mean of

std::string texts(const StudyData& d, data::Split split, int64_t count) {
  // The kinds that the studies in papers/ were measured with.
  gym::ProblemOptions o{.split = split,
                        .seed = static_cast<uint64_t>(d.seed),
                        .kinds = {"arithmetic", "lists", "logic", "dates", "units", "stories"}};
  gym::read_levels(d.levels, o);
  gym::check(o);
  std::string lines;
  auto add = [&](const std::string& text) {
    Json j = Json::object();
    j.set("text", text);
    lines += j.dump() + "\n";
  };
  for (int64_t i = 0; i < count; ++i) {
    if (i % 2 == 0)
      add(gym::plain_form(gym::curriculum_problem(o, static_cast<uint64_t>(i))));
    else
      add(data::curriculum_story(split, static_cast<uint64_t>(i)));
  }
  return lines;
}

// What is in a tokenizer's file. A checksum in decimal: JSON's numbers keep it whole.
int64_t content_of(const fs::path& file) {
  const std::string text = read_file(file);
  return train::crc32c(std::as_bytes(std::span(text)));
}

// Both sets in work/data, made unless they are there from the same description, which is returned.
Json make_data(const Study& s, const fs::path& work, const std::function<void(const std::string&)>& say) {
  const fs::path folder = work / "data", tokenizer = s.tokenizer_folder();
  Json wanted = Json::object();
  StudyData data = s.data;
  write_json(wanted, data);
  wanted.set("tokenizer_bytes", static_cast<int64_t>(fs::file_size(tokenizer / "tokenizer.json")));
  wanted.set("tokenizer_crc32c", content_of(tokenizer / "tokenizer.json"));
  if (fs::exists(folder / "made.json") && Json::read(folder / "made.json") == wanted) return wanted;
  fs::remove_all(folder);
  fs::create_directories(folder);
  const text::Tokenizer t = text::Tokenizer::load(tokenizer);
  for (auto [name, split, count] :
       {std::tuple{"train", data::Split::train, data.documents}, {"held", data::Split::held_out, data.held}}) {
    const fs::path lines = folder / (std::string(name) + ".jsonl");
    write_file(lines, texts(data, split, count));
    const data::BuildReport r = data::build_shards({lines.string()}, t, text::chat_template_for(tokenizer, ""),
                                                   folder / name, {}, [](const data::BuildReport&) {});
    say(fmt::format("{}: {} documents, {} tokens", name, r.documents, r.tokens));
  }
  train::write_durably(folder / "made.json", wanted.dump(2) + "\n");
  return wanted;
}

struct Run {
  double loss = 0;
  int64_t tokens = 0, parameters = 0;
  std::vector<double> balance;  // a step
};

Json stored(const Run& r, const Json& recipe, const Json& data) {
  Json j = Json::object(), b = Json::array();
  for (double x : r.balance) b.push(x);
  j.set("loss", r.loss), j.set("tokens", r.tokens), j.set("parameters", r.parameters), j.set("balance", b);
  j.set("recipe", recipe), j.set("data", data);
  return j;
}

std::optional<Run> known(const fs::path& file, const Json& recipe, const Json& data) {
  if (!fs::exists(file)) return std::nullopt;
  const Json j = Json::read(file);
  const std::string where = file.string();
  const Json* trained_on = j.find("data");
  if (!(canonical_keys<train::Recipe>(j.at("recipe", where), where) == recipe) || !trained_on ||
      !(*trained_on == data))
    return std::nullopt;
  Run r{.loss = j.at("loss", where).as_double(where),
        .tokens = j.at("tokens", where).as_int(where),
        .parameters = j.at("parameters", where).as_int(where),
        .balance = {}};
  for (const Json& b : j.at("balance", where).as_array(where)) r.balance.push_back(b.as_double(where));
  return r;
}

train::Recipe recipe_of(const Json& fields, const fs::path& work, const std::string& where) {
  train::Recipe r = train::parse_recipe(fields, work / "data", where);
  if (r.eval.data.empty()) fail("{}: eval.data names no set to compare on", where);
  r.eval.every = 0;
  return r;
}

Run train(const train::Recipe& recipe, const nn::Registry& registry, const fs::path& out) {
  fs::remove_all(out);  // what a stopped study left
  Run run;
  comm::run_ranks(1, [&](comm::Communicator& c) {
    train::Trainer t(recipe, registry, c, {.out = out});
    while (t.step())
      if (t.last().balance) run.balance.push_back(*t.last().balance);
    run.parameters = t.parameters(), run.tokens = t.last().tokens;
    for (const train::EvalMetrics& e : t.evaluations())
      run.loss += e.eval_loss / static_cast<double>(t.evaluations().size());
  });
  std::vector<fs::path> checkpoints;
  for (const auto& e : fs::directory_iterator(out))
    if (e.path().filename().string().starts_with("step_")) checkpoints.push_back(e.path());
  for (const fs::path& c : checkpoints) fs::remove_all(c);  // a study keeps what it measured, not what it trained
  return run;
}

// Mean of the kSmooth balances that end at step `end`.
double smooth(std::span<const double> balance, size_t end) {
  double sum = 0;
  for (size_t i = end - kSmooth; i < end; ++i) sum += balance[i] / kSmooth;
  return sum;
}

std::optional<double> even_at(const std::vector<Run>& runs, double even) {
  double sum = 0;
  for (const Run& r : runs) {
    const std::optional<size_t> first = first_even(r.balance, even);
    if (!first) return std::nullopt;
    sum += static_cast<double>(*first) / static_cast<double>(runs.size());
  }
  return sum;
}

Json balances(const std::vector<Run>& runs) {
  Json j = Json::object();
  size_t shortest = runs[0].balance.size();
  for (const Run& r : runs) shortest = std::min(shortest, r.balance.size());
  for (size_t end = 50; end <= shortest; end += 50) {
    double sum = 0;
    for (const Run& r : runs) sum += smooth(r.balance, end) / static_cast<double>(runs.size());
    j.set(std::to_string(end), sum);
  }
  return j;
}

}  // namespace

std::optional<size_t> first_even(std::span<const double> balance, double even) {
  size_t last = balance.size();  // step that is not even
  while (last >= kSmooth && smooth(balance, last) >= even) --last;
  if (last == balance.size()) return std::nullopt;
  return last + 1;
}

Study read_study(const fs::path& file) {
  Study s;
  from_json(read_toml(file), s, file.string(), UnknownKeys::refuse);
  s.recipe = canonical_keys<train::Recipe>(std::move(s.recipe), file.string() + ", recipe");
  for (StudyVariant& v : s.variant)
    v.recipe =
        canonical_keys<train::Recipe>(std::move(v.recipe), fmt::format("{}, variant '{}'", file.string(), v.name));
  s.base = file.parent_path();
  if (s.seeds < 1) fail("{}, seeds: {}, expected 1 or more", file.string(), s.seeds);
  if (s.data.documents < 2 || s.data.held < 2)
    fail("{}, data: {} documents and {} held, expected 2 or more of each", file.string(), s.data.documents,
         s.data.held);
  if (s.variant.empty()) fail("{}: no [[variant]]: nothing to compare", file.string());
  std::set<std::string> names;
  for (const StudyVariant& v : s.variant)
    if (v.name.empty() || v.name.find('/') != v.name.npos || !names.insert(v.name).second)
      fail("{}, variant '{}': expected a name of its own, without /", file.string(), v.name);
  if (!fs::exists(s.tokenizer_folder() / "tokenizer.json"))
    fail("{}, tokenizer: no tokenizer.json in {}", file.string(), s.tokenizer_folder().string());
  return s;
}

Json run_study(const Study& s, const nn::Registry& registry, const fs::path& work,
               const std::function<void(const std::string&)>& say) {
  const fs::path folder = fs::absolute(work);
  for (const StudyVariant& v : s.variant)
    recipe_of(train::merged(s.recipe, v.recipe), folder, s.name + ", variant " + v.name);
  const Json data = make_data(s, folder, say);
  std::map<std::string, std::vector<Run>> runs;
  for (int64_t seed = 0; seed < s.seeds; ++seed)  // a stopped study has whole seeds
    for (const StudyVariant& v : s.variant) {
      Json fields = train::merged(s.recipe, v.recipe);
      fields.set("seed", seed), fields.set("name", v.name);
      const std::string what = fmt::format("{} {}", v.name, seed);
      const fs::path out = folder / fmt::format("{}-{}", v.name, seed);
      std::optional<Run> run = known(out / "result.json", fields, data);
      if (!run) {
        run = train(recipe_of(fields, folder, what), registry, out);
        train::write_durably(out / "result.json", stored(*run, fields, data).dump(2) + "\n");
      }
      say(fmt::format("{}: held-out loss {:.4f} after {} tokens, {} parameters", what, run->loss, run->tokens,
                      run->parameters));
      runs[v.name].push_back(*run);
    }
  Json loss = Json::object(), losses = Json::object(), above = Json::object(), even = Json::object(),
       balance = Json::object(), parameters = Json::object();
  std::map<std::string, double> mean;
  double spread = 0;
  for (const StudyVariant& v : s.variant) {
    const std::vector<Run>& r = runs[v.name];
    Json each = Json::array();
    for (const Run& x : r) mean[v.name] += x.loss / static_cast<double>(r.size()), each.push(x.loss);
    for (const Run& x : r) spread = std::max(spread, std::abs(x.loss - mean[v.name]));
    loss.set(v.name, mean[v.name]), losses.set(v.name, each), parameters.set(v.name, r[0].parameters);
    if (const auto at = even_at(r, s.even)) even.set(v.name, *at);
    balance.set(v.name, balances(r));
  }
  for (const auto& [a, of_a] : mean) {
    Json over = Json::object();
    for (const auto& [b, of_b] : mean)
      if (a != b) over.set(b, of_a - of_b);
    above.set(a, over);
  }
  Json j = Json::object();
  j.set("study", s.name), j.set("seeds", s.seeds), j.set("tokens", runs[s.variant[0].name][0].tokens);
  j.set("parameters", parameters), j.set("loss", loss), j.set("losses", losses), j.set("spread", spread);
  j.set("above", above), j.set("even_at", even), j.set("balance", balance);
  return j;
}

}  // namespace quern::lab
