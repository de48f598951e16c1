// quern research: learning rules other than backpropagation, memories other than attention, codes for a question, all
// studied at small sizes.
#include "apps/quern/cli/menu.h"
#include "apps/quern/lab/learn_action_centric.h"
#include "apps/quern/lab/learn_eprop.h"
#include "apps/quern/lab/learn_ovq.h"

namespace quern::cli {
namespace {

constexpr MenuItem kItems[] = {
    {"eprop", "STUDY", "deep e-prop compared with backpropagation, in leaky recurrent networks", learn_eprop},
    {"ovq", "STUDY", "capacity of sequence memories: attention, OVQ, delta rules, linear attention", learn_ovq},
    {"action-centric", "STUDY", "rate-distortion codes of images for a question", learn_action_centric},
};

}  // namespace

bool has_lab() { return true; }

int cmd_learn(Words args) {
  return choose("research", "small research studies: e-prop, OVQ memories, action-centric codes", kItems, args);
}

}  // namespace quern::cli
