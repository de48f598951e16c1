// Scoring and sorting. Embeddings are computed between the engine's steps.
#include "quern/serve/api/rerank_api.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quern/recall/bm25/bm25.h"
#include "quern/serve/api/embeddings_api.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {
namespace {

constexpr size_t kMaxDocuments = 10'000, kMaxRead = 2048;

std::vector<std::string> read_documents(const Fields& f, const char* field) {
  constexpr const char* kExpected = "expected a list of texts, or of objects with a `text`";
  const Json* list = f.find(field);
  if (!list || !list->is_array()) bad_field(field, "{}", kExpected);
  std::vector<std::string> out;
  for (const Json& d : list->as_array()) {
    const Json* text = d.is_object() ? d.find("text") : &d;
    if (!text || !text->is_string()) bad_field(field, "{}; number {} is neither", kExpected, out.size());
    out.push_back(text->as_string());
  }
  if (out.empty() || out.size() > kMaxDocuments)
    bad_field(field, "{} of them, expected 1 to {}", out.size(), kMaxDocuments);
  return out;
}

// What x_score is when a request does not say.
const char* usual_score(const ServedModel& m) {
  if (!m.encoder) return "words";
  return m.encoder->text.labels().size() == 1 ? "model" : "meaning";
}

class PairScorer {
 public:
  // `texts` are to be scored, in all; `field` has them.
  PairScorer(ServedModel& m, Exchange& e, const Fields& f, const char* field, size_t texts)
      : m_(m), e_(e), how_(f.text("x_score").value_or(usual_score(m))) {
    if (how_ != "words" && how_ != "meaning" && how_ != "both" && how_ != "model")
      bad_field("x_score", "'{}': expected words, meaning, both or model", how_);
    if (how_ == "model" && (!m.encoder || m.encoder->text.labels().size() != 1))
      bad_field("x_score", "model '{}' is not a reranker: it has no head with a single score", m.id);
    if (how_ != "words" && texts > kMaxRead)
      bad_field(field, "{} of them; x_score {} reads at most {}", texts, how_, kMaxRead);
  }
  // Of every document against the query; empty: the client is gone.
  std::vector<double> of(const std::string& query, const std::vector<std::string>& documents) {
    if (how_ == "words") return word_scores(query, documents);
    if (how_ == "model") return head_scores(query, documents);
    std::vector<double> meaning = cosines(query, documents);
    if (how_ == "meaning" || meaning.empty()) return meaning;
    const auto [low, high] = std::ranges::minmax(meaning);
    std::vector<double> both = word_scores(query, documents);
    for (size_t i = 0; i < both.size(); ++i)
      both[i] = (both[i] + (high > low ? (meaning[i] - low) / (high - low) : 0)) / 2;
    return both;
  }
  int64_t tokens() const { return tokens_; }
  int64_t truncated() const { return truncated_; }

 private:
  std::vector<float> read(const std::string& text, const std::string& what) {
    const std::vector<int32_t> ids = m_.tokenizer.encode(text, {.parse_special = false});
    if (static_cast<int64_t>(ids.size()) > m_.model->max_positions())
      throw ApiError(
          400, "invalid_request_error", "context_length_exceeded",
          fmt::format("this model's context is {} tokens; {} has {}", m_.model->max_positions(), what, ids.size()));
    tokens_ += static_cast<int64_t>(ids.size());
    return ids.empty() ? std::vector<float>() : embed_tokens(m_, ids, e_);
  }
  // A reranker reads the query and a document together.
  std::vector<double> head_scores(const std::string& query, const std::vector<std::string>& documents) {
    std::vector<encoders::TextEncoder::Pair> pairs;
    for (const std::string& d : documents) pairs.push_back({query, d});
    const std::lock_guard lock(m_.encoder->busy);
    const encoders::EncoderResult r = m_.encoder->text.score_pairs(pairs);
    tokens_ += r.tokens, truncated_ += r.truncated;
    std::vector<double> out;
    for (int64_t i = 0; i < r.rows.dim(0); ++i) out.push_back(r.rows.item(i));
    return out;
  }
  std::vector<double> encoder_cosines(const std::string& query, const std::vector<std::string>& documents) {
    const std::lock_guard lock(m_.encoder->busy);
    const auto q = m_.encoder->text.embed({&query, 1}, encoders::TextRole::query);
    const auto d = m_.encoder->text.embed(documents, encoders::TextRole::document);
    tokens_ += q.tokens + d.tokens, truncated_ += q.truncated + d.truncated;
    std::vector<double> out;
    for (int64_t i = 0; i < d.rows.dim(0); ++i) {
      double sum = 0;
      for (int64_t k = 0; k < d.rows.dim(1); ++k) sum += q.rows.item(k) * d.rows.item(i * d.rows.dim(1) + k);
      out.push_back(sum);
    }
    return out;
  }
  std::vector<double> cosines(const std::string& query, const std::vector<std::string>& documents) {
    if (m_.encoder) return encoder_cosines(query, documents);
    const std::vector<float> q = read(query, "the query");
    std::vector<double> out;
    for (size_t i = 0; i < documents.size(); ++i) {
      const std::vector<float> d = read(documents[i], fmt::format("document {}", i));
      if (e_.gone()) return {};
      double sum = 0;  // both are of length 1; an empty text is like nothing
      for (size_t k = 0; k < std::min(q.size(), d.size()); ++k)
        sum += static_cast<double>(q[k]) * static_cast<double>(d[k]);
      out.push_back(sum);
    }
    return out;
  }

  ServedModel& m_;
  Exchange& e_;
  std::string how_;
  int64_t tokens_ = 0, truncated_ = 0;
};

Json reading_json(const PairScorer& s) {
  Json j = Json::object();
  j.set("prompt_tokens", s.tokens()), j.set("total_tokens", s.tokens());
  if (s.truncated() > 0) j.set("x_truncated_texts", s.truncated());
  return j;
}

}  // namespace

std::vector<double> word_scores(std::string_view query, const std::vector<std::string>& documents) {
  recall::Bm25Index index;
  for (size_t i = 0; i < documents.size(); ++i) index.add(static_cast<int64_t>(i), documents[i]);
  const auto n = static_cast<double>(documents.size());
  const recall::PostingsView view = index.postings().view();
  double maximum = 0;
  for (const std::string& word : recall::words_of(query, index.token_options())) {
    const recall::TermEntry* e = view.find(recall::word_key(word));
    const double df = e ? static_cast<double>(e->documents) : 0;
    maximum += std::log(1 + (n - df + 0.5) / (df + 0.5));
  }
  std::vector<double> out(documents.size());
  if (maximum <= 0) return out;
  for (const recall::ScoredDocument& h : index.top(query, documents.size()))
    out[static_cast<size_t>(h.id)] = static_cast<double>(h.score) / maximum;
  return out;
}

void rerank(ServedModel& m, Exchange& e, const Json& body) {
  const Fields f(body);
  const auto query = f.text("query");
  if (!query || query->empty()) bad_field("query", "expected a text");
  const std::vector<std::string> documents = read_documents(f, "documents");
  const auto all = static_cast<int64_t>(documents.size());
  const int64_t top = std::min(all, f.integer("top_n", 1, int64_t{1} << 31).value_or(all));
  // Jina's clients expect the documents unless they say otherwise, Cohere's second API never sends them.
  const bool with_documents = f.boolean("return_documents").value_or(e.request().path != "/v2/rerank");
  PairScorer scorer(m, e, f, "documents", documents.size());
  const std::vector<double> scores = scorer.of(*query, documents);
  e.caller.spend(scorer.tokens(), 0);
  if (e.gone()) return;
  std::vector<size_t> order(documents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  Json j = Json::object(), results = Json::array();
  for (int64_t i = 0; i < top; ++i) {
    const size_t d = order[static_cast<size_t>(i)];
    Json one = Json::object(), text = Json::object();
    one.set("index", static_cast<int64_t>(d)), one.set("relevance_score", scores[d]);
    if (with_documents) text.set("text", documents[d]), one.set("document", std::move(text));
    results.push(std::move(one));
  }
  j.set("id", new_id("rerank-")), j.set("object", "list"), j.set("model", m.id);
  j.set("results", std::move(results)), j.set("usage", reading_json(scorer));
  e.answer(200, "application/json", j.dump());
}

void score_pairs(ServedModel& m, Exchange& e, const Json& body) {
  const Fields f(body);
  const std::vector<std::string> left = f.texts("text_1"), right = f.texts("text_2");
  if (left.empty() || right.empty() || right.size() > kMaxDocuments)
    bad_field(left.empty() ? "text_1" : "text_2", "expected a text, or a list of 1 to {}", kMaxDocuments);
  if (left.size() != 1 && left.size() != right.size())
    bad_field("text_1", "{} texts against {}: expected one, or as many", left.size(), right.size());
  if (left.size() > 1 && f.text("x_score") == "both")
    bad_field("x_score", "both compares documents with one another: it needs a single text_1");
  PairScorer scorer(m, e, f, "text_2", right.size());
  std::vector<double> scores;
  if (left.size() == 1) scores = scorer.of(left[0], right);
  for (size_t i = 0; left.size() > 1 && i < left.size() && !e.gone(); ++i) {
    const std::vector<double> one = scorer.of(left[i], {right[i]});
    scores.insert(scores.end(), one.begin(), one.end());
  }
  e.caller.spend(scorer.tokens(), 0);
  if (e.gone()) return;
  Json j = Json::object(), data = Json::array();
  for (size_t i = 0; i < scores.size(); ++i) {
    Json one = Json::object();
    one.set("index", static_cast<int64_t>(i)), one.set("object", "score"), one.set("score", scores[i]);
    data.push(std::move(one));
  }
  j.set("id", new_id("score-")), j.set("object", "list"), j.set("created", unix_time()), j.set("model", m.id);
  j.set("data", std::move(data)), j.set("usage", reading_json(scorer));
  e.answer(200, "application/json", j.dump());
}

}  // namespace quern::serve
