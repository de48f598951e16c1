#include "quern/corpus/stages/token_shards.h"
#include "quern/corpus/bytes/hashing.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "quern/base/error.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/io/spill.h"
#include "quern/data/indexed.h"

namespace quern::corpus {

Json TokenShardReport::json() const {
  Json j = Json::object(), bad = Json::array(), list = Json::array();
  j.set("documents", static_cast<int64_t>(documents)), j.set("tokens", static_cast<int64_t>(tokens));
  j.set("bytes", static_cast<int64_t>(scan.read.text_bytes)), j.set("empty", static_cast<int64_t>(empty));
  for (const TokenSource& s : sources) {
    Json one = Json::object();
    one.set("source", s.name), one.set("documents", static_cast<int64_t>(s.documents));
    one.set("bytes", static_cast<int64_t>(s.bytes)), one.set("tokens", static_cast<int64_t>(s.tokens));
    list.push(std::move(one));
  }
  j.set("sources", std::move(list)), j.set("read", scan.read.json());
  for (const std::string& d : scan.damaged) bad.push(Json(d));
  j.set("damaged_files", std::move(bad));
  return j;
}

Json token_stage_json(const std::string& tokenizer, const Inputs& inputs, const TokenShardReport& report) {
  Json j = report.json();
  j.set("tokenizer", tokenizer), j.set("inputs", inputs_json(inputs, report.scan.read));
  return j;
}

namespace {

constexpr size_t kCopied = 4096;  // lengths read at a time
constexpr size_t kCountedSources = 1000, kLongestName = 256;
constexpr const char* kOthers = "others";

void add(const TokenSource& one, TokenSource& to) {
  to.documents += one.documents, to.bytes += one.bytes, to.tokens += one.tokens;
}

void add_source_count(const TokenSource& one, std::vector<TokenSource>& to) {
  const auto place = [&](const std::string& name) {
    return std::ranges::lower_bound(to, name, {}, &TokenSource::name);
  };
  std::string name = one.name.size() <= kLongestName ? one.name : kOthers;
  auto at = place(name);
  const bool found = at != to.end() && at->name == name;
  if (!found && to.size() >= kCountedSources) name = kOthers, at = place(name);
  if (at == to.end() || at->name != name) at = to.insert(at, {.name = name});
  add(one, *at);
}

// What is known of a document but its text, with its tokens.
void append_token_row(const DocumentView& d, const Inputs& in, size_t tokens, std::string& rows) {
  const size_t from = rows.size();
  append_without_text(d, rows);
  add_member("id", document_id_json(d), from, rows);
  if (names_sources(in)) add_source("source", in.sources[d.source], from, rows);
  add_member("tokens", std::to_string(tokens), from, rows);
}

// The frames of all blocks, behind one another.
void write_rows(const SpillFile& frames, const std::filesystem::path& file) {
  ZstdWriter out(file, StageOutput().level);
  std::string piece(size_t{1} << 20, ' ');
  for (uint64_t at = 0; at < frames.size(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(piece.size(), frames.size() - at));
    frames.read(at, piece.data(), piece.size());
    out.write_frame(piece, 0);
  }
  out.close();
}

// What waits on disk, as quern data writes it.
void write_indexed(const SpillFile& ids, const SpillFile& lengths, data::IndexedWriter& writer) {
  std::vector<int32_t> document;
  std::vector<uint32_t> some(kCopied);
  uint64_t at = 0;
  for (uint64_t i = 0, n = lengths.size() / sizeof(uint32_t); i < n; i += some.size()) {
    some.resize(std::min<uint64_t>(kCopied, n - i));
    lengths.read(i * sizeof(uint32_t), some.data(), some.size() * sizeof(uint32_t));
    for (uint32_t length : some) {
      document.resize(length);
      ids.read(at, document.data(), length * sizeof(int32_t));
      at += length * sizeof(int32_t);
      writer.add(document);
    }
  }
}

struct Nothing {};
struct Encoded : TokenBlock {
  void pack(const Nothing&) {
    if (rows.empty()) return;
    const std::string lines = std::move(rows);
    zstd_frame(lines, StageOutput().level, rows);
  }
};

}  // namespace

std::string tokenizer_hash(const std::filesystem::path& folder) {
  return fmt::format("{:016x}", file_hash(folder / "tokenizer.json"));
}

void add_source_counts(const std::vector<TokenSource>& one, std::vector<TokenSource>& to) {
  for (const TokenSource& s : one) add_source_count(s, to);
}

// Whether a name finds room depends on the names that first came before it alone, and those the list keeps in that order.
bool count_in_order(const std::vector<TokenSource>& block, std::vector<TokenSource>& list) {
  list.reserve(list.size() + block.size());  // names stay where they lie
  std::unordered_map<std::string_view, size_t> known;
  for (size_t i = 0; i < list.size(); ++i) known.emplace(list[i].name, i);
  const auto is_new = [&](const TokenSource& s) { return !known.contains(s.name); };
  if (list.size() + static_cast<size_t>(std::ranges::count_if(block, is_new)) > kCountedSources && !list.empty())
    return false;
  for (const TokenSource& s : block) {
    const auto at = known.find(s.name);
    if (at == known.end())
      list.push_back(s);
    else
      add(s, list[at->second]);
  }
  return true;
}

std::vector<std::string> TokenRun::files() const {
  const std::string name = prefix.filename().string();
  std::vector<std::string> all = {name + ".idx", name + ".json", name + ".bin"};
  if (rows) all.push_back(name + ".rows.jsonl.zst");
  return all;
}

std::string TokenRun::what() const {
  return fmt::format("tokenize 4 {} {} {} {} {}", scan.text(), end_token, tokenizer, rows, own_sources);
}

ScanReport scan_tokens(const Inputs& inputs, const text::Tokenizer& tokenizer, const TokenRun& run,
                       const std::function<void(TokenBlock&&)>& put, const ScanCallbacks& callbacks) {
  if (run.end_token && tokenizer.eos_id() < 0) fail("the tokenizer has no end token: expected eos_token");
  return scan_documents<Nothing, Encoded>(
      inputs, run.scan, [] { return Nothing(); },
      [&](Nothing&, const DocumentView& d, Encoded& out) {
        if (d.text.empty()) {
          ++out.empty;
          return;
        }
        // Text that spells a special token is text.
        const std::vector<int32_t> tokens = tokenizer.encode(d.text, {.parse_special = false});
        out.ids.insert(out.ids.end(), tokens.begin(), tokens.end());
        if (run.end_token) out.ids.push_back(tokenizer.eos_id());
        const size_t n = tokens.size() + run.end_token;
        out.empty += n == 0;
        if (n == 0) return;
        out.lengths.push_back(static_cast<uint32_t>(n));
        std::string source = inputs.sources[d.source];
        if (run.own_sources) source = own_source(d).value_or(std::move(source));
        add_source_count({std::move(source), 1, d.text.size(), n}, out.sources);
        if (run.rows) append_token_row(d, inputs, n, out.rows);
      },
      [&](Encoded&& e) { put(std::move(e)); }, callbacks);
}

TokenShardReport write_token_shards(const Inputs& inputs, const text::Tokenizer& tokenizer, const TokenRun& run,
                                    const ScanProgress& progress,
                                    const std::function<void(const TokenShardReport&)>& finish) {
  const std::filesystem::path folder = run.prefix.has_parent_path() ? run.prefix.parent_path() : ".";
  std::filesystem::create_directories(folder);
  const std::string name = run.prefix.filename().string();
  const std::vector<std::string> files = run.files();
  refuse_finished_files(folder / (name + ".json"), files);
  StageRun stage(folder, inputs, run.what(), run.checkpoint_bytes,
                 {.folder = name + ".unfinished", .whole_files = files, .whole_folder = false});
  TokenShardReport r;
  r.went_on = stage.went_on();
  uint64_t id_bytes = 0, length_bytes = 0, row_bytes = 0;
  if (const Json* from = stage.state())
    read_state(from->at("ids"), id_bytes), read_state(from->at("lengths"), length_bytes),
        read_state(from->at("rows"), row_bytes), read_state(from->at("empty"), r.empty),
        read_state(from->at("sources"), r.sources);
  SpillFile ids = SpillFile::named(stage.file("ids"), id_bytes);
  SpillFile lengths = SpillFile::named(stage.file("lengths"), length_bytes);
  SpillFile rows = SpillFile::named(stage.file("rows"), row_bytes);
  r.scan = scan_tokens(inputs, tokenizer, run,
                       [&](TokenBlock&& e) {
                         ids.append(e.ids.data(), e.ids.size() * sizeof(int32_t));
                         lengths.append(e.lengths.data(), e.lengths.size() * sizeof(uint32_t));
                         rows.append(e.rows.data(), e.rows.size());
                         add_source_counts(e.sources, r.sources);
                         r.empty += e.empty;
                       },
                       {progress, stage.notes("tokenize", [&](Json& state) {
                          ids.flush(), lengths.flush(), rows.flush();
                          state.set("rows", write_value(rows.size()));
                          state.set("ids", write_value(ids.size())),
                              state.set("lengths", write_value(lengths.size()));
                          state.set("empty", write_value(r.empty)), state.set("sources", write_value(r.sources));
                        })});
  data::IndexedWriter writer(run.prefix, data::token_type_for(tokenizer.vocab_size()), stage.file("bin"));
  write_indexed(ids, lengths, writer);
  r.documents = static_cast<uint64_t>(writer.documents()), r.tokens = static_cast<uint64_t>(writer.tokens());
  if (run.rows) write_rows(rows, folder / files.back());
  writer.finish();
  if (finish) finish(r);
  stage.remove();
  return r;
}

}  // namespace quern::corpus
