// Builds the topic index in the background. The word index of a long conversation takes seconds to build without files
// on disk. A TopicBuilder uses a low-priority thread and a database connection of its own, so that opening a
// conversation does not block; a question about a topic builds what is missing.
#pragma once
#include <atomic>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <thread>

#include "quern/memory/topic/topic_index.h"

namespace quern::memory {

// By the calling thread alone; full segments are on disk afterwards. Null when it was stopped, or when the
// conversation changed meanwhile.
std::unique_ptr<TopicIndex> build_topics(ConversationStore& store, const ConversationInfo& conversation,
                                         const std::stop_token& stop);

class TopicBuilder {
 public:
  TopicBuilder(const std::filesystem::path& file, const ConversationInfo& conversation, int32_t segment_turns);
  bool done() const { return done_; }
  // To be followed with the table of whoever takes it. Null where it was not made to its end: whoever asks goes on
  // from the segments that lie on disk, with all threads.
  std::unique_ptr<TopicIndex> take(ConversationStore& store);

 private:
  std::unique_ptr<ConversationStore> store_;
  std::unique_ptr<TopicIndex> index_;
  std::atomic<bool> done_ = false;
  std::jthread thread_;  // last: it ends before what it writes to
};

}  // namespace quern::memory
