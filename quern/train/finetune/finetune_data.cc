#include "quern/train/finetune/finetune_data.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/threads.h"
#include "quern/data/chat_example.h"
#include "quern/data/indexed.h"

namespace quern::train {
namespace {

struct Document {
  std::vector<int32_t> tokens, learned;
};

struct EncodedRow {
  std::vector<Document> documents;  // none: dropped
  bool trimmed = false;
  int64_t bytes = 0;
  std::string error;
};

EncodedRow encode_messages(const FinetuneRow& row, const FinetuneEncoder& e) {
  EncodedRow out;
  const data::ChatExample whole = data::encode_chat(row.messages, e.chat_template, e.tokenizer, row.where);
  const auto kept = data::ap_trim(whole, e.length + 1);
  if (!kept) return out;
  out.trimmed = kept->size() < whole.size();
  out.documents.push_back({kept->tokens, {kept->learned.begin(), kept->learned.end()}});
  for (const Json& m : row.messages.as_array()) out.bytes += static_cast<int64_t>(m.at("content").as_string().size());
  return out;
}

EncodedRow encode_text(const FinetuneRow& row, const FinetuneEncoder& e) {
  EncodedRow out;
  std::vector<int32_t> read = row.prompt.empty() ? std::vector<int32_t>()
                                                 : e.tokenizer.encode(row.prompt, {.parse_special = false}),
                       text = e.tokenizer.encode(row.text,
                                                 {.add_special_tokens = row.prompt.empty(), .parse_special = false});
  if (e.tokenizer.eos_id() >= 0) text.push_back(e.tokenizer.eos_id());
  out.bytes = static_cast<int64_t>(row.prompt.size() + row.text.size());
  Document d{read, std::vector<int32_t>(read.size(), 0)};
  d.tokens.insert(d.tokens.end(), text.begin(), text.end());
  d.learned.resize(d.tokens.size(), 1);
  const auto most = static_cast<size_t>(e.length) + 1;
  for (size_t at = 0; at + 1 < d.tokens.size() || at == 0; at += most - 1) {  // pieces share the token between them
    auto piece = [&](const std::vector<int32_t>& v) {
      return std::vector<int32_t>(v.begin() + static_cast<std::ptrdiff_t>(at),
                                  v.begin() + static_cast<std::ptrdiff_t>(std::min(v.size(), at + most)));
    };
    out.documents.push_back({piece(d.tokens), piece(d.learned)});
    if (at > 0) out.documents.back().learned[0] = 0;
  }
  return out;
}

}  // namespace

std::vector<RowUse> row_uses(const std::vector<std::string>& keys, const HeldOutShare& how) {
  const size_t rows = keys.size();
  if (rows < 2) fail("{} usable rows: at least 2 are needed, of which one is held out", rows);
  std::vector<size_t> order(rows);
  std::iota(order.begin(), order.end(), size_t{0});
  Rng random(how.seed, 0x5b117);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  const auto wanted = static_cast<int64_t>(std::lround(how.share * static_cast<double>(rows)));
  const auto n = static_cast<size_t>(
      std::clamp<int64_t>(wanted, 1, std::min<int64_t>(how.most, static_cast<int64_t>(rows) - 1)));
  std::vector<RowUse> uses(rows, RowUse::learned);
  std::set<std::string> held;
  for (size_t i = 0; i < n; ++i) uses[order[i]] = RowUse::held_out, held.insert(keys[order[i]]);
  for (size_t i = 0; i < rows; ++i)
    if (uses[i] == RowUse::learned && held.count(keys[i])) uses[i] = RowUse::repeated;
  if (std::count(uses.begin(), uses.end(), RowUse::learned) == 0)
    fail("all rows are the same: nothing is left to learn from");
  return uses;
}

namespace {

template <class Row, class Encode>
std::vector<EncodedRow> encode_all(const std::vector<Row>& rows, Encode&& encode) {
  std::vector<EncodedRow> done(rows.size());
  parallel_dynamic(static_cast<int64_t>(rows.size()), [&](int64_t i) {
    EncodedRow& to = done[static_cast<size_t>(i)];
    try {
      to = encode(rows[static_cast<size_t>(i)]);
    } catch (const Error& error) {
      to.error = error.what();
    }
  });
  return done;
}

enum class ShardOf { texts, pairs };

FinetuneCounts write_encoded(const std::vector<EncodedRow>& done, ShardOf what, const FinetuneEncoder& e,
                             const std::filesystem::path& prefix) {
  data::IndexedWriter tokens(prefix, data::token_type_for(e.tokenizer.vocab_size())),
      mask(data::with_suffix(prefix, ".mask"), data::TokenType::u8);
  FinetuneCounts n;
  for (const EncodedRow& row : done) {
    if (!row.error.empty()) throw Error(row.error);
    n.dropped += row.documents.empty(), n.trimmed += row.trimmed;
    n.cut += what == ShardOf::texts && row.documents.size() > 1;
    n.rows += !row.documents.empty(), n.bytes += row.documents.empty() ? 0 : row.bytes;
    for (const Document& d : row.documents) {
      tokens.add(d.tokens), mask.add(d.learned);
      n.learned += std::accumulate(d.learned.begin(), d.learned.end(), int64_t{0});
      n.longest = std::max(n.longest, static_cast<int64_t>(d.tokens.size()));
    }
  }
  if (n.rows == 0) fail("none of {} rows fits into {} tokens: give a larger sequence length", done.size(), e.length);
  n.tokens = tokens.tokens();
  mask.finish(), tokens.finish();
  Json j = Json::object();
  j.set("documents", n.rows), j.set("tokens", n.tokens), j.set("bytes", n.bytes), j.set("learned", n.learned);
  j.set("vocab", static_cast<int64_t>(e.tokenizer.vocab_size()));
  if (what == ShardOf::pairs) j.set("pairs", true);
  write_file(data::with_suffix(prefix, ".json"), j.dump(2) + "\n");
  return n;
}

// One answer of a pair behind its prompt: nothing where it is too long.
std::optional<Document> encode_answer(const FinetuneRow& row, int64_t answers_before, const FinetuneEncoder& e) {
  if (!row.chat()) {
    const EncodedRow text = encode_text(row, e);
    if (text.documents.size() != 1) return {};
    return text.documents[0];
  }
  const data::ChatExample x = data::encode_chat(row.messages, e.chat_template, e.tokenizer, row.where);
  if (x.size() > e.length + 1) return {};
  Document d{x.tokens, {x.learned.begin(), x.learned.end()}};
  int64_t turns = 0;  // each is a stretch that is learned; those of the prompt are not
  for (size_t t = 0; t < d.learned.size(); ++t) {
    if (x.learned[t] == 0) continue;
    turns += t == 0 || x.learned[t - 1] == 0;
    if (turns <= answers_before) d.learned[t] = 0;
  }
  if (turns != static_cast<int64_t>(x.reasonings.size()))
    fail("{}: two turns of the assistant in a row: where its answer begins is not known", row.where);
  return d;
}

}  // namespace

FinetuneCounts write_shards(const std::vector<FinetuneRow>& rows, const FinetuneEncoder& e,
                            const std::filesystem::path& prefix) {
  const auto encode = [&](const FinetuneRow& row) {
    return row.chat() ? encode_messages(row, e) : encode_text(row, e);
  };
  return write_encoded(encode_all(rows, encode), ShardOf::texts, e, prefix);
}

FinetuneCounts write_pair_shards(const std::vector<PreferenceRow>& rows, const FinetuneEncoder& e,
                                 const std::filesystem::path& prefix) {
  const auto encode = [&](const PreferenceRow& row) {
    EncodedRow out;
    const auto chosen = encode_answer(row.chosen, row.answers_before, e),
               rejected = encode_answer(row.rejected, row.answers_before, e);
    if (chosen && rejected) out.documents = {*chosen, *rejected};
    return out;
  };
  return write_encoded(encode_all(rows, encode), ShardOf::pairs, e, prefix);
}

}  // namespace quern::train
