// The experts that a forward pass sent its tokens to: recorded where tokens are sampled, replayed where the same tokens
// are learned from, so that both passes compute the same function (router replay, arXiv 2510.11370). Replay pins the
// choice alone: the weights of the chosen experts come from the router's own probabilities, and gradients reach it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "quern/base/error.h"

namespace quern::nn {

struct ExpertRoutes {
  static constexpr uint8_t kFree = 255;  // not recorded: the router chooses

  int64_t slots =
      0;  // of a token: experts per token, summed over the MoE layers; 0 = no experts, or nothing recorded
  std::vector<uint8_t> ids;  // [tokens, slots]; the skip class is the number of experts

  int64_t tokens() const { return slots == 0 ? 0 : static_cast<int64_t>(ids.size()) / slots; }
  bool empty() const { return ids.empty(); }
  std::span<const uint8_t> of(int64_t token) const {
    return std::span(ids).subspan(static_cast<size_t>(token * slots), static_cast<size_t>(slots));
  }
  void start(int64_t tokens, int64_t slots_per_token) {
    slots = slots_per_token;
    ids.assign(static_cast<size_t>(tokens * slots), kFree);
  }
  // Rows [begin, begin + n) of another pass of the same model.
  void append(const ExpertRoutes& from, int64_t begin, int64_t n) {
    if (from.slots == 0) return;
    slots = from.slots;
    const auto first = from.ids.begin() + begin * slots;
    ids.insert(ids.end(), first, first + n * slots);
  }
  bool operator==(const ExpertRoutes&) const = default;
};

// Where a layer finds its slots in the routes of a forward pass.
struct RouteSlots {
  ExpertRoutes* record = nullptr;
  const ExpertRoutes* replay = nullptr;
  int64_t first = 0;  // slot of the layer

  void write(std::span<const int32_t> chosen, int64_t per_token) const {
    if (!record) return;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const auto t = static_cast<int64_t>(i) / per_token, s = static_cast<int64_t>(i) % per_token;
      if (chosen[i] >= ExpertRoutes::kFree)
        fail("routes are recorded of up to 254 experts, not of expert {}", chosen[i]);
      record->ids[static_cast<size_t>(t * record->slots + first + s)] = static_cast<uint8_t>(chosen[i]);
    }
  }
  // Replaces choices that are pinned; `classes` is the number of experts, and one for the skip class where there is one.
  void pin(std::span<int32_t> chosen, int64_t per_token, int64_t classes) const {
    if (!replay) return;
    const auto tokens = static_cast<int64_t>(chosen.size()) / per_token;
    if (replay->tokens() != tokens) fail("routes of {} tokens for a batch of {}", replay->tokens(), tokens);
    for (size_t i = 0; i < chosen.size(); ++i) {
      const auto t = static_cast<int64_t>(i) / per_token, s = static_cast<int64_t>(i) % per_token;
      const uint8_t e = replay->of(t)[static_cast<size_t>(first + s)];
      if (e == ExpertRoutes::kFree) continue;
      if (e >= classes) fail("a recorded route names expert {}, the layer has {}", e, classes);
      chosen[i] = e;
    }
  }
};

}  // namespace quern::nn
