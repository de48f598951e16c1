// quern recall speed: indexing and query speed on this machine (one document per line, one query per line), and the
// BM25 results, for comparison with other programs (bench/peers/recall.py).
#include <algorithm>
#include <ctime>

#include "apps/quern/cli/args.h"
#include "apps/quern/recall/cmd_recall.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/stopwatch.h"
#include "quern/base/threads.h"
#include "quern/recall/bm25/bm25.h"
#include "quern/recall/mixpr/mixpr.h"

namespace quern {
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

}  // namespace

int recall_speed(Words args) {
  std::string documents, queries;
  int64_t k = 10, rounds = 3, show = 50;
  double k1 = 1.5, b = 0.75;
  bool stem = false, stop = false, no_graph = false;
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
  if (!a.parse(args)) return 0;
  if (k < 1 || rounds < 1) throw UsageError("quern recall speed: expected -k and --rounds of at least 1");
  const std::string text = read_file(documents), asked_text = read_file(queries);
  const auto docs = lines_of(text), asked = lines_of(asked_text);
  const TokenOptions words{.stem = stem, .drop_stopwords = stop};
  Json out = Json::object();
  out.set("documents", static_cast<int64_t>(docs.size())), out.set("bytes", static_cast<int64_t>(text.size()));
  out.set("threads", int64_t{thread_count()});

  // The appendable index: one thread, document by document.
  std::vector<double> build, append;
  std::unique_ptr<Bm25Index> index;
  for (int64_t r = 0; r < rounds; ++r) {
    const Stopwatch watch;
    index = std::make_unique<Bm25Index>(words, Bm25Options{.k1 = k1, .b = b});
    for (size_t d = 0; d < docs.size(); ++d) index->add(static_cast<int64_t>(d), docs[d]);
    build.push_back(1e3 * watch.seconds());
  }
  const double best = *std::min_element(build.begin(), build.end()) / 1000;
  out.set("words", static_cast<int64_t>(index->words()));
  out.set("bm25_index_s", best);
  out.set("bm25_words_per_s", static_cast<double>(index->words()) / best);
  out.set("bm25_bytes", static_cast<int64_t>(index->bytes()));
  std::vector<double> ms;
  Json results = Json::array();
  for (int pass = 0; pass < 2; ++pass) {  // the first warms
    ms.clear();
    for (size_t q = 0; q < asked.size(); ++q) {
      const Stopwatch watch;
      const std::vector<ScoredDocument> hits = index->top(asked[q], static_cast<size_t>(k));
      ms.push_back(1e3 * watch.seconds());
      if (pass == 0 && static_cast<int64_t>(q) < show) {
        Json one = Json::array();
        for (const ScoredDocument& h : hits) {
          Json pair = Json::array();
          pair.push(h.id), pair.push(double{h.score});
          one.push(std::move(pair));
        }
        results.push(std::move(one));
      }
    }
  }
  out.set("bm25_query", times_json(ms));
  for (size_t i = 0; i < std::min<size_t>(docs.size(), 2000); ++i) {  // one turn more, at full size
    const Stopwatch watch;
    index->add(static_cast<int64_t>(docs.size() + i), docs[i]);
    append.push_back(1e3 * watch.seconds());
  }
  out.set("append", times_json(append));
  index.reset();

  if (!no_graph) {
    std::vector<Chunk> chunks;
    for (const std::string_view d : docs) {
      const auto begin = static_cast<uint64_t>(d.data() - text.data());
      chunks.push_back({begin, begin + d.size()});
    }
    RecallOptions options;
    options.words = words;
    double fastest = 0, processor = 0;
    std::unique_ptr<RecallIndex> graph;
    for (int64_t r = 0; r < rounds; ++r) {
      graph.reset();
      const Stopwatch watch;
      const double busy = processor_seconds();
      graph = std::make_unique<RecallIndex>(RecallIndex::build(text, chunks, options));
      const double s = watch.seconds();
      const double used = processor_seconds() - busy;
      if (fastest == 0 || s < fastest) fastest = s;
      if (processor == 0 || used < processor) processor = used;
    }
    const RecallStats& s = graph->stats();
    out.set("graph_index_s", fastest);
    out.set("graph_index_processor_s", processor);  // of all threads, without what other processes took
    out.set("graph_words_per_s_per_thread", static_cast<double>(s.words) / fastest / thread_count());
    out.set("edges", static_cast<int64_t>(s.edges)), out.set("threshold", double{s.threshold});
    out.set("products", s.gram.products), out.set("rows_cut", s.gram.rows_cut),
        out.set("terms_passed_over", s.gram.terms_skipped);
    out.set("count_s", s.count_s), out.set("postings_s", s.postings_s), out.set("graph_s", s.graph_s);
    for (const double epsilon : {1e-5, 1e-6}) {
      RecallQuery query;
      query.k = static_cast<size_t>(k), query.epsilon = epsilon, query.mode = RecallMode::local;
      for (int pass = 0; pass < 2; ++pass) {
        ms.clear();
        for (const std::string_view q : asked) {
          const Stopwatch watch;
          graph->mixpr(q, query);
          ms.push_back(1e3 * watch.seconds());
        }
      }
      out.set(epsilon == 1e-5 ? "mixpr_query_1e-5" : "mixpr_query_1e-6", times_json(ms));
    }
  }
  out.set("results", std::move(results));
  fmt::print("{}\n", out.dump());
  return 0;
}

}  // namespace quern
