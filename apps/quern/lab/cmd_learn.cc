// quern learn: rules of learning other than the gradient, and memories other than attention, studied at small sizes.
#include "apps/quern/cli/menu.h"
#include "apps/quern/lab/learn_action_centric.h"
#include "apps/quern/lab/learn_eprop.h"
#include "apps/quern/lab/learn_ovq.h"

namespace quern {
namespace {

constexpr MenuItem kItems[] = {
    {"eprop", "STUDY", "deep e-prop beside the gradient, in leaky stacks", learn_eprop},
    {"ovq", "STUDY", "how much memories of different kinds hold", learn_ovq},
    {"action-centric", "STUDY", "codes of images priced by their rate", learn_action_centric},
};

}  // namespace

int cmd_learn(Words args) {
  return choose("learn", "rules of learning other than the gradient, and memories other than attention", kItems,
                args);
}

}  // namespace quern
