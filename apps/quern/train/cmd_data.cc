// quern data build | info | show | curriculum | attempts: texts to token shards, what shards hold, and the procedural
// curriculum.
#include <algorithm>
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/line_file.h"
#include "apps/quern/cli/menu.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/train/cmd_data.h"
#include "quern/base/mmap.h"
#include "quern/data/attempts.h"
#include "quern/data/build.h"
#include "quern/data/problems.h"
#include "quern/data/samples.h"

namespace quern {
namespace {

BuildOptions::Split parse_split(const std::string& s) {
  if (s == "file") return BuildOptions::Split::file;
  if (s == "line") return BuildOptions::Split::line;
  if (s == "blank") return BuildOptions::Split::blank;
  throw UsageError(fmt::format("quern data build: --documents '{}', expected file, line or blank", s));
}

int build(Words args) {
  std::vector<std::string> files;
  std::string tokenizer_dir, out, documents = "file";
  std::optional<std::string> field;
  bool chat = false, no_end = false, skip_bad = false, json = false;
  int64_t max_tokens = 0;
  Args a("data build", "texts to token shards");
  a.rest("IN", files)
      .flag("--tokenizer", tokenizer_dir, "folder with tokenizer.json")
      .flag("--out", out, "PREFIX of PREFIX.bin, PREFIX.idx and PREFIX.json")
      .flag("--jsonl-field", field, "inputs are JSON lines with the text in this field (.jsonl files: text)")
      .flag("--chat", chat, "inputs are JSON lines {\"messages\": …}; PREFIX.mask says what is learnt")
      .flag("--max-tokens", max_tokens, "trim longer conversations to this, answers untouched; 0 is any length")
      .flag("--documents", documents, "of a text file: file, line, or blank (runs of lines between blank ones)")
      .flag("--no-end-token", no_end, "put no end token behind documents")
      .flag("--skip-bad", skip_bad, "skip and count what is no UTF-8 or JSON, instead of stopping")
      .flag("--json", json, "the counts as one JSON object");
  if (!a.parse(args)) return 0;
  if (files.empty()) throw UsageError("quern data build: name at least one input file");
  if (tokenizer_dir.empty()) throw UsageError("quern data build: --tokenizer is missing");
  if (out.empty()) throw UsageError("quern data build: --out is missing");
  if (chat && field) throw UsageError("quern data build: --chat and --jsonl-field exclude each other");
  if (max_tokens < 0 || (max_tokens > 0 && !chat))
    throw UsageError("quern data build: --max-tokens takes 0 or more and goes with --chat");
  BuildOptions o;
  o.form = chat ? BuildOptions::Form::chat : field ? BuildOptions::Form::jsonl : BuildOptions::Form::by_name;
  o.split = parse_split(documents);
  o.field = field.value_or("text");
  o.end_token = !no_end, o.skip_bad = skip_bad, o.max_tokens = max_tokens;
  const Tokenizer tokenizer = Tokenizer::load(tokenizer_dir);
  BuildReport report;
  {
    Progress progress;
    report = build_shards(files, tokenizer, chat_template_for(tokenizer_dir, ""), out, o,
                          [&](const BuildReport& r) { progress("{} documents, {} tokens", r.documents, r.tokens); });
  }
  if (report.bad > 0)
    fmt::print(stderr, "warning: {} documents were no UTF-8 or JSON and were skipped\n", report.bad);
  if (report.dropped > 0)
    fmt::print(stderr, "warning: {} conversations were dropped: their answers alone are longer than {} tokens\n",
               report.dropped, max_tokens);
  if (json) {
    fmt::print("{}\n", report.json().dump());
    return 0;
  }
  fmt::print("{}: {} documents, {} tokens from {} bytes\n", out, report.documents, report.tokens, report.bytes);
  if (chat)
    fmt::print("{} tokens learnt, {} conversations trimmed, {:.1f} % of their reasoning kept\n", report.learnt,
               report.trimmed, 100 * report.kept_reasoning);
  return 0;
}

int info(Words args) {
  std::string prefix;
  int64_t length = 0;
  bool json = false;
  Args a("data info", "what token shards hold");
  a.positional("PREFIX", prefix)
      .flag("--pack", length, "also pack whole documents into rows of this many tokens")
      .flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  const IndexedTokens t(prefix);
  int64_t longest = 0;
  for (int64_t d = 0; d < t.documents(); ++d) longest = std::max(longest, t.document_length(d));
  Json j = Json::object();
  j.set("documents", t.documents()), j.set("sequences", t.sequences()), j.set("tokens", t.tokens());
  j.set("bytes_a_token", token_type_size(t.type())), j.set("longest", longest);
  j.set("masked", std::filesystem::exists(with_suffix(prefix, ".mask.idx")));
  if (std::filesystem::exists(with_suffix(prefix, ".json"))) j.set("built", Json::read(with_suffix(prefix, ".json")));
  if (length > 0) {
    const PackedSamples s(prefix, length);
    j.set("rows", s.count()), j.set("fill_ratio", s.packing().fill_ratio());
    j.set("most_documents_a_row", s.packing().most_documents());
  }
  fmt::print("{}\n", j.dump(json ? -1 : 2));
  return 0;
}

int64_t parse_count(const std::string& text, const char* what) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != text.npos)
    throw UsageError(fmt::format("quern data: {} '{}', expected a number", what, text));
  return std::stoll(text);
}

int show(Words args) {
  std::string prefix, number, tokenizer_dir;
  Args a("data show", "one document of token shards");
  a.positional("PREFIX", prefix)
      .positional("N", number)
      .flag("--tokenizer", tokenizer_dir, "print text, what is not learnt in ⟦ ⟧; else ids");
  if (!a.parse(args)) return 0;
  const IndexedTokens t(prefix);
  const int64_t d = parse_count(number, "document");
  if (d >= t.documents()) fail("{} holds documents 0 to {}, not {}", prefix, t.documents() - 1, d);
  std::vector<int32_t> ids(static_cast<size_t>(t.document_length(d))), learnt(ids.size(), 1);
  t.read(t.document_begin(d), ids);
  if (std::filesystem::exists(with_suffix(prefix, ".mask.idx")))
    IndexedTokens(with_suffix(prefix, ".mask")).read(t.document_begin(d), learnt);
  if (tokenizer_dir.empty()) {
    fmt::print("{}\n", fmt::join(ids, ","));
    return 0;
  }
  const Tokenizer tokenizer = Tokenizer::load(tokenizer_dir);
  std::string text;
  for (size_t i = 0; i < ids.size();) {
    size_t end = i;
    while (end < ids.size() && learnt[end] == learnt[i]) ++end;
    const std::string part = tokenizer.decode(std::span(ids).subspan(i, end - i));
    text += learnt[i] ? part : "⟦" + part + "⟧";
    i = end;
  }
  fmt::print("{}\n", text);
  return 0;
}

int curriculum(Words args) {
  std::string out, level = "1-5", split = "train", form = "chat";
  int64_t count = 1000, seed = 0;
  AttemptOptions attempts;
  std::vector<std::string> kinds;
  Args a("data curriculum", "problems with worked steps and checkable answers");
  a.flag("--out", out, "file to write; - is stdout")
      .flag("--count", count, "how many")
      .flag("--level", level, "1 (easy) to 5, or a range like 2-4")
      .flag("--split", split, "train or heldout: they share no problem")
      .flag("--form", form,
            "chat (JSON lines with messages), text (JSON lines with text), or aggregate: a chat whose question "
            "comes with several attempts, some of them wrong")
      .flag("--attempts", attempts.count, "of --form aggregate: how many")
      .flag("--tail", attempts.tail, "of --form aggregate: bytes of each attempt's end")
      .flag("--sound", attempts.sound, "of --form aggregate: chance that an attempt is right")
      .flag("--cut-short", attempts.cut_short,
            "chance that a search stops short of its solution and says what it found")
      .flag("--kind", kinds, "only this kind; may be given again and again")
      .flag("--seed", seed, "another seed, other problems")
      .note(fmt::format("Kinds: {}.", fmt::join(problem_kinds(), ", ")));
  if (!a.parse(args)) return 0;
  if (out.empty()) throw UsageError("quern data curriculum: --out is missing");
  if (count < 1) throw UsageError("quern data curriculum: --count takes 1 or more");
  if (split != "train" && split != "heldout")
    throw UsageError(fmt::format("quern data curriculum: --split '{}', expected train or heldout", split));
  if (form != "chat" && form != "text" && form != "aggregate")
    throw UsageError(fmt::format("quern data curriculum: --form '{}', expected chat, text or aggregate", form));
  ProblemOptions o{.split = split == "train" ? Split::train : Split::held_out,
                   .seed = static_cast<uint64_t>(seed),
                   .kinds = kinds};
  read_levels(level, o);
  check(o), check(attempts);
  attempts.seed = o.seed;
  LineFile file(out);
  {
    Progress progress;
    for (int64_t i = 0; i < count; ++i) {
      Problem p = curriculum_problem(o, static_cast<uint64_t>(i));
      if (form != "aggregate" && attempts.cut_short > 0) {
        Rng r(mix64(o.seed) ^ 0xc5047u, static_cast<uint64_t>(i));
        p = worked_again(p, r, {}, attempts.cut_short);
      }
      if (form == "chat") {
        file.write(chat_line(p));
      } else if (form == "aggregate") {
        file.write(aggregation_line(p, attempts, static_cast<uint64_t>(i)));
      } else {
        Json j = Json::object();
        j.set("text", plain_form(p)), j.set("kind", p.kind), j.set("level", p.level), j.set("answer", p.answer);
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
    {"build", "IN… --tokenizer DIR --out PREFIX", "texts or chats to token shards", build},
    {"info", "PREFIX", "what shards hold", info},
    {"show", "PREFIX N", "one document", show},
    {"curriculum", "--out FILE.jsonl --count N", "problems with worked steps", curriculum},
    {"attempts", "DIR --out FILE.jsonl", "a model's own attempts, to weigh against each other", data_attempts},
};

}  // namespace

int cmd_data(Words args) { return choose("data", "token shards and the curriculum", kItems, args); }

}  // namespace quern
