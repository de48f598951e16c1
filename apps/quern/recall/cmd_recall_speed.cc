// quern recall speed: indexing and query speed on this machine (one document per line, one query per line), and the
// BM25 results, for comparison with other programs (bench/peers/recall.py).
#include <algorithm>
#include <ctime>
#include <span>

#include "apps/quern/cli/args.h"
#include "apps/quern/recall/cmd_recall.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/stopwatch.h"
#include "quern/base/threads.h"
#include "quern/recall/bm25/bm25.h"
#include "quern/recall/mixpr/mixpr.h"

namespace quern::cli {
namespace {

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Json times_json(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  double sum = 0;
  for (const double x : ms) sum += x;
  Json j = Json::object();
  const auto at = [&](double q) {
    return ms.empty() ? 0.0 : ms[std::min(ms.size() - 1, static_cast<size_t>(q * static_cast<double>(ms.size())))];
  };
  j.set("median_ms", at(0.5)), j.set("p99_ms", at(0.99));
  j.set("per_second", sum > 0 ? 1000.0 * static_cast<double>(ms.size()) / sum : 0.0);
  return j;
}

struct SpeedFlags {
  std::string documents, queries;
  int64_t k = 10, rounds = 3, show = 50;
  double k1 = 1.5, b = 0.75;
  bool stem = false, stop = false, no_graph = false;
  bool parse(Words args);  // false: it was a call for help
  recall::TokenOptions words() const { return {.stem = stem, .drop_stopwords = stop}; }
};

bool SpeedFlags::parse(Words args) {
  Args a("recall speed", "benchmark indexing and search, as JSON");
  a.positional("DOCUMENTS", documents)
      .positional("QUERIES", queries)
      .flag("-k N", k, "number of results per query")
      .flag("--rounds N", rounds, "number of indexing runs; the fastest counts")
      .flag("--show N", show, "number of queries whose BM25 results and scores are printed")
      .flag("--k1 X", k1, "BM25 parameter k1")
      .flag("-b X", b, "BM25 parameter b")
      .flag("--stem", stem, "stem words (Porter)")
      .flag("--stop", stop, "remove stop words")
      .flag("--no-graph", no_graph, "benchmark BM25 only, without the similarity graph")
      .note("DOCUMENTS and QUERIES are text files with one document or query per line.");
  if (!a.parse(args)) return false;
  if (k < 1 || rounds < 1) throw UsageError("quern recall speed: expected -k and --rounds of at least 1");
  return true;
}

struct SpeedTexts {
  std::string_view text;  // of the documents
  std::vector<std::string_view> documents, queries;
};

// The appendable index: one thread, document by document.
std::unique_ptr<recall::Bm25Index> time_bm25_index(const SpeedFlags& f, const SpeedTexts& t, Json& out) {
  double best = 0;
  std::unique_ptr<recall::Bm25Index> index;
  for (int64_t r = 0; r < f.rounds; ++r) {
    const Stopwatch watch;
    index = std::make_unique<recall::Bm25Index>(f.words(), recall::Bm25Options{.k1 = f.k1, .b = f.b});
    for (size_t d = 0; d < t.documents.size(); ++d) index->add(static_cast<int64_t>(d), t.documents[d]);
    const double s = watch.seconds();
    if (r == 0 || s < best) best = s;
  }
  out.set("words", static_cast<int64_t>(index->words()));
  out.set("bm25_index_s", best);
  out.set("bm25_words_per_s", static_cast<double>(index->words()) / best);
  out.set("bm25_bytes", static_cast<int64_t>(index->bytes()));
  return index;
}

// search(query) of every query, twice: the first round warms.
template <class Search>
Json time_queries(std::span<const std::string_view> queries, const Search& search) {
  std::vector<double> ms;
  for (int round = 0; round < 2; ++round) {
    ms.clear();
    for (const std::string_view q : queries) {
      const Stopwatch watch;
      const auto found = search(q);
      ms.push_back(1e3 * watch.seconds());
    }
  }
  return times_json(std::move(ms));
}

Json hits_json(const std::vector<recall::ScoredDocument>& hits) {
  Json list = Json::array();
  for (const recall::ScoredDocument& h : hits) {
    Json pair = Json::array();
    pair.push(h.id), pair.push(double{h.score});
    list.push(std::move(pair));
  }
  return list;
}

// One round more of documents, at full size.
Json time_appends(recall::Bm25Index& index, std::span<const std::string_view> documents) {
  std::vector<double> ms;
  for (size_t i = 0; i < std::min<size_t>(documents.size(), 2000); ++i) {
    const Stopwatch watch;
    index.add(static_cast<int64_t>(documents.size() + i), documents[i]);
    ms.push_back(1e3 * watch.seconds());
  }
  return times_json(std::move(ms));
}

// Returns what the first queries found.
Json time_bm25(const SpeedFlags& f, const SpeedTexts& t, Json& out) {
  const std::unique_ptr<recall::Bm25Index> index = time_bm25_index(f, t, out);
  const auto search = [&](std::string_view q) { return index->top(q, static_cast<size_t>(f.k)); };
  out.set("bm25_query", time_queries(t.queries, search));
  Json results = Json::array();
  for (size_t q = 0; q < t.queries.size() && static_cast<int64_t>(q) < f.show; ++q)
    results.push(hits_json(search(t.queries[q])));
  out.set("append", time_appends(*index, t.documents));
  return results;
}

std::unique_ptr<recall::RecallIndex> time_graph_index(const SpeedFlags& f, const SpeedTexts& t, Json& out) {
  std::vector<recall::Chunk> chunks;
  for (const std::string_view d : t.documents) {
    const auto begin = static_cast<uint64_t>(d.data() - t.text.data());
    chunks.push_back({begin, begin + d.size()});
  }
  recall::RecallOptions options;
  options.words = f.words();
  double fastest = 0, processor = 0;
  std::unique_ptr<recall::RecallIndex> graph;
  for (int64_t r = 0; r < f.rounds; ++r) {
    graph.reset();
    const Stopwatch watch;
    const double busy = processor_seconds();
    graph = std::make_unique<recall::RecallIndex>(recall::RecallIndex::build(t.text, chunks, options));
    const double s = watch.seconds();
    const double used = processor_seconds() - busy;
    if (fastest == 0 || s < fastest) fastest = s;
    if (processor == 0 || used < processor) processor = used;
  }
  const recall::RecallStats& s = graph->stats();
  out.set("graph_index_s", fastest);
  out.set("graph_index_processor_s", processor);  // of all threads, without what other processes took
  out.set("graph_words_per_s_per_thread", static_cast<double>(s.words) / fastest / thread_count());
  out.set("edges", static_cast<int64_t>(s.edges)), out.set("threshold", double{s.threshold});
  out.set("products", s.gram.products), out.set("rows_cut", s.gram.rows_cut),
      out.set("terms_passed_over", s.gram.terms_skipped);
  out.set("count_s", s.count_s), out.set("postings_s", s.postings_s), out.set("graph_s", s.graph_s);
  return graph;
}

void time_graph(const SpeedFlags& f, const SpeedTexts& t, Json& out) {
  const std::unique_ptr<recall::RecallIndex> graph = time_graph_index(f, t, out);
  for (const double epsilon : {1e-5, 1e-6}) {
    recall::RecallQuery query;
    query.k = static_cast<size_t>(f.k), query.epsilon = epsilon, query.mode = recall::RecallMode::local;
    out.set(epsilon == 1e-5 ? "mixpr_query_1e-5" : "mixpr_query_1e-6",
            time_queries(t.queries, [&](std::string_view q) { return graph->mixpr(q, query); }));
  }
}

}  // namespace

int recall_speed(Words args) {
  SpeedFlags flags;
  if (!flags.parse(args)) return 0;
  const std::string text = read_file(flags.documents), queries = read_file(flags.queries);
  const SpeedTexts texts{text, lines_of(text), lines_of(queries)};
  Json out = Json::object();
  out.set("documents", static_cast<int64_t>(texts.documents.size()));
  out.set("bytes", static_cast<int64_t>(text.size()));
  out.set("threads", int64_t{thread_count()});
  Json results = time_bm25(flags, texts, out);
  if (!flags.no_graph) time_graph(flags, texts, out);
  out.set("results", std::move(results));
  fmt::print("{}\n", out.dump());
  return 0;
}

}  // namespace quern::cli
