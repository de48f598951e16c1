#include "quern/train/trainer/run_state.h"

namespace quern::train {

Json write_run_state(const RunState& s, const LossSpikeDetector& spikes, int64_t ranks, const Json& config) {
  Json j = Json::object(), backs = Json::array();
  j.set("tokens", s.tokens), j.set("consumed", s.consumed), j.set("phase", static_cast<int64_t>(s.phase));
  j.set("source", s.source), j.set("spikes", spikes.save());
  for (const auto& [step, times] : s.rollbacks) {
    Json b = Json::object();
    b.set("step", step), b.set("times", times);
    backs.push(b);
  }
  j.set("rollbacks", backs), j.set("ranks", ranks), j.set("config", config);
  return j;
}

RunState read_run_state(const Json& j, int64_t done, LossSpikeDetector& spikes, const std::string& where) {
  RunState s;
  s.done = done;
  s.tokens = j.at("tokens", where).as_int(where);
  s.phase = static_cast<size_t>(j.at("phase", where).as_int(where));
  s.consumed = j.at("consumed", where).as_int(where);
  if (const Json* source = j.find("source")) s.source = *source;
  spikes.load(j.at("spikes", where));
  for (const Json& b : j.at("rollbacks", where).as_array(where))
    s.rollbacks[b.at("step", where).as_int(where)] = b.at("times", where).as_int(where);
  return s;
}

}  // namespace quern::train
