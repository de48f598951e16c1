#include "quern/serve/api/recall_api.h"

#include <algorithm>

#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"
#include "quern/text/unicode/utf8.h"

namespace quern::serve {
namespace {

constexpr size_t kMaxDocuments = 1000, kMaxId = 1024, kMaxTitle = 1000, kMaxFacts = 64 << 10, kMaxQuery = 64 << 10;
constexpr size_t kMaxLookedAt = 4096;  // chunks, when a filter leaves most of them out

// As `quern recall index` cuts texts.
constexpr recall::PassageOptions kPassages{.chunks = {.unit = recall::ChunkUnit::sentence, .max_words = 128},
                                           .min_words = 32};

recall::DocumentKind kind_in(const std::optional<std::string>& format, const std::string& field) {
  const std::string name = format.value_or("plain");
  if (name == "plain") return recall::DocumentKind::plain;
  if (name == "markdown") return recall::DocumentKind::markdown;
  if (name == "html") return recall::DocumentKind::html;
  bad_field(field, "'{}': expected plain, markdown or html", name);
}

std::string checked_id(const std::optional<std::string>& id, const std::string& field) {
  const bool good = id && !id->empty() && id->size() <= kMaxId && text::utf8_error(*id) == id->npos &&
                    std::none_of(id->begin(), id->end(), [](unsigned char c) { return c < 32 || c == 127; });
  if (!good) bad_field(field, "expected a text of 1 to {} bytes without control characters", kMaxId);
  return *id;
}

recall::PutDocument read_document(const Json& j, const std::string& where) {
  if (!j.is_object()) bad_field(where, "expected an object with id and text");
  only_fields(j, where + ".", {"id", "title", "text", "url", "metadata", "format"});
  const Fields f(j);
  recall::PutDocument d{.name = checked_id(f.text("id"), where + ".id"), .document = {}};
  const auto text = f.text("text");
  if (!text || text->find_first_not_of(" \t\r\n") == text->npos)
    bad_field(where + ".text", "expected the document's text");
  if (text->find('\0') != text->npos) bad_field(where + ".text", "holds zero bytes, so it is no text");
  const recall::DocumentKind kind = kind_in(f.text("format"), where + ".format");
  d.document = recall::read_document(kind, *text);
  Json facts = Json::object();
  for (const char* key : {"title", "url"}) {
    const auto value = f.text(key);
    if (!value) continue;
    if (value->size() > kMaxTitle) bad_field(where + "." + key, "{} bytes, at most {}", value->size(), kMaxTitle);
    facts.set(key, *value);
  }
  if (const Json* title = facts.find("title")) d.document.title = title->as_string();
  if (const Json* metadata = f.find("metadata")) {
    if (!metadata->is_object()) bad_field(where + ".metadata", "expected an object");
    facts.set("metadata", *metadata);
  }
  if (facts.dump().size() > kMaxFacts) bad_field(where + ".metadata", "more than {} bytes", kMaxFacts);
  if (!facts.as_object().empty()) d.facts = std::move(facts);
  return d;
}

bool meets(const Json& facts, const Json& filter) {
  const Json* metadata = facts.find("metadata");
  return std::ranges::all_of(filter.as_object(), [&](const auto& wanted) {
    const Json* value = metadata ? metadata->find(wanted.first) : nullptr;
    if (!value) return false;
    if (wanted.second.is_array())  // one of these
      return std::ranges::find(wanted.second.as_array(), *value) != wanted.second.as_array().end();
    return *value == wanted.second;
  });
}

Json hit_json(const recall::RecallHit& h) {
  Json j = Json::object();
  j.set("id", h.path), j.set("object", "recall.hit"), j.set("score", h.score);
  if (h.line > 0) j.set("line", int64_t{h.line});
  j.set("begin", static_cast<int64_t>(h.begin)), j.set("end", static_cast<int64_t>(h.end));
  for (const char* key : {"title", "url", "metadata"})
    if (const Json* value = h.facts.find(key)) j.set(key, *value);
  if (!h.heading.empty()) j.set("heading", h.heading);
  j.set("text", h.text);
  return j;
}

// Nothing changes where this throws.
void change(recall::CurrentStore& index, const std::function<void(recall::RecallStore&)>& f) {
  try {
    index.change(f);
  } catch (const ApiError&) {
    throw;
  } catch (const Error& e) {
    throw ApiError(409, "invalid_request_error", "index_not_changed", e.what());
  }
}

}  // namespace

Json search_documents(recall::CurrentStore& index, const Json& body) {
  only_fields(body, "", {"query", "question", "k", "filter", "user"});
  const Fields f(body);
  const auto query = f.find("query") ? f.text("query") : f.text("question");
  if (!query || query->find_first_not_of(" \t\r\n") == query->npos)
    bad_field("query", "expected a question or keywords");
  if (query->size() > kMaxQuery) bad_field("query", "{} bytes, at most {}", query->size(), kMaxQuery);
  const auto k = static_cast<size_t>(f.integer("k", 1, 1000).value_or(8));
  const Json* filter = f.find("filter");
  if (filter && !filter->is_object())
    bad_field("filter", "expected an object: the metadata that a document must have");
  std::string stale;
  const auto store = index.get(stale);
  recall::RecallAnswer a;
  std::vector<recall::RecallHit> hits;
  bool any = false, all = false;
  for (size_t looked_at = k;; looked_at = std::min(4 * looked_at, kMaxLookedAt)) {
    a = store->fused(*query, looked_at);
    any = !a.hits.empty(), all = a.hits.size() < looked_at;
    hits.clear();
    for (recall::RecallHit& h : a.hits)
      if (hits.size() < k && (!filter || meets(h.facts, *filter))) hits.push_back(std::move(h));
    if (!filter || hits.size() == k || all || looked_at >= kMaxLookedAt) break;
  }
  Json data = Json::array(), notes = Json::array(), j = Json::object();
  for (const recall::RecallHit& h : hits) data.push(hit_json(h));
  if (hits.empty())
    notes.push(!any  ? "nothing found: no document matches the query"
               : all ? "nothing found: no document that matches the query meets the filter"
                     : fmt::format("nothing found: none of the best {} passages meets the filter", kMaxLookedAt));
  else if (filter && hits.size() < k && !all)
    notes.push(fmt::format("only the best {} passages were looked at for the filter", kMaxLookedAt));
  if (!stale.empty()) notes.push(stale);
  j.set("object", "recall.search"), j.set("query", *query), j.set("found", static_cast<int64_t>(hits.size()));
  j.set("data", std::move(data)), j.set("notes", std::move(notes));
  return j;
}

Json index_documents(recall::CurrentStore& index, const Json& body) {
  only_fields(body, "", {"documents", "user"});
  const Json* list = Fields(body).find("documents");
  if (!list || !list->is_array()) bad_field("documents", "expected a list of documents with id and text");
  const auto& given = list->as_array();
  if (given.empty() || given.size() > kMaxDocuments)
    bad_field("documents", "{} documents: expected 1 to {}", given.size(), kMaxDocuments);
  std::vector<recall::PutDocument> documents;
  for (size_t i = 0; i < given.size(); ++i)
    documents.push_back(read_document(given[i], fmt::format("documents[{}]", i)));
  int64_t replaced = 0, there = 0;
  change(index, [&](recall::RecallStore& store) {
    replaced = store.put(documents, kPassages);
    for (const auto& s : store.segments()) there += static_cast<int64_t>(s->documents().size());
  });
  Json data = Json::array(), j = Json::object();
  for (const recall::PutDocument& d : documents) data.push(d.name);
  j.set("object", "recall.index"), j.set("indexed", static_cast<int64_t>(documents.size()));
  j.set("replaced", replaced), j.set("documents", there), j.set("ids", std::move(data));
  return j;
}

Json remove_document(recall::CurrentStore& index, const std::string& id) {
  std::string stale;
  const auto store = index.get(stale);
  const bool there = std::ranges::any_of(store->segments(), [&](const auto& s) {
    return std::ranges::any_of(s->files(), [&](const recall::SegmentFile& f) { return f.path == id; });
  });
  if (!there)
    throw ApiError(404, "invalid_request_error", "document_not_found", fmt::format("there is no document '{}'", id));
  change(index, [&](recall::RecallStore& s) { s.remove({id}, recall::BelowNames::left); });
  Json j = Json::object();
  j.set("id", id), j.set("object", "recall.document"), j.set("deleted", true);
  return j;
}

}  // namespace quern::serve
