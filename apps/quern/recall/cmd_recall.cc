// quern recall index | query | pack | stats | eval: long texts searched by words and by walks over the graph of
// similar chunks.
#include <chrono>
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/menu.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/recall/cmd_recall.h"
#include "quern/base/mmap.h"
#include "quern/recall/mixpr/tasks.h"
#include "quern/recall/store/store.h"

namespace quern {
namespace {

std::string need(const std::string& value, const char* what) {
  if (value.empty()) throw UsageError(fmt::format("quern recall: {} is missing", what));
  return value;
}

int recall_index(Words args) {
  std::vector<std::string> paths;
  std::string db, unit = "auto", field = "text";
  int64_t max_words = 64;
  double threshold = 0;
  bool plain = false, no_graph = false, merge = false, json = false;
  Args a("recall index", "bring an index up to date with files");
  a.rest("PATH", paths)
      .flag("--db", db, "folder of the index; made when it is not there")
      .flag("--unit", unit, "chunks: sentence, line, words or code; auto: code for programs, else sentence")
      .flag("--max-words", max_words, "longer chunks are cut")
      .flag("--field", field, "of a JSON line: its text")
      .flag("--plain-words", plain, "a new index keeps function words and endings")
      .flag("--no-graph", no_graph, "a new index knows BM25 alone")
      .flag("--threshold", threshold, "a new index: likeness that makes an edge; 0: chosen from the text")
      .flag("--merge", merge, "put everything into one segment")
      .flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  need(db, "--db");
  if (paths.empty() && !merge) throw UsageError("quern recall index: name at least one file or folder");
  if (!(threshold >= 0 && threshold <= 1)) throw UsageError("quern recall index: --threshold takes 0 to 1");
  RecallOptions o;
  if (plain) o.words = {};
  o.graph = !no_graph, o.threshold = static_cast<float>(threshold);
  SourceOptions s;
  if (unit != "auto") s.unit = chunk_unit(unit);
  s.max_words = max_words, s.field = field;
  RecallStore store = RecallStore::open_or_create(db, o);
  const IndexReport r = store.index(paths, s, merge);
  for (const std::string& why : r.sources.skipped) fmt::print(stderr, "skipped {}\n", why);
  if (r.sources.ill_formed > 0)
    fmt::print(stderr, "warning: {} texts hold bytes that are no UTF-8; words are read around them\n",
               r.sources.ill_formed);
  if (json) {
    fmt::print("{}\n", r.json().dump());
    return 0;
  }
  fmt::print("{} files: {} new, {} changed, {} gone, {} as they were\n", r.files, r.added, r.changed, r.gone,
             r.unchanged);
  fmt::print("{}: {} documents, {} chunks, {} words in {} segments ({:.2f} s)\n", db, r.documents, r.chunks, r.words,
             r.segments, r.seconds);
  return 0;
}

struct Ask {
  std::string db, question, mode = "auto", method = "mixpr", seed = "query";
  int64_t k = 10;
  double alpha = -1;
  bool json = false;
  void add_to(Args& a, int64_t default_k) {
    k = default_k;
    a.positional("QUESTION", question)
        .flag("--db", db, "folder of the index")
        .flag("-k", k, "how many chunks")
        .flag("--method", method, "mixpr or bm25")
        .flag("--mode", mode, "of mixpr: auto, local, global or mixed")
        .flag("--alpha", alpha, "of mixpr: the restart probability itself, 0 to 1; overrides --mode")
        .flag("--seed", seed, "of mixpr: query (the question is a node) or bm25 (its best chunks are)");
  }
  RecallAnswer answer(const RecallStore& store, bool score_order) const {
    if (k < 1) throw UsageError("quern recall: -k takes 1 or more");
    if (method == "bm25") return store.bm25(question, static_cast<size_t>(k), score_order);
    if (method != "mixpr")
      throw UsageError(fmt::format("quern recall: --method '{}', expected mixpr or bm25", method));
    if (seed != "query" && seed != "bm25")
      throw UsageError(fmt::format("quern recall: --seed '{}', expected query or bm25", seed));
    if (alpha > 1 || (alpha < 0 && alpha != -1)) throw UsageError("quern recall: --alpha takes 0 to 1");
    RecallQuery q;
    q.k = static_cast<size_t>(k), q.score_order = score_order;
    q.seed = seed == "bm25" ? SeedKind::bm25 : SeedKind::query_node;
    q.mode = alpha >= 0 ? RecallMode::restart : recall_mode(mode);
    q.alpha = alpha;
    return store.mixpr(question, q);
  }
};

void warn(const RecallAnswer& r) {
  if (r.fallback == "bm25") fmt::print(stderr, "note: no chunk is like the question; BM25 answers\n");
  if (r.fallback == "recent") fmt::print(stderr, "note: no word of the question is in the index; the last chunks\n");
}

int recall_query(Words args) {
  Ask ask;
  bool document_order = false, json = false;
  Args a("recall query", "the chunks a question needs, best first");
  ask.add_to(a, 10);
  a.flag("--document-order", document_order, "in the order of the documents").flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  const RecallStore store(need(ask.db, "--db"));
  const auto start = std::chrono::steady_clock::now();
  const RecallAnswer r = ask.answer(store, !document_order);
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (json) {
    Json j = r.json();
    j.set("method", ask.method), j.set("ms", ms);
    fmt::print("{}\n", j.dump());
    return 0;
  }
  warn(r);
  for (const RecallHit& h : r.hits)
    fmt::print("{:10.4g}  {}{}:{}-{}{}\n            {}\n", h.score, h.path,
               h.line > 0 ? fmt::format(":{}", h.line) : "", h.begin, h.end,
               h.copies > 1 ? fmt::format(" ({} copies)", h.copies) : "", h.text);
  return 0;
}

int recall_pack(Words args) {
  Ask ask;
  Args a("recall pack", "the chunks a question needs, in document order, as a prompt that ends with it");
  ask.add_to(a, 100);
  if (!a.parse(args)) return 0;
  const RecallStore store(need(ask.db, "--db"));
  const RecallAnswer r = ask.answer(store, false);
  warn(r);
  fmt::print("{}", pack_prompt(r, ask.question));
  return 0;
}

int recall_stats(Words args) {
  std::string db;
  bool json = false;
  Args a("recall stats", "what an index holds; every byte of it is checked");
  a.flag("--db", db, "folder of the index").flag("--json", json, "on one line");
  if (!a.parse(args)) return 0;
  fmt::print("{}\n", RecallStore(need(db, "--db")).stats().dump(json ? -1 : 2));
  return 0;
}

int recall_eval(Words args) {
  std::string task = "all", noise;
  int64_t tokens = 131072, hops = 4, questions = 20, seed = 1, chains = 4;
  bool json = false;
  Args a("recall eval", "how often everything an answer needs is among the chunks retrieved, in texts made for it");
  a.flag("--task", task, "hash-hop, variables, needles, facts, or all")
      .flag("--tokens", tokens, "length of a text, at 4 bytes a token (hash-hop: 3)")
      .flag("--hops", hops, "of a chain")
      .flag("--chains", chains, "of variables")
      .flag("--questions", questions, "how many; facts and variables make a text of their own for each or few")
      .flag("--noise", noise, "facts: file or folder with the text around them; else it is made up")
      .flag("--seed", seed, "another seed, other texts")
      .flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  if (tokens < 1000 || questions < 1 || hops < 1 || chains < 1)
    throw UsageError("quern recall eval: --tokens takes 1000 or more; --questions, --hops and --chains 1 or more");
  std::vector<std::string> filler;
  if (!noise.empty()) {
    for (const auto& f : source_files({noise})) {
      const std::string text = read_file(f);
      for (const Chunk& c : chunk_text(text)) filler.push_back(text.substr(c.begin, c.end - c.begin));
    }
    if (filler.empty()) fail("{} holds no sentence", noise);
  }
  Json out = Json::object();
  const auto report = [&](const std::string& name, const RecallScore& s) {
    out.set(name, s.json());
    if (!json)
      fmt::print("{:<34} mixpr {:5.1f} % [{:.1f}, {:.1f}]  bm25 {:5.1f} %  n {}  index {:.3f} s  query {:.3f} ms\n",
                 name, 100.0 * static_cast<double>(s.mixpr.hits) / static_cast<double>(s.mixpr.n),
                 100 * s.mixpr.low(), 100 * s.mixpr.high(),
                 100.0 * static_cast<double>(s.bm25.hits) / static_cast<double>(s.bm25.n), s.mixpr.n, s.index_s,
                 s.mixpr_ms);
  };
  bool any = false;
  const auto wanted = [&](const char* name) {
    const bool yes = task == "all" || task == name;
    any = any || yes;
    return yes;
  };
  const auto first = static_cast<uint64_t>(seed);
  const auto repeated = [&](int64_t texts, auto&& make) {
    RecallScore s = score_task(make(first));
    for (int64_t i = 1; i < texts; ++i) s.add(score_task(make(first + static_cast<uint64_t>(i))));
    return s;
  };
  if (wanted("hash-hop"))
    report("hash-hop", score_task(hash_hop_task(3 * tokens, static_cast<int>(hops), questions, first)));
  if (wanted("variables"))
    report("variables", repeated((questions + chains - 1) / chains, [&](uint64_t s) {
             return variables_task(4 * tokens, static_cast<int>(chains), static_cast<int>(hops), chains, s);
           }));
  if (wanted("needles")) report("needles", score_task(needles_task(4 * tokens, questions, first)));
  if (wanted("facts"))
    report("facts", repeated(questions, [&](uint64_t s) { return facts_task(4 * tokens, filler, s); }));
  if (!any)
    throw UsageError(
        fmt::format("quern recall eval: --task '{}', expected hash-hop, variables, needles, facts or all", task));
  if (json) fmt::print("{}\n", out.dump());
  return 0;
}

constexpr MenuItem kItems[] = {
    {"index", "PATH… --db DIR", "bring an index up to date with files", recall_index},
    {"query", "QUESTION --db DIR", "the chunks a question needs, best first", recall_query},
    {"pack", "QUESTION --db DIR", "the same in document order, as a prompt", recall_pack},
    {"stats", "--db DIR", "what an index holds", recall_stats},
    {"eval", "", "how often everything needed is found, in texts made for it", recall_eval},
    {"plan", "", "a way through a grid world by the same kernel", recall_plan},
    {"speed", "DOCUMENTS QUERIES", "a line a document, a line a query: how fast", recall_speed},
};

}  // namespace

int cmd_recall(Words args) {
  return choose("recall", "long texts, searched by words and by walks over what is alike", kItems, args);
}

}  // namespace quern
