#include "quern/memory/topic/topic_index.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "quern/base/error.h"
#include "quern/base/threads.h"

namespace quern::memory {
namespace fs = std::filesystem;
namespace {

// A file's note: the token under which the database names it, then its response numbers.
std::vector<std::byte> note_of(int64_t token, std::span<const int32_t> responses) {
  std::vector<std::byte> note(sizeof(token) + responses.size_bytes());
  std::memcpy(note.data(), &token, sizeof(token));
  std::copy_n(std::as_bytes(responses).data(), responses.size_bytes(), note.data() + sizeof(token));
  return note;
}

int64_t token_of(std::span<const std::byte> note) {
  int64_t token = 0;
  if (note.size() < sizeof(token)) fail("a word index without its token");
  std::memcpy(&token, note.data(), sizeof(token));
  return token;
}

int64_t random_token() {
  std::random_device random;
  return static_cast<int64_t>(uint64_t{random()} << 32 | random());
}

}  // namespace

std::span<const int32_t> TopicIndex::TopicSegment::numbers() const {
  if (growing) return responses;
  const std::span<const std::byte> note = mapped->note().subspan(sizeof(int64_t));
  return {reinterpret_cast<const int32_t*>(note.data()), note.size() / sizeof(int32_t)};
}

bool TopicIndex::map_file(int32_t segment, std::span<const int64_t> ids, std::span<const int32_t> responses) {
  const fs::path file = store_->topic_file(conversation_, segment);
  if (file.empty() || !fs::exists(file)) return false;
  try {
    TopicSegment s;
    s.mapped = std::make_unique<recall::Bm25Snapshot>(file);
    s.kept = true;
    if (token_of(s.mapped->note()) != store_->topic_token(conversation_, segment)) return false;  // of other texts
    const auto of = s.part().ids;
    const auto numbers = s.numbers();
    if (!std::equal(of.begin(), of.end(), ids.begin(), ids.end()) ||
        !std::equal(numbers.begin(), numbers.end(), responses.begin(), responses.end()))
      return false;  // of turns that are no more; written anew soon
    segments_[segment] = std::move(s);
    return true;
  } catch (const Error&) {
    return false;  // damaged: nothing in it that the turns do not say
  }
}

// A full segment to its file, where there is one to write; else it stays in memory.
void TopicIndex::keep(int32_t segment) {
  TopicSegment& s = segments_.at(segment);
  s.kept = true;
  const fs::path file = store_->topic_file(conversation_, segment);
  if (file.empty()) return;
  const int64_t token = random_token();
  fs::path fresh = file;
  fresh += fmt::format(".{:016x}", static_cast<uint64_t>(token));  // nobody else writes to it
  try {
    fs::create_directories(file.parent_path());
    recall::write_bm25_snapshot(fresh, *s.growing, note_of(token, s.responses));
    if (!store_->give_topic_file(conversation_, segment, static_cast<int64_t>(s.responses.size()), token, fresh))
      return;
    map_file(segment, s.growing->part().ids, s.responses);  // else another one's, and this one stays in memory
  } catch (const std::exception&) {  // no room or no right to write: the segment in memory serves as well
    std::error_code ignored;
    fs::remove(fresh, ignored);
  }
}

void TopicIndex::follow(const TurnTable& table, const std::stop_token* stop) {
  const auto changed = [] { fail("the conversation changed while it was indexed; ask again"); };
  std::vector<MissingTurns> missing;
  std::map<int32_t, TopicSegment> before = std::move(segments_);
  segments_.clear();
  std::vector<int64_t> numbered_ids;  // by response numbers, where the table's rows are in another order
  std::vector<int32_t> numbers_there;
  for (const uint32_t row : table.arrived)
    numbered_ids.push_back(table.id[row]), numbers_there.push_back(table.response[row]);
  const std::span<const int64_t> all_ids = table.arrived.empty() ? table.id : numbered_ids;
  const std::span<const int32_t> all_numbers = table.arrived.empty() ? table.response : numbers_there;
  size_t end = 0;
  for (size_t begin = 0; begin < table.size(); begin = end) {
    const int32_t segment = all_numbers[begin] / store_->topic_segment_turns();
    const auto past = int64_t{segment + 1} * store_->topic_segment_turns();
    while (end < table.size() && all_numbers[end] < past) ++end;
    const std::span ids = all_ids.subspan(begin, end - begin);
    const std::span responses = all_numbers.subspan(begin, end - begin);
    size_t known = 0;
    if (const auto at = before.find(segment); at != before.end()) {
      const auto numbers = at->second.numbers();
      const auto of = at->second.part().ids;
      if (numbers.size() <= responses.size() && std::equal(numbers.begin(), numbers.end(), responses.begin()) &&
          std::equal(of.begin(), of.end(), ids.begin()) && (at->second.growing || numbers.size() == ids.size())) {
        known = numbers.size();
        segments_[segment] = std::move(at->second);
      }
    }
    if (known == ids.size()) continue;
    if (known == 0 && map_file(segment, ids, responses)) continue;
    missing.push_back({segment,
                       {ids.begin() + static_cast<std::ptrdiff_t>(known), ids.end()},
                       {responses.begin() + static_cast<std::ptrdiff_t>(known), responses.end()},
                       {}});
  }
  // As many at a time as there are threads: texts by the one connection, words by all.
  const auto at_once = stop ? size_t{1} : static_cast<size_t>(thread_count());
  for (size_t first = 0; first < missing.size(); first += at_once) {
    if (stop && stop->stop_requested()) return;
    const std::span some = std::span(missing).subspan(first, std::min(at_once, missing.size() - first));
    for (MissingTurns& m : some) {
      m.texts.reserve(m.ids.size());
      store_->each_turn(conversation_, m.responses.front(), m.responses.back(),
                        [&](int64_t id, std::string_view text) {
                          if (m.texts.size() == m.ids.size() || id != m.ids[m.texts.size()]) changed();
                          m.texts.emplace_back(text);
                        });
      if (m.texts.size() != m.ids.size()) changed();
    }
    try {
      for (const MissingTurns& m : some) segments_[m.segment];
      const auto add_words = [&](int64_t i) {
        MissingTurns& m = some[static_cast<size_t>(i)];
        TopicSegment& s = segments_.at(m.segment);
        if (!s.growing) s.growing = std::make_unique<recall::Bm25Index>();
        for (size_t t = 0; t < m.ids.size(); ++t) s.growing->add(m.ids[t], m.texts[t]);
        s.responses.insert(s.responses.end(), m.responses.begin(), m.responses.end());
        m.texts = {};
      };
      if (stop)
        add_words(0);  // the other threads have their own work
      else
        parallel_dynamic(static_cast<int64_t>(some.size()), add_words);
    } catch (...) {  // none stays that is half indexed
      for (const MissingTurns& m : some) segments_.erase(m.segment);
      throw;
    }
    for (const MissingTurns& m : some)
      if (segments_.at(m.segment).growing && table.last_number() / store_->topic_segment_turns() > m.segment)
        keep(m.segment);
  }
  for (auto& [segment, s] : segments_)
    if (s.growing && !s.kept && segment != segments_.rbegin()->first) keep(segment);
}

void TopicIndex::add(const StoredTurn& turn, std::string_view text) {
  TopicSegment& s = segments_[turn.response / store_->topic_segment_turns()];
  if (!s.growing) s.growing = std::make_unique<recall::Bm25Index>();
  s.growing->add(turn.id, text);
  s.responses.push_back(turn.response);
}

std::vector<recall::ScoredDocument> TopicIndex::top(std::string_view query, size_t k,
                                                    std::optional<std::span<const int64_t>> allowed) const {
  std::vector<recall::Bm25Part> parts;
  for (const auto& [segment, s] : segments_) parts.push_back(s.part());
  static const recall::Bm25Index usual;
  return recall::top_across(parts, usual.token_options(), usual.options(), query, k, allowed);
}

uint64_t TopicIndex::turns_with(std::string_view word) const {
  static const recall::Bm25Index usual;
  uint64_t turns = 0;
  for (const std::string& form : recall::words_of(word, usual.token_options())) {
    uint64_t with = 0;
    for (const auto& [segment, s] : segments_) {
      const recall::Bm25Part part = s.part();
      if (const recall::TermEntry* e = part.postings.find(recall::word_key(form))) with += e->documents;
    }
    turns = std::max(turns, with);
  }
  return turns;
}

std::vector<uint32_t> TopicIndex::rows_with(std::string_view word, const TurnTable& table, RowRun among) const {
  static const recall::Bm25Index usual;
  std::vector<uint32_t> out;
  const std::vector<std::string> forms = recall::words_of(word, usual.token_options());
  for (const auto& [segment, s] : segments_) {
    const recall::Bm25Part part = s.part();
    if (part.ids.empty()) continue;
    // Its documents have numbers one after the other; where no turn came late, they are neighboring rows.
    const size_t n = part.ids.size(), first = table.rows_before(table.response[table.row_of_id(part.ids.front())]);
    QUERN_CHECK(table.id[table.by_number(first + n - 1)] == part.ids.back());
    if (table.arrived.empty() && (first >= among.hi || first + n <= among.lo)) continue;
    for (const std::string& form : forms) {
      const recall::TermEntry* e = part.postings.find(recall::word_key(form));
      for (uint32_t at = e ? e->head : recall::kNoBlock; at != recall::kNoBlock;) {
        const recall::PostingBlock block = part.postings.block(at);
        for (uint32_t i = 0; i < block.count(); ++i) {
          const uint32_t d = block.documents()[i];
          const size_t row = table.by_number(first + d);
          if (row >= among.lo && row < among.hi && !part.postings.is_dead(d))
            out.push_back(static_cast<uint32_t>(row));
        }
        at = block.next();
      }
    }
  }
  if (!std::is_sorted(out.begin(), out.end())) std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool TopicIndex::has_unwritten() const {
  return std::any_of(segments_.begin(), segments_.end(), [&](const auto& s) {
    return s.second.growing && !s.second.kept && s.first != segments_.rbegin()->first;
  });
}

size_t TopicIndex::bytes() const {
  size_t n = 0;
  for (const auto& [segment, s] : segments_)
    n += s.growing ? s.growing->bytes() + 4 * s.responses.capacity() : s.mapped->bytes();
  return n;
}

size_t TopicIndex::mapped_segments() const {
  return static_cast<size_t>(
      std::count_if(segments_.begin(), segments_.end(), [](const auto& s) { return s.second.mapped != nullptr; }));
}

}  // namespace quern::memory
