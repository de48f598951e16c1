// quern gym: the environments of this build. One file per verb.
#include "apps/quern/cli/menu.h"
#include "apps/quern/gym/gym_commands.h"

namespace quern::cli {
namespace {

constexpr MenuItem kItems[] = {
    {"list", "[NAME…] [--json]", "list the environments of this build by group", gym_list},
    {"show", "NAME [--difficulty D] [--seed N]", "print a problem of an environment, and its solution", gym_show},
    {"sample", "NAME…|all [--count N] [--format chat]", "print problems or training examples as JSON lines",
     gym_sample},
    {"solutions", "MODEL [NAME…] --out FILE", "build training chats of a model's own right answers", gym_solutions},
    {"check", "NAME…|all [--seeds N]", "check the properties of environments over many seeds, and their speed",
     gym_check},
    {"eval", "MODEL [NAME…] [--difficulty 0-4]", "success of a model on environments, by difficulty", gym_eval},
    {"verify", "NAME [REPLY] [--difficulty D] [--seed N]",
     "judge a reply to a problem or by an expectation, or replies to a task file", gym_verify},
};

}  // namespace

int cmd_gym(Words args) { return choose("gym", "environments that pose problems and verify answers", kItems, args); }

}  // namespace quern::cli
