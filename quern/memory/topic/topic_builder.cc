#include "quern/memory/topic/topic_builder.h"

#include <sys/resource.h>
#include <unistd.h>

#include "quern/base/error.h"

namespace quern::memory {

std::unique_ptr<TopicIndex> build_topics(ConversationStore& store, const ConversationInfo& conversation,
                                         const std::stop_token& stop) {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);  // of this thread; without the right to it all the same
  try {
    auto index = std::make_unique<TopicIndex>(store, conversation.id);
    index->follow(store.load(conversation), &stop);
    return stop.stop_requested() ? nullptr : std::move(index);
  } catch (const std::exception&) {  // turns were forgotten meanwhile, or there is no room: the asker is told
    return nullptr;
  }
}

TopicBuilder::TopicBuilder(const std::filesystem::path& file, const ConversationInfo& conversation,
                           int32_t segment_turns)
    : store_(std::make_unique<ConversationStore>(
          file, ConversationStore::Options{.create = false, .durable = false, .topic_segment_turns = segment_turns})),
      thread_([this, conversation](const std::stop_token& stop) {
        index_ = build_topics(*store_, conversation, stop);
        if (!index_) store_.reset();
        done_ = true;
      }) {}

std::unique_ptr<TopicIndex> TopicBuilder::take(ConversationStore& store) {
  thread_.request_stop();
  thread_.join();
  if (index_) index_->serve_from(store);
  return std::move(index_);
}

}  // namespace quern::memory
