// search_documents, read_document, the documents as resources, and the prompt answer_from_documents.
#include "quern/mcp/offers/recall_offers.h"

#include <algorithm>
#include <set>

#include "quern/base/nearest.h"
#include "quern/recall/store/current_store.h"

namespace quern::mcp {
namespace {

constexpr std::string_view kScheme = "quern-document:";
constexpr size_t kMaxText = size_t{1} << 20;  // of a resource
constexpr size_t kMaxSuggested = 20'000;      // names that a wrong path is compared with

std::string mime_type(const std::string& path) {
  auto ends = [&](std::string_view end) { return path.ends_with(end); };
  return ends(".md") ? "text/markdown" : ends(".html") || ends(".htm") ? "text/html" : "text/plain";
}

std::string uri_of(const std::string& path) { return std::string(kScheme) + uri_escaped(path); }

// The documents of one file, one after another; nothing: there is none of that path.
std::optional<std::string> text_of(const recall::RecallStore& store, const std::string& path) {
  std::vector<std::pair<uint64_t, std::string_view>> parts;
  bool found = false;
  for (const auto& segment : store.segments())
    for (const recall::SegmentDocument& d : segment->documents()) {
      if (segment->files()[d.file].path != path) continue;
      found = true;
      parts.emplace_back(d.sequence, segment->text().substr(d.begin, d.end - d.begin));
    }
  if (!found) return std::nullopt;
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const auto& [sequence, part] : parts) {
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += part;
  }
  return text;
}

std::vector<std::pair<std::string, int64_t>> files_of(const recall::RecallStore& store) {
  std::set<std::pair<std::string, int64_t>> files;
  for (const auto& segment : store.segments())
    for (const recall::SegmentDocument& d : segment->documents()) {
      const recall::SegmentFile& f = segment->files()[d.file];
      files.emplace(f.path, f.size);
    }
  return {files.begin(), files.end()};
}

class Documents final : public ResourceSource {
 public:
  explicit Documents(const std::string& folder) : store_(folder) {}

  ToolResult search(const Json& arguments) {
    const Json* k = arguments.find("k");
    std::string stale;
    const auto store = store_.get(stale);
    const recall::RecallAnswer a =
        store->fused(arguments.at("query").as_string(), static_cast<size_t>(k ? k->as_int() : 8));
    Json hits = Json::array();
    std::string text;
    for (size_t i = 0; i < a.hits.size(); ++i) {
      const recall::RecallHit& h = a.hits[i];
      Json one = Json::object();
      one.set("path", h.path), one.set("uri", uri_of(h.path));
      if (h.line > 0) one.set("line", int64_t{h.line});
      if (!h.heading.empty()) one.set("heading", h.heading);
      one.set("begin", static_cast<int64_t>(h.begin)), one.set("end", static_cast<int64_t>(h.end));
      one.set("score", h.score), one.set("text", h.text);
      hits.push(std::move(one));
      text += fmt::format("[{}] {}{}{}\n{}\n\n", i + 1, h.path, h.heading.empty() ? "" : ": ", h.heading, h.text);
    }
    if (a.hits.empty()) text = "Nothing in the documents matches the query. Try other or fewer words.";
    ToolResult r = ToolResult::text(text);
    Json notes = Json::array();
    if (!stale.empty()) notes.push(stale), r.content.push(text_content(stale));
    r.structured.set("hits", std::move(hits)), r.structured.set("notes", std::move(notes));
    return r;
  }

  ToolResult read_lines(const Json& arguments) {
    const std::string path = arguments.at("path").as_string();
    const Json *from_line = arguments.find("from_line"), *lines = arguments.find("lines");
    const int64_t first = from_line ? from_line->as_int() : 1, count = lines ? lines->as_int() : 200;
    std::string stale;
    const auto store = store_.get(stale);
    const auto text = text_of(*store, path);
    if (!text) {
      std::vector<std::string> names;
      for (auto& [name, size] : files_of(*store))
        if (names.size() < kMaxSuggested) names.push_back(name);
      fail("there is no document '{}' in the index{}; search_documents gives the paths", path,
           did_you_mean(path, names));
    }
    std::string part;
    int64_t line = 1;
    for (size_t at = 0; at < text->size(); ++line) {
      const size_t end = std::min(text->find('\n', at), text->size() - 1) + 1;
      if (line >= first && line < first + count) part.append(*text, at, end - at);
      at = end;
    }
    const int64_t all = line - 1, last = std::min(all, first + count - 1);
    if (first > all) fail("{} has {} lines: from_line {} is after its end", path, all, first);
    ToolResult r = ToolResult::text(part);
    r.structured.set("path", path), r.structured.set("from_line", first), r.structured.set("to_line", last);
    r.structured.set("all_lines", all), r.structured.set("text", part);
    if (last < all)
      r.content.push(text_content(
          fmt::format("(lines {} to {} of {}; continue with from_line {})", first, last, all, last + 1)));
    return r;
  }

  PromptResult prompt(const Json& arguments) {
    const std::string question = arguments.at("question").as_string();
    std::string stale;
    return {
        .description = "The question with the passages that were found for it",
        .messages = {{"user", recall::pack_prompt(store_.get(stale)->fused(question, 12, recall::HitOrder::document),
                                                  question)}}};
  }

  std::vector<ResourceInfo> list() override {
    std::vector<ResourceInfo> all;
    std::string stale;
    for (const auto& [path, size] : files_of(*store_.get(stale)))
      all.push_back({.uri = uri_of(path),
                     .name = path.substr(path.find_last_of('/') + 1),
                     .title = path,
                     .mime_type = mime_type(path),
                     .size = size});
    return all;
  }
  std::vector<ResourceTemplate> templates() override {
    return {{.uri_template = std::string(kScheme) + "{+path}",
             .name = "document",
             .title = "Document",
             .description = "A document of the search index by its path",
             .mime_type = "text/plain"}};
  }
  std::optional<ResourceText> read(const std::string& uri) override {
    if (!uri.starts_with(kScheme)) return std::nullopt;
    const std::string path = uri_unescaped(std::string_view(uri).substr(kScheme.size()));
    std::string stale;
    auto text = text_of(*store_.get(stale), path);
    if (!text) return std::nullopt;
    if (text->size() > kMaxText) {
      const size_t all = text->size();
      size_t end = kMaxText;
      while (end > 0 && (static_cast<unsigned char>((*text)[end]) & 0xc0) == 0x80) --end;  // whole characters
      text->resize(end);
      *text += fmt::format("\n(the first {} of {} bytes; read_document reads the rest)", end, all);
    }
    return ResourceText{.text = std::move(*text), .mime_type = mime_type(path)};
  }

 private:
  recall::CurrentStore store_;
};

constexpr const char* kSearchSchema = R"({"type": "object", "properties": {
  "query": {"type": "string", "minLength": 1, "maxLength": 4000,
    "description": "A question or keywords, in the words the documents are likely to use"},
  "k": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many passages to return; 8 when absent"}},
  "required": ["query"], "additionalProperties": false})";

constexpr const char* kReadSchema = R"({"type": "object", "properties": {
  "path": {"type": "string", "minLength": 1, "maxLength": 4096,
    "description": "The path of a document exactly as search_documents gives it"},
  "from_line": {"type": "integer", "minimum": 1, "maximum": 1000000000,
    "description": "The first line to read, counted from 1; 1 when absent"},
  "lines": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines to read; 200 when absent"}},
  "required": ["path"], "additionalProperties": false})";

}  // namespace

void offer_documents(Server& server, const std::string& index_folder) {
  const auto documents = std::make_shared<Documents>(index_folder);
  server.add_tool(
      {.name = "search_documents",
       .title = "Search documents",
       .description = "Finds the passages of the indexed documents that answer a question, best first. Each has "
                      "the path of its document, which read_document takes. Cite the paths.",
       .input_schema = Json::parse(kSearchSchema),
       .read_only = true,
       .idempotent = true},
      [documents](const Json& a, CallContext&) { return documents->search(a); });
  server.add_tool(
      {.name = "read_document",
       .title = "Read a document",
       .description = "Returns lines of one indexed document. Use it after search_documents, when a passage "
                      "alone is not enough.",
       .input_schema = Json::parse(kReadSchema),
       .read_only = true,
       .idempotent = true},
      [documents](const Json& a, CallContext&) { return documents->read_lines(a); });
  server.add_resources(documents);
  server.add_prompt({.name = "answer_from_documents",
                     .title = "Answer from the documents",
                     .description = "Retrieves passages for a question and asks for an answer from them (RAG)",
                     .arguments = {{"question", "What to answer from the documents", true}}},
                    [documents](const Json& a) { return documents->prompt(a); });
}

}  // namespace quern::mcp
