// How a run moves through its recipe: phases, checkpoints, and the way back after a loss spike.
#include "quern/base/stopwatch.h"
#include "quern/train/checkpoint/reader.h"
#include "quern/train/trainer/train_state.h"
#include "quern/train/trainer/trainer_impl.h"
#include "quern/train/trainer/utilization.h"

namespace quern::train {

void Trainer::Impl::follow_phases() {
  const auto [next, at] = recipe.at(state.done);
  if (next != state.phase) {
    enter_phase(next);
    event("phase", fmt::format("'{}' begins", phase().name));
    measure_work();
  }
  if (at == 0) spikes.forget();  // other data: its losses are measured against each other
}

// The model keeps its values and the optimizers what they know.
void Trainer::Impl::enter_phase(size_t i) {
  state.phase = i;
  trained.change(phase());
  source.reset();  // it may hold a model of its own
  source = o.source({recipe, i, ranks, trained.model(), trained.adapter()});
  text_bytes = bytes_per_token(phase().data, recipe.base);
}

void Trainer::Impl::measure_work() {
  comm.barrier();
  if (comm.rank() == 0) {
    flops_per_token = training_flops_per_token(trained.model(), recipe, state.phase);
    peak = peak_flops(recipe);
  }
  comm.barrier();
}

void Trainer::Impl::save() {
  trained.settle();
  state.consumed = source->consumed(), state.source = source->state();
  writer->save(state.done, train_state(trained.learner(), trained.optimizer(), comm),
               write_run_state(state, spikes, comm.size(), trained.config()));
  saved = state.done;
}

double Trainer::Impl::wait_for_save() {
  if (!recipe.checkpoint.bounded || !writer->busy()) return 0;
  Stopwatch clock;
  enter(Section::checkpoint);
  writer->wait();
  enter(Section::optimizer);
  return clock.lap();
}

void Trainer::Impl::restore(const std::filesystem::path& checkpoint) {
  const CheckpointReader from(checkpoint);
  for (const std::string& s : load_train_state(from, trained.learner(), trained.optimizer()))
    if (comm.rank() == 0) o.say(fmt::format("{} is not in {}: it starts from zero", s, checkpoint.string()));
  const size_t entered = state.phase;
  state = read_run_state(from.state(), from.step(), spikes, checkpoint.string() + ", state");
  if (state.phase == entered) {
    source->seek(state.consumed);
    if (!state.source.is_null()) source->restore(state.source);
  }
  state.phase = entered, saved = state.done;
}

void Trainer::Impl::go_back(const std::string& why) {
  trained.settle();
  writer->wait();
  const auto checkpoint = latest_committed(o.out);
  if (!checkpoint)
    throw BadNumbers(fmt::format("{} at step {}, and there is no checkpoint to go back to", why, state.done));
  const RunState failed = state;
  const int64_t passed = source->consumed();
  enter_phase(recipe.at(CheckpointReader(*checkpoint).step()).phase);
  restore(*checkpoint);
  state.rollbacks = failed.rollbacks;
  const int64_t times = ++state.rollbacks[state.done], maximum = recipe.spikes.max_rollbacks;
  if (times > maximum)
    throw BadNumbers(fmt::format(
        "{} at step {}; this was tried {} times from step {}, each time on other sequences: the learning rate "
        "or the data is at fault",
        why, failed.done, maximum + 1, state.done));
  if (state.phase == recipe.at(failed.done).phase) source->seek(passed);  // the rows between are not drawn again
  recorder.discard_after(state.done);
  event("rollback",
        fmt::format("{} at step {}; back to step {} ({} of {} times), the sequences in between are skipped", why,
                    failed.done, state.done, times, maximum));
}

}  // namespace quern::train
