// quern recall index | delete | query | pack | stats | eval: search in long texts by BM25 and by personalized PageRank on the
// similarity graph of their chunks.
#include <algorithm>
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/menu.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/cli/wrong_usage.h"
#include "apps/quern/encoders/encoder_flags.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/recall/cmd_recall.h"
#include "quern/base/mmap.h"
#include "quern/base/stopwatch.h"
#include "quern/encoders/words/shipped_words.h"
#include "quern/recall/mixpr/tasks.h"
#include "quern/recall/store/store.h"

namespace quern::cli {
namespace {

std::string need(const std::string& value, const char* what) {
  if (value.empty()) throw UsageError(fmt::format("quern recall: {} is missing", what));
  return value;
}

struct IndexFolder {
  std::string db;
  template <class V>
  void visit(V& v) {
    v("db", db, "folder of the index; recall index creates it if missing", {.value = "DIR"});
  }
};

// Hybrid retrieval where an encoder is named; a note where the index has vectors and none is.
void use_encoder(recall::RecallStore& store, const EncoderFolder& f) {
  if (f.encoder.empty()) {
    if (store.made_by().width > 0 && !store.has_encoder())
      fmt::print(stderr, "note: this index has vectors; add --encoder {} to use them\n", store.made_by().name);
    return;
  }
  if (f.encoder == recall::kNoEncoder) return store.use_words_alone();
  const auto format = checked_usage("recall", [&] { return f.weights.parsed(); });
  if (f.encoder == encoders::kShippedWords) return store.use_encoder(recall::shipped_chunk_encoder());
  store.use_encoder(recall::load_chunk_encoder(model_folder(f.encoder), format),
                    [progress = std::make_shared<Progress>()](int64_t done, int64_t all) {
                      (*progress)("{} of {} chunks encoded", done, all);
                    });
}

void tell_skipped(const recall::SourceReport& r) {
  for (const std::string& why : r.skipped) fmt::print(stderr, "skipped {}\n", why);
  int64_t unread = 0;
  std::vector<std::pair<int64_t, std::string>> kinds;
  for (const auto& [kind, n] : r.unread_kinds)
    kinds.emplace_back(-n, kind.empty() ? "no extension" : kind), unread += n;
  std::sort(kinds.begin(), kinds.end());
  std::string list;
  for (size_t i = 0; i < std::min<size_t>(kinds.size(), 8); ++i)
    list += fmt::format("{}{} {}", i > 0 ? ", " : "", kinds[i].second, -kinds[i].first);
  if (unread > 0)
    fmt::print(stderr, "skipped {} files of kinds that are not read: {}{}\n", unread, list,
               kinds.size() > 8 ? ", …" : "");
  if (r.without_text > 0) fmt::print(stderr, "note: {} files hold no text to search\n", r.without_text);
  if (r.ill_formed > 0)
    fmt::print(stderr, "warning: {} texts have bytes that are not valid UTF-8; the bytes are skipped\n",
               r.ill_formed);
}

int recall_index(Words args) {
  std::vector<std::string> paths;
  IndexFolder at;
  std::string unit = "auto", language(recall::kEnglish);
  recall::SourceOptions s;
  double threshold = recall::RecallOptions().threshold;
  bool plain = false, no_graph = false, merge = false, json = false;
  EncoderFolder encoder;
  Args a("recall index", "create or update a search index");
  a.rest("PATH", paths)
      .settings(at)
      .flag("--unit UNIT", unit,
            "chunk unit: sentence, line, words, code, or auto (passages within sections; code for programs)")
      .flag("--max-words N", s.max_words,
            "maximum words per chunk; longer chunks are split; 0: 128 for auto, else 64")
      .flag("--min-words N", s.min_words,
            "auto: chunks of fewer words are joined with neighbors of the same section; 0 joins none")
      .flag("--field NAME", s.field, "JSON lines: field that holds the text of a document")
      .flag("--plain-words", plain, "new index: do not stem words and keep stop words")
      .flag("--language NAME", language, "new index: language of the stems, such as english, german or french")
      .flag("--no-graph", no_graph, "new index: build no similarity graph, only BM25")
      .flag("--threshold X", threshold,
            "new index: minimum similarity of an edge, 0 to 1; 0 chooses it from the text")
      .settings(encoder)
      .flag("--merge", merge, "merge all segments of the index into one")
      .json(json);
  if (!a.parse(args)) return 0;
  need(at.db, "--db");
  if (paths.empty() && !merge)
    throw UsageError("quern recall index: PATH is missing: name at least one file or folder");
  if (!(threshold >= 0 && threshold <= 1)) throw UsageError("quern recall index: --threshold: expected 0 to 1");
  if (const std::vector<std::string> known = recall::stem_languages();
      std::find(known.begin(), known.end(), language) == known.end())
    throw UsageError(
        fmt::format("quern recall index: --language '{}', expected one of {}", language, fmt::join(known, ", ")));
  recall::RecallOptions o;
  if (plain) o.words = {};
  o.words.language = language;
  o.graph = !no_graph, o.threshold = static_cast<float>(threshold);
  if (unit != "auto") s.unit = recall::chunk_unit(unit);
  recall::RecallStore store = recall::RecallStore::open_or_create(at.db, o);
  use_encoder(store, encoder);
  const recall::IndexReport r =
      store.index(paths, s, merge ? recall::SegmentMerge::all : recall::SegmentMerge::small);
  tell_skipped(r.sources);
  if (json) {
    fmt::print("{}\n", r.json().dump());
    return 0;
  }
  fmt::print("{} files: {} new, {} changed, {} removed, {} unchanged\n", r.files, r.added, r.changed, r.gone,
             r.unchanged);
  fmt::print("{}: {} documents, {} chunks, {} words in {} segments ({:.2f} s)\n", at.db, r.documents, r.chunks,
             r.words, r.segments, r.seconds);
  return 0;
}

int recall_delete(Words args) {
  std::vector<std::string> names;
  IndexFolder at;
  bool json = false;
  Args a("recall delete", "delete files from an index; the files themselves stay");
  a.rest("PATH", names)
      .settings(at)
      .json(json)
      .note(
          "PATH is a file or folder as it was given to recall index. To index a folder again adds its files again.");
  if (!a.parse(args)) return 0;
  need(at.db, "--db");
  if (names.empty()) throw UsageError("quern recall delete: PATH is missing: name at least one file or folder");
  recall::RecallStore store(at.db);
  const int64_t n = store.remove(names);
  if (json) {
    Json j = Json::object();
    j.set("deleted", n);
    fmt::print("{}\n", j.dump());
  } else {
    fmt::print("{}: {} files deleted\n", at.db, n);
  }
  return 0;
}

struct Ask {
  IndexFolder at;
  EncoderFolder encoder;
  std::string question, mode, method, seed;
  int64_t k = 10;
  double alpha = -1;
  bool json = false;
  void add_to(Args& a, int64_t default_k) {
    k = default_k;
    a.positional("QUESTION", question)
        .settings(at)
        .settings(encoder)
        .flag("-k N", k, "number of chunks to return")
        .flag("--method NAME", method,
              "ranking: fused (BM25 with headings, phrases and the walk), bm25, or mixpr (random walk with restart, "
              "i.e. "
              "personalized PageRank) [fused; mixpr with --mode, --alpha or --restart]")
        .flag("--mode NAME", mode,
              "mixpr: local (specific questions), global (summaries), mixed, or auto (chosen by the words of the "
              "query) [auto]")
        .flag("--alpha P", alpha, "mixpr: restart probability, 0 to 1, instead of --mode; -1 uses --mode")
        .flag("--restart AT", seed,
              "mixpr: the random walk restarts at the query, or at the best BM25 chunks (bm25) [query]")
        .alias("--seed");
  }
  std::string chosen_method() const {
    if (!method.empty()) return method;
    return mode.empty() && alpha == -1 && seed.empty() ? "fused" : "mixpr";
  }
  recall::RecallAnswer answer(const recall::RecallStore& store, recall::HitOrder order) const {
    if (k < 1) throw UsageError(fmt::format("quern recall: -k {}: expected 1 or more", k));
    const std::string ranking = chosen_method();
    if (ranking == "fused") return store.fused(question, static_cast<size_t>(k), order);
    if (ranking == "bm25") return store.bm25(question, static_cast<size_t>(k), order);
    if (ranking != "mixpr")
      throw UsageError(fmt::format("quern recall: --method '{}': expected fused, bm25 or mixpr", method));
    if (!seed.empty() && seed != "query" && seed != "bm25")
      throw UsageError(fmt::format("quern recall: --restart '{}': expected query or bm25", seed));
    if (alpha > 1 || (alpha < 0 && alpha != -1))
      throw UsageError(fmt::format("quern recall: --alpha {}: expected 0 to 1", alpha));
    recall::RecallQuery q;
    q.k = static_cast<size_t>(k), q.score_order = order == recall::HitOrder::score;
    q.seed = seed == "bm25" ? recall::SeedKind::bm25 : recall::SeedKind::query_node;
    q.mode = alpha >= 0 ? recall::RecallMode::restart : recall::recall_mode(mode.empty() ? "auto" : mode);
    q.alpha = alpha;
    return store.mixpr(question, q);
  }
};

void warn(const recall::RecallAnswer& r) {
  if (r.fallback == "bm25") fmt::print(stderr, "note: no chunk is similar to the question; using BM25 instead\n");
  if (r.fallback == "none") fmt::print(stderr, "note: nothing in the index matches the question\n");
}

int recall_query(Words args) {
  Ask ask;
  bool document_order = false, json = false;
  Args a("recall query", "search: print the chunks that a question needs, best first");
  ask.add_to(a, 10);
  a.flag("--document-order", document_order, "sort the chunks by position in the documents, not by score").json(json);
  if (!a.parse(args)) return 0;
  recall::RecallStore store(need(ask.at.db, "--db"));
  if (ask.chosen_method() == "fused") use_encoder(store, ask.encoder);
  const Stopwatch watch;
  const recall::RecallAnswer r =
      ask.answer(store, document_order ? recall::HitOrder::document : recall::HitOrder::score);
  const double ms = 1e3 * watch.seconds();
  if (json) {
    Json j = r.json();
    j.set("method", ask.chosen_method()), j.set("ms", ms);
    fmt::print("{}\n", j.dump());
    return 0;
  }
  warn(r);
  for (const recall::RecallHit& h : r.hits)
    fmt::print("{:10.4g}  {}{}:{}-{}{}{}{}\n            {}\n", h.score, h.path,
               h.line > 0 ? fmt::format(":{}", h.line) : "", h.begin, h.end,
               h.copies > 1 ? fmt::format(" ({} copies)", h.copies) : "", h.heading.empty() ? "" : "  ", h.heading,
               h.text);
  return 0;
}

int recall_pack(Words args) {
  Ask ask;
  Args a("recall pack", "build a prompt (RAG): the chunks in document order, then the question");
  ask.add_to(a, 20);
  if (!a.parse(args)) return 0;
  recall::RecallStore store(need(ask.at.db, "--db"));
  if (ask.chosen_method() == "fused") use_encoder(store, ask.encoder);
  const recall::RecallAnswer r = ask.answer(store, recall::HitOrder::document);
  warn(r);
  fmt::print("{}", recall::pack_prompt(r, ask.question));
  return 0;
}

int recall_stats(Words args) {
  IndexFolder at;
  bool json = false;
  Args a("recall stats", "describe an index and verify all of its bytes");
  a.settings(at).json(json, "the JSON object on one line");
  if (!a.parse(args)) return 0;
  fmt::print("{}\n", recall::RecallStore(need(at.db, "--db")).stats().dump(json ? -1 : 2));
  return 0;
}

int recall_eval(Words args) {
  std::string task = "all", noise, set;
  IndexFolder at;
  EncoderFolder encoder;
  int64_t tokens = 131072, hops = 4, questions = 20, seed = 1, chains = 4;
  bool json = false;
  Args a("recall eval", "recall on synthetic texts: how often all needed chunks are retrieved");
  a.flag("--task NAME", task, "task: hash-hop, variables, needles, facts, or all")
      .flag("--tokens N", tokens, "text length in tokens of 4 bytes (hash-hop: 3 bytes)")
      .flag("--hops N", hops, "hash-hop, variables: number of hops per chain")
      .flag("--chains N", chains, "variables: number of chains per text")
      .flag("--questions N", questions,
            "number of questions; facts makes a text per question, variables one per --chains")
      .flag("--noise PATH", noise, "facts: file or folder with the filler text [synthetic text]")
      .flag("--seed N", seed, "random seed of the texts")
      .flag("--set FILE", set,
            "instead: questions about the documents of --db, as JSON lines with question, path, section and kind")
      .settings(at)
      .settings(encoder)
      .json(json);
  if (!a.parse(args)) return 0;
  if (!set.empty()) {
    recall::RecallStore store(need(at.db, "--db"));
    recall::RecallStore hybrid = store.reopened();
    store.use_words_alone();
    use_encoder(hybrid, encoder);
    fmt::print("{}\n", recall_questions(store, hybrid.has_encoder() ? &hybrid : nullptr, set).dump(json ? -1 : 2));
    return 0;
  }
  if (tokens < 1000 || questions < 1 || hops < 1 || chains < 1)
    throw UsageError(
        "quern recall eval: expected --tokens of at least 1000, and --questions, --hops and --chains of at least 1");
  std::vector<std::string> filler;
  if (!noise.empty()) {
    for (const auto& f : recall::source_files({noise})) {
      const std::string text = read_file(f);
      for (const recall::Chunk& c : recall::chunk_text(text)) filler.push_back(text.substr(c.begin, c.end - c.begin));
    }
    if (filler.empty()) fail("--noise {}: found no sentence in it", noise);
  }
  Json out = Json::object();
  const auto report = [&](const std::string& name, const recall::RecallScore& s) {
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
    recall::RecallScore s = recall::score_task(make(first));
    for (int64_t i = 1; i < texts; ++i) s.add(recall::score_task(make(first + static_cast<uint64_t>(i))));
    return s;
  };
  if (wanted("hash-hop"))
    report("hash-hop",
           recall::score_task(recall::hash_hop_task(3 * tokens, static_cast<int>(hops), questions, first)));
  if (wanted("variables"))
    report("variables", repeated((questions + chains - 1) / chains, [&](uint64_t s) {
             return recall::variables_task(4 * tokens, static_cast<int>(chains), static_cast<int>(hops), chains, s);
           }));
  if (wanted("needles")) report("needles", recall::score_task(recall::needles_task(4 * tokens, questions, first)));
  if (wanted("facts"))
    report("facts", repeated(questions, [&](uint64_t s) { return recall::facts_task(4 * tokens, filler, s); }));
  if (!any)
    throw UsageError(
        fmt::format("quern recall eval: --task '{}': expected hash-hop, variables, needles, facts or all", task));
  if (json) fmt::print("{}\n", out.dump());
  return 0;
}

constexpr MenuItem kItems[] = {
    {"index", "PATH… --db DIR", "create or update a search index", recall_index},
    {"delete", "PATH… --db DIR", "delete files from an index; the files themselves stay", recall_delete},
    {"query", "QUESTION --db DIR", "search: print the chunks that a question needs, best first", recall_query},
    {"pack", "QUESTION --db DIR", "build a prompt (RAG) from these chunks, in document order", recall_pack},
    {"stats", "--db DIR", "describe an index and verify all of its bytes", recall_stats},
    {"eval", "", "recall on synthetic texts: how often all needed chunks are retrieved", recall_eval},
    {"plan", "", "plan a path through a grid world with the same resolvent", recall_plan},
    {"train-encoder", "FILE… --out DIR", "train the word encoder of hybrid search on pairs of texts", recall_train},
    {"speed", "DOCUMENTS QUERIES", "benchmark indexing and search", recall_speed},
};

}  // namespace

int cmd_recall(Words args) {
  return choose("recall", "search (retrieval for RAG) by BM25 and personalized PageRank on a similarity graph",
                kItems, args);
}

}  // namespace quern::cli
