// quern data build | info | show | curriculum | attempts: texts to token shards, what shards hold, and procedurally
// generated problems.
#include <algorithm>
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/line_file.h"
#include "apps/quern/cli/menu.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/train/cmd_data.h"
#include "apps/quern/train/problem_flags.h"
#include "apps/quern/train/shard_flags.h"
#include "quern/base/mmap.h"
#include "quern/data/build.h"
#include "quern/data/samples.h"
#include "quern/gym/curriculum_problems.h"
#include "quern/reason/attempts.h"

namespace quern::cli {
namespace {

data::BuildOptions::Split parse_split(const std::string& s) {
  if (s == "file") return data::BuildOptions::Split::file;
  if (s == "line") return data::BuildOptions::Split::line;
  if (s == "blank") return data::BuildOptions::Split::blank;
  throw UsageError(fmt::format("quern data build: --split-by '{}': expected file, line or blank", s));
}

int build(Words args) {
  std::vector<std::string> files;
  std::string tokenizer_dir, documents = "file";
  ShardFlags shards;
  const std::string& out = shards.out;
  std::optional<std::string> field;
  bool chat = false, skip_bad = false, json = false;
  int64_t max_tokens = 0;
  Args a("data build", "tokenize texts or chats into token shards");
  a.rest("IN", files)
      .flag("--tokenizer DIR", tokenizer_dir, "folder with tokenizer.json and, for --chat, the chat template")
      .settings(shards)
      .flag("--jsonl-field NAME", field, "inputs are JSON lines with the text in this field [text for .jsonl files]")
      .flag("--chat", chat,
            "inputs are chats, JSON lines {\"messages\": …}; writes a loss mask to PREFIX.mask.bin and .idx")
      .flag("--max-tokens N", max_tokens, "trim longer chats to N tokens, responses untouched; 0 does not trim")
      .flag("--split-by UNIT", documents, "documents of a text file: file, line, or blank (separated by blank lines)")
      .alias("--documents")
      .flag("--skip-bad", skip_bad, "skip and count invalid UTF-8 and JSON instead of stopping")
      .json(json, Args::kCounts)
      .note(
          "Pretraining uses plain texts; fine-tuning (SFT) uses --chat, where only the responses count in the loss.");
  if (!a.parse(args)) return 0;
  if (files.empty()) throw UsageError("quern data build: IN is missing: name at least one input file");
  if (tokenizer_dir.empty())
    throw UsageError("quern data build: --tokenizer is missing: expected a folder with tokenizer.json");
  if (out.empty()) throw UsageError("quern data build: --out is missing: expected a PREFIX");
  if (chat && field) throw UsageError("quern data build: give only one of --chat and --jsonl-field");
  if (max_tokens < 0 || (max_tokens > 0 && !chat))
    throw UsageError("quern data build: --max-tokens needs --chat and a value of 0 or more");
  data::BuildOptions o;
  o.form = chat    ? data::BuildOptions::Form::chat
           : field ? data::BuildOptions::Form::jsonl
                   : data::BuildOptions::Form::by_name;
  o.split = parse_split(documents);
  o.field = field.value_or("text");
  o.end_token = shards.end_token, o.skip_bad = skip_bad, o.max_tokens = max_tokens;
  const text::Tokenizer tokenizer = text::Tokenizer::load(tokenizer_dir);
  data::BuildReport report;
  {
    Progress progress;
    report = data::build_shards(
        files, tokenizer, text::chat_template_for(tokenizer_dir, ""), out, o,
        [&](const data::BuildReport& r) { progress("{} documents, {} tokens", r.documents, r.tokens); });
  }
  if (report.bad > 0)
    fmt::print(stderr, "warning: skipped {} documents that are not valid UTF-8 or JSON\n", report.bad);
  if (report.dropped > 0)
    fmt::print(stderr, "warning: dropped {} conversations whose responses alone are longer than {} tokens\n",
               report.dropped, max_tokens);
  if (json) {
    fmt::print("{}\n", report.json().dump());
    return 0;
  }
  fmt::print("{}: {} documents, {} tokens from {} bytes\n", out, report.documents, report.tokens, report.bytes);
  if (chat)
    fmt::print("{} tokens in the loss mask, {} conversations trimmed, {:.1f} % of their reasoning kept\n",
               report.learned, report.trimmed, 100 * report.kept_reasoning);
  return 0;
}

int info(Words args) {
  std::string prefix;
  int64_t length = 0;
  bool json = false;
  Args a("data info", "describe token shards");
  a.positional("PREFIX", prefix)
      .flag("--pack N", length, "also pack whole documents into sequences of N tokens; 0 skips this")
      .json(json);
  if (!a.parse(args)) return 0;
  const data::IndexedTokens t(prefix);
  int64_t longest = 0;
  for (int64_t d = 0; d < t.documents(); ++d) longest = std::max(longest, t.document_length(d));
  Json j = Json::object();
  j.set("documents", t.documents()), j.set("sequences", t.sequences()), j.set("tokens", t.tokens());
  j.set("bytes_a_token", data::token_type_size(t.type())), j.set("longest", longest);
  j.set("masked", std::filesystem::exists(data::with_suffix(prefix, ".mask.idx")));
  if (std::filesystem::exists(data::with_suffix(prefix, ".json")))
    j.set("built", Json::read(data::with_suffix(prefix, ".json")));
  if (length > 0) {
    const data::PackedSamples s(prefix, length);
    j.set("rows", s.count()), j.set("fill_ratio", s.packing().fill_ratio());
    j.set("most_documents_a_row", s.packing().max_documents());
  }
  fmt::print("{}\n", j.dump(json ? -1 : 2));
  return 0;
}

int64_t parse_count(const std::string& text, const char* what) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != text.npos)
    throw UsageError(fmt::format("quern data: {} '{}': expected a whole number", what, text));
  return std::stoll(text);
}

int show(Words args) {
  std::string prefix, number, tokenizer_dir;
  Args a("data show", "print one document of token shards");
  a.positional("PREFIX", prefix)
      .positional("N", number)
      .flag("--tokenizer DIR", tokenizer_dir,
            "print text instead of ids, with tokens outside the loss mask in ⟦ ⟧; folder with tokenizer.json");
  if (!a.parse(args)) return 0;
  const data::IndexedTokens t(prefix);
  const int64_t d = parse_count(number, "document");
  if (d >= t.documents()) fail("{}: no document {}: expected 0 to {}", prefix, d, t.documents() - 1);
  std::vector<int32_t> ids(static_cast<size_t>(t.document_length(d))), learned(ids.size(), 1);
  t.read(t.document_begin(d), ids);
  if (std::filesystem::exists(data::with_suffix(prefix, ".mask.idx")))
    data::IndexedTokens(data::with_suffix(prefix, ".mask")).read(t.document_begin(d), learned);
  if (tokenizer_dir.empty()) {
    fmt::print("{}\n", fmt::join(ids, ","));
    return 0;
  }
  const text::Tokenizer tokenizer = text::Tokenizer::load(tokenizer_dir);
  std::string text;
  for (size_t i = 0; i < ids.size();) {
    size_t end = i;
    while (end < ids.size() && learned[end] == learned[i]) ++end;
    const std::string part = tokenizer.decode(std::span(ids).subspan(i, end - i));
    text += learned[i] ? part : "⟦" + part + "⟧";
    i = end;
  }
  fmt::print("{}\n", text);
  return 0;
}

int curriculum(Words args) {
  std::string out, form = "chat";
  ProblemFlags which{.split = "train"};
  int64_t count = 1000;
  reason::AttemptOptions attempts;
  Args a("data curriculum", "generate synthetic reasoning problems with worked solutions");
  a.flag("--out FILE", out, "output file of JSON lines; - is stdout")
      .flag("--count N", count, "number of problems")
      .settings(which)
      .flag(
          "--form NAME", form,
          "output form: chat (JSON lines with messages), text (JSON lines with text), or aggregate (chats that show "
          "several solution attempts, some of them wrong)")
      .flag("--attempts N", attempts.count, "aggregate: number of attempts per chat")
      .flag("--tail BYTES", attempts.tail, "aggregate: bytes shown of the end of each attempt")
      .flag("--accuracy P", attempts.sound, "aggregate: probability that an attempt is right")
      .alias("--sound")
      .flag("--cut-short P", attempts.cut_short,
            "probability that the worked solution of a search problem stops early and reports the best found so far")
      .note(fmt::format("Kinds: {}.", fmt::join(gym::problem_kinds(), ", ")));
  if (!a.parse(args)) return 0;
  if (out.empty()) throw UsageError("quern data curriculum: --out is missing: expected a file, or - for stdout");
  if (count < 1) throw UsageError(fmt::format("quern data curriculum: --count {}: expected 1 or more", count));
  if (which.split != "train" && which.split != "heldout")
    throw UsageError(fmt::format("quern data curriculum: --split '{}': expected train or heldout", which.split));
  if (form != "chat" && form != "text" && form != "aggregate")
    throw UsageError(fmt::format("quern data curriculum: --form '{}': expected chat, text or aggregate", form));
  gym::ProblemOptions o{.split = which.split == "train" ? data::Split::train : data::Split::held_out,
                        .seed = static_cast<uint64_t>(which.seed),
                        .kinds = which.kinds};
  gym::read_levels(which.level, o);
  gym::check(o), reason::check(attempts);
  attempts.seed = o.seed;
  LineFile file(out);
  {
    Progress progress;
    for (int64_t i = 0; i < count; ++i) {
      gym::Problem p = gym::curriculum_problem(o, static_cast<uint64_t>(i));
      if (form != "aggregate" && attempts.cut_short > 0) {
        Rng r(mix64(o.seed) ^ 0xc5047u, static_cast<uint64_t>(i));
        p = gym::worked_again(p, r, {}, attempts.cut_short);
      }
      if (form == "chat") {
        file.write(gym::chat_line(p));
      } else if (form == "aggregate") {
        file.write(reason::aggregation_line(p, attempts, static_cast<uint64_t>(i)));
      } else {
        Json j = Json::object();
        j.set("text", gym::plain_form(p)), j.set("kind", p.kind), j.set("level", p.level), j.set("answer", p.answer);
        file.write(j.dump() + "\n");
      }
      progress("{} of {} problems", i + 1, count);
    }
  }
  file.commit();
  if (!file.is_stdout()) fmt::print("{}: {} problems\n", out, count);
  return 0;
}

constexpr MenuItem kItems[] = {
    {"build", "IN… --tokenizer DIR --out PREFIX", "tokenize texts or chats into token shards", build},
    {"pairs", "IN… --tokenizer DIR --out PREFIX", "tokenize pairs of answers for learning from preferences",
     data_pairs},
    {"info", "PREFIX", "describe token shards", info},
    {"show", "PREFIX N", "print one document of token shards", show},
    {"curriculum", "--out FILE.jsonl --count N", "generate synthetic reasoning problems with worked solutions",
     curriculum},
    {"attempts", "DIR --out FILE.jsonl", "build training chats from solutions sampled from a model", data_attempts},
};

}  // namespace

int cmd_data(Words args) {
  return choose("data", "build and inspect token shards, generate synthetic problems", kItems, args);
}

}  // namespace quern::cli
