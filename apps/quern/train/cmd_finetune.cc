// quern finetune: from a file of chats or texts to a LoRA adapter, in one command.
#include <filesystem>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/train/finetune_run.h"
#include "quern/base/mmap.h"
#include "quern/data/samples.h"
#include "quern/models/checkpoint.h"
#include "quern/models/context_length.h"
#include "quern/models/fingerprint.h"
#include "quern/nn/builtin_registry.h"
#include "quern/train/finetune/finetune_data.h"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxHeldOut = 256;            // rows; more make evaluations long
constexpr int64_t kLongest = 1024, kStep = 64;  // of a sequence length that is not given

// read: read_finetune_rows or read_preference_rows.
template <class Read>
auto read_rows(Read&& read, const std::vector<std::string>& files, const train::FinetuneSettings& s) {
  constexpr int64_t kNamed = 5;
  int64_t bad = 0;
  auto rows = read(files, s.plain ? train::PromptForm::plain : train::PromptForm::chat, [&](const std::string& why) {
    if (++bad <= kNamed) fmt::print(stderr, "{}\n", why);
  });
  if (bad > kNamed) fmt::print(stderr, "… and {} more\n", bad - kNamed);
  if (bad > 0 && !s.skip_bad)
    fail("{} of {} rows cannot be used: fix them, or leave them out with --skip-bad", bad,
         bad + static_cast<int64_t>(rows.size()));
  if (rows.empty()) fail("{}: no rows", fmt::join(files, ", "));
  return rows;
}

void split_at_commas(std::vector<std::string>& names) {  // --targets q_proj,v_proj
  std::vector<std::string> all;
  for (const std::string& n : names)
    for (size_t at = 0; at <= n.size();) {
      const size_t comma = std::min(n.find(',', at), n.size());
      if (comma > at) all.push_back(n.substr(at, comma - at));
      at = comma + 1;
    }
  names = std::move(all);
}

struct PreparedData {
  train::FinetuneShape shape;
  std::vector<train::FinetuneRow> questions;
};

// What the model brings to its data.
struct Base {
  models::Checkpoint checkpoint;
  std::unique_ptr<models::Model> structure;
  text::Tokenizer tokenizer;
  text::ChatTemplate chat_template;
  explicit Base(const std::string& model)
      : checkpoint(models::open_checkpoint(model)),
        structure(models::build_model(nn::builtin_registry(), checkpoint.config, &checkpoint.weights)),
        tokenizer(models::load_tokenizer(model)),
        chat_template(models::load_chat_template(model, structure->family())) {}
  int64_t longest(const train::FinetuneSettings& s) const {
    return s.sequence_length > 0 ? std::min(structure->max_positions(), s.sequence_length)
                                 : std::min(models::context_length(*structure), kLongest);
  }
};

// Of the rows' files, by their contents: a run that goes on must learn from those that it began with.
std::string data_fingerprint(const train::FinetuneSettings& s, std::vector<std::string> files) {
  if (!s.eval.empty()) files.push_back(s.eval);
  uint64_t h = 0;
  for (const std::string& file : files) h = models::content_hash(MappedFile(file).bytes(), h);
  return fmt::format("{:016x}\n", h);
}

template <class Row, class Read>
train::RowSplit<Row> divided(Read&& read, const std::vector<std::string>& files, const train::FinetuneSettings& s) {
  std::vector<Row> rows = read_rows(read, files, s);
  if (s.eval.empty())
    return train::split_rows(std::move(rows), {s.eval_share, kMaxHeldOut, static_cast<uint64_t>(s.seed)});
  train::RowSplit<Row> split;
  split.learned = std::move(rows), split.held_out = read_rows(read, {s.eval}, s);
  return split;
}

void tell_counts(const train::FinetuneCounts& n, const train::FinetuneCounts& held, int64_t repeated) {
  fmt::print(stderr, "{} rows to learn from, {} held out; {} tokens, of which {} are learned\n", n.rows, held.rows,
             n.tokens, n.learned);
  auto tell = [](int64_t count, const char* what) {
    if (count > 0) fmt::print(stderr, "note: rows that {}: {}\n", what, count);
  };
  tell(repeated, "repeat one that is held out, and are left out");
  tell(n.trimmed + held.trimmed, "are longer than a sequence: their reasoning is cut");
  tell(n.dropped + held.dropped, "are longer than a sequence and left out; a larger --sequence-length keeps them");
  tell(n.cut + held.cut, "are longer than a sequence and cut into several");
}

const train::FinetuneRow& question(const train::FinetuneRow& row) { return row; }
const train::FinetuneRow& question(const train::PreferenceRow& row) { return row.chosen; }

PreparedData prepare(const std::string& model, const std::vector<std::string>& files,
                     const train::FinetuneSettings& s, bool pairs) {
  const Base base(model);
  const int64_t most = base.longest(s);
  const train::FinetuneEncoder encoder{base.tokenizer, base.chat_template, most};
  PreparedData out;
  out.shape.model = fs::absolute(model).lexically_normal(),
  out.shape.data = fs::absolute(fs::path(s.out) / "run" / "data");
  const fs::path learned = out.shape.data / "train", held_out = out.shape.data / "held-out";
  train::FinetuneCounts n, held;
  const auto take = [&](const auto& split, auto&& write) {
    fs::create_directories(out.shape.data);  // once the rows are known to be good
    n = write(split.learned, encoder, learned), held = write(split.held_out, encoder, held_out);
    tell_counts(n, held, split.repeated);
    for (const auto& row : split.held_out)
      if (question(row).chat() && static_cast<int64_t>(out.questions.size()) < s.samples)
        out.questions.push_back(question(row));
  };
  if (pairs)
    take(divided<train::PreferenceRow>(train::read_preference_rows, files, s), train::write_pair_shards);
  else
    take(divided<train::FinetuneRow>(train::read_finetune_rows, files, s), train::write_shards);
  const int64_t longest = std::max(n.longest, held.longest);
  out.shape.sequence_length =
      s.sequence_length > 0 ? most : std::min(most, (std::max(longest, 2 * kStep) + kStep - 1) / kStep * kStep);
  const auto sequences = [&](const fs::path& set) {
    return data::PackedSamples(set, out.shape.sequence_length).count();
  };
  out.shape.sequences = pairs ? n.rows : sequences(learned);
  out.shape.held_out = pairs ? held.rows : sequences(held_out);
  if (const Json* width = base.checkpoint.config.find("hidden_size")) out.shape.width = width->as_int("hidden_size");
  return out;
}

// What no single setting's bounds say.
void check_method(const train::FinetuneMethod& method) {
  const train::PreferenceConfig& p = method.preference;
  const train::PreferenceConfig usual;
  const bool told =
      p.beta != usual.beta || p.label_smoothing != usual.label_smoothing || p.reference != usual.reference;
  if (told && !p.on())
    throw UsageError("quern finetune: --beta, --label-smoothing and --reference need --preference");
  try {
    models::check(method.adapter, "quern finetune, adapter");
    train::check(method.preference, "quern finetune");
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
}

}  // namespace

int cmd_finetune(Words args) {
  std::string name;
  std::vector<std::string> files;
  train::FinetuneSettings s;
  train::FinetuneMethod method{.adapter = {.rank = 16}};
  models::LoraSettings& adapter = method.adapter;
  bool json = false;
  Args a("finetune", "train a LoRA adapter on chats, texts or preferences, in one command");
  a.positional("MODEL", name)
      .rest("DATA", files)
      .settings(s)
      .settings(adapter)
      .settings(method.preference)
      .json(json)
      .note(
          "DATA holds JSON lines or a JSON array; the form of each row is recognized: messages (Hugging Face, "
          "OpenAI),\n"
          "conversations (ShareGPT), instruction and output (Alpaca), prompt and completion, or text; with "
          "--preference,\nchosen and rejected answers (TRL). The base model stays as it is, in 8 or 4 bits with "
          "--base "
          "(QLoRA). The adapter\nis a PEFT folder: quern run MODEL --lora DIR.");
  if (!a.parse(args)) return 0;
  if (files.empty()) throw UsageError("quern finetune: DATA is missing: expected a file of JSON lines");
  a.check(s), a.check(adapter), a.check(method.preference);
  if (!adapter.on()) throw UsageError("quern finetune: --rank 0: expected 1 or more");
  split_at_commas(adapter.targets);
  check_method(method);
  if (s.out.empty())
    s.out = (fs::path("runs") /
             fmt::format("{}-{}", fs::path(name).filename().string(), fs::path(files[0]).stem().string()))
                .string();
  if (!s.resume && fs::exists(fs::path(s.out) / "run" / "metrics.jsonl"))
    throw UsageError(
        fmt::format("quern finetune: {} holds a run already: continue it with --resume, or name another folder "
                    "with --out",
                    s.out));
  const std::string model = model_folder(name);
  const fs::path fingerprint = fs::path(s.out) / "run" / "data.fingerprint";
  const std::string rows = data_fingerprint(s, files);
  if (s.resume && fs::exists(fingerprint) && read_file(fingerprint) != rows)
    throw UsageError(
        fmt::format("quern finetune --resume: DATA{} is not what {} began with: give the same files, or name another "
                    "folder with --out",
                    s.eval.empty() ? "" : " or --eval", s.out));
  const PreparedData data = prepare(model, files, s, method.preference.on());
  write_file(fingerprint, rows);
  const FinetuneResult r = run_finetune({.recipe = train::finetune_recipe(s, method, data.shape),
                                         .out = s.out,
                                         .patience = s.patience,
                                         .resume = s.resume,
                                         .questions = data.questions});
  if (!r.finished) return 0;
  if (!(r.best < r.before))
    fmt::print(stderr, "warning: the held-out loss never fell below {:.4f}, where it began\n", r.before);
  if (json) {
    Json j = Json::object();
    j.set("adapter", s.out), j.set("parameters", r.parameters), j.set("steps", r.steps),
        j.set("best_step", r.best_step);
    j.set("loss_before", r.before), j.set("loss", r.best);
    if (r.accuracy) j.set("accuracy", *r.accuracy), j.set("margin", r.margin.value_or(0));
    fmt::print("{}\n", j.dump());
    return 0;
  }
  fmt::print("held-out loss {:.4f} → {:.4f} (step {} of {}), {} parameters\nadapter: {}, report: {}\n", r.before,
             r.best, r.best_step, r.steps, r.parameters, s.out, (fs::path(s.out) / "report.html").string());
  if (r.accuracy)
    fmt::print("held-out pairs: the chosen answer has the larger reward in {:.1f} %, margin {:.3f}\n",
               100 * *r.accuracy, r.margin.value_or(0));
  fmt::print("use it:  quern run {} --lora {}\n", name, s.out);
  return 0;
}

}  // namespace quern::cli
