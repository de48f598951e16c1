// The trees are copied between two steps of the engine and made into JSON outside of it.
#include "quern/serve/api/cache_api.h"

#include <algorithm>
#include <vector>

#include "quern/infer/cache/cache_tree.h"
#include "quern/nn/row_adapters.h"

namespace quern::serve {
namespace {

constexpr size_t kPreviewTokens = 48;
constexpr int64_t kMaxNodes = 2000;  // of an answer; the rest is counted

struct Copied {
  std::vector<infer::CacheEdge> memory, disk;
  infer::PrefixDisk::Counts counts = {};
  int64_t bytes = 0, budget = 0;
  bool has_disk = false;
};

Copied copy_of(EngineHost& host) {
  Copied out;
  host.between_steps([&](models::Model&, infer::PrefixCache& cache) {
    out.memory = cache.edges(), out.bytes = cache.bytes(), out.budget = cache.budget();
    if (const infer::PrefixDisk* disk = cache.disk())
      out.disk = disk->edges(), out.counts = disk->counts(), out.has_disk = true;
  });
  return out;
}

struct Writer {
  const ServedModel& model;
  bool text;
  int64_t left = kMaxNodes, omitted = 0;

  Json node(const infer::CacheNode& n) {
    Json j = Json::object();
    j.set("begin", n.begin), j.set("tokens", std::ssize(n.tokens));
    if (text) {
      const auto shown = std::min(kPreviewTokens, n.tokens.size());
      j.set("preview", model.tokenizer.decode(std::span(n.tokens).first(shown)));
    }
    j.set("where", n.in_memory && n.on_disk ? "both" : n.in_memory ? "memory" : "disk");
    j.set("memory_bytes", n.memory_bytes), j.set("disk_bytes", n.disk_bytes);
    j.set("snapshots_in_memory", n.snapshots_in_memory), j.set("snapshots_on_disk", n.snapshots_on_disk);
    j.set("hits", n.hits), j.set("age_seconds", n.age);
    j.set("children", children(n));
    return j;
  }

  // Those used last come first.
  Json children(const infer::CacheNode& n) {
    std::vector<const infer::CacheNode*> order;
    for (const auto& c : n.children) order.push_back(c.get());
    std::ranges::sort(order, {}, &infer::CacheNode::age);
    Json list = Json::array();
    for (const infer::CacheNode* c : order) {
      if (left <= 0) {
        ++omitted;
        continue;
      }
      --left;
      list.push(node(*c));
    }
    return list;
  }
};

Json model_json(const ServedModel& m, const std::vector<std::pair<std::string, std::string>>& names, bool text) {
  const Copied copied = copy_of(*m.host);
  Json j = Json::object(), trees = Json::array();
  j.set("model", m.id), j.set("memory_bytes", copied.bytes), j.set("memory_budget_bytes", copied.budget);
  Json disk;
  if (copied.has_disk) {
    disk = Json::object();
    disk.set("bytes", copied.counts.bytes), disk.set("budget_bytes", copied.counts.budget);
    disk.set("tokens", copied.counts.tokens), disk.set("read_tokens", copied.counts.read_tokens);
    disk.set("skipped", copied.counts.skipped);
  }
  j.set("disk", std::move(disk));
  Writer w{.model = m, .text = text};
  for (const auto& root : infer::cache_tree(copied.memory, copied.disk)) {
    Json tree = Json::object();
    const auto name = std::ranges::find(names, root->variant, &std::pair<std::string, std::string>::first);
    tree.set("adapter", root->variant.empty() ? Json() : Json(name == names.end() ? "other" : name->second));
    tree.set("children", w.children(*root));
    trees.push(std::move(tree));
  }
  j.set("trees", std::move(trees)), j.set("omitted_nodes", w.omitted);
  return j;
}

}  // namespace

Json cache_json(ModelManager& manager, const HttpRequest& r, SlotText text,
                const std::function<bool(const std::string& id)>& shown) {
  const bool with_text = wants_text(r, text);
  std::vector<std::shared_ptr<ServedModel>> loaded;
  std::vector<std::pair<std::string, std::string>> names;  // of variants
  for (const std::string& id : manager.ids())
    if (auto m = manager.loaded(id); m && m->host) {
      if (m->base) names.emplace_back(nn::choice_key(m->adapters), m->id);
      if (!m->base && shown(id)) loaded.push_back(std::move(m));
    }
  Json j = Json::object(), list = Json::array();
  for (const auto& m : loaded) list.push(model_json(*m, names, with_text));
  j.set("object", "cache"), j.set("models", std::move(list));
  return j;
}

}  // namespace quern::serve
