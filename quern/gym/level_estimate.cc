#include "quern/gym/level_estimate.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {
namespace {

constexpr size_t kParticles = 256;
// The prior: levels around 10 with tails that reach hundreds (Student's t, three degrees of freedom), slopes around e.
constexpr double kMiddle = 10, kSpread = 20, kLogSlope = 1, kLogSlopeSpread = 1;

double square(double x) { return x * x; }

double log_prior(double level, double log_slope) {
  return -2 * std::log1p(square((level - kMiddle) / kSpread) / 3) -
         square((log_slope - kLogSlope) / kLogSlopeSpread) / 2;
}

// Of `successes` of `attempts`, but for the binomial coefficient; exact where a probability is all but 0 or 1.
double log_likelihood(double level, double log_slope, double difficulty, int64_t successes, int64_t attempts) {
  const double x = (difficulty - level) / std::exp(log_slope);
  const double log_fail = -std::log1p(std::exp(-std::abs(x))) + std::min(0.0, x),
               log_succeed = -std::log1p(std::exp(-std::abs(x))) - std::max(0.0, x);
  return static_cast<double>(successes) * log_succeed + static_cast<double>(attempts - successes) * log_fail;
}

int64_t whole(const Json& j, const char* key) {
  const Json* v = j.find(key);
  if (!v || !v->is_int()) fail("level estimate: {} is missing or not a whole number", key);
  return v->as_int();
}

}  // namespace

double ResponseCurve::success(double difficulty) const { return 1 / (1 + std::exp((difficulty - level) / slope)); }

LevelEstimate::LevelEstimate(uint64_t seed) : seed_(seed), rng_(seed, 0x1e7e1) {
  particles_.resize(kParticles);
  for (Particle& p : particles_) {
    const double chi = square(rng_.normal()) + square(rng_.normal()) + square(rng_.normal());
    p.level = kMiddle + kSpread * rng_.normal() / std::sqrt(chi / 3);
    p.log_slope = kLogSlope + kLogSlopeSpread * rng_.normal();
  }
}

std::vector<double> LevelEstimate::weights() const {
  double top = -1e300, sum = 0;
  for (const Particle& p : particles_) top = std::max(top, p.log_likelihood + p.log_weight);
  std::vector<double> w;
  w.reserve(particles_.size());
  for (const Particle& p : particles_) sum += w.emplace_back(std::exp(p.log_likelihood + p.log_weight - top));
  for (double& x : w) x /= sum;
  return w;
}

int64_t LevelEstimate::ask(Rng& r) const {
  const std::vector<double> w = weights();
  double at = r.uniform();
  size_t i = 0;
  while (i + 1 < w.size() && at >= w[i]) at -= w[i++];
  // One group in ten looks away from the middle, for the slope's sake.
  const double p = r.uniform() < 0.1 ? 0.25 + 0.5 * r.uniform() : 0.5;
  const double d = particles_[i].level + std::exp(particles_[i].log_slope) * std::log((1 - p) / p);
  return static_cast<int64_t>(std::llround(std::clamp(d, 0.0, static_cast<double>(kMaxDifficulty))));
}

void LevelEstimate::observe(int64_t difficulty, int64_t successes, int64_t attempts) {
  if (difficulty < 0 || difficulty > kMaxDifficulty || attempts < 1 || successes < 0 || successes > attempts)
    fail("level estimate: {} of {} attempts at difficulty {}: that cannot be", successes, attempts, difficulty);
  history_.push_back({difficulty, successes, attempts});
  for (Particle& p : particles_)
    p.log_likelihood += log_likelihood(p.level, p.log_slope, static_cast<double>(difficulty), successes, attempts);
  const std::vector<double> w = weights();
  double squares = 0;
  for (double x : w) squares += square(x);
  if (1 / squares < static_cast<double>(kParticles) / 2) redraw(w);
}

void LevelEstimate::redraw(const std::vector<double>& w) {
  double level = 0, log_slope = 0, level_var = 0, slope_var = 0, both = 0;
  for (size_t i = 0; i < w.size(); ++i)
    level += w[i] * particles_[i].level, log_slope += w[i] * particles_[i].log_slope;
  for (size_t i = 0; i < w.size(); ++i) {
    const double x = particles_[i].level - level, y = particles_[i].log_slope - log_slope;
    level_var += w[i] * x * x, slope_var += w[i] * y * y, both += w[i] * x * y;
  }
  // The kernel around each old particle: half the covariance, but not so narrow that nothing could move.
  level_var = 0.5 * level_var + 0.01, slope_var = 0.5 * slope_var + 0.001, both *= 0.5;
  const double a = std::sqrt(level_var), b = both / a, c = std::sqrt(std::max(1e-6, slope_var - b * b));
  std::vector<double> cumulated;
  for (double x : w) cumulated.push_back((cumulated.empty() ? 0 : cumulated.back()) + x);
  std::vector<Particle> drawn(particles_.size());
  for (Particle& p : drawn) {
    const auto at = std::lower_bound(cumulated.begin(), cumulated.end(), rng_.uniform() * cumulated.back());
    const Particle& from = particles_[static_cast<size_t>(
        std::min<int64_t>(at - cumulated.begin(), static_cast<int64_t>(particles_.size()) - 1))];
    const double u = rng_.normal(), v = rng_.normal();
    p.level = from.level + a * u, p.log_slope = from.log_slope + b * u + c * v;
  }
  for (Particle& p : drawn) {
    double density = 1e-300;
    for (size_t i = 0; i < w.size(); ++i) {
      if (w[i] < 1e-12) continue;
      const double u = (p.level - particles_[i].level) / a, v = (p.log_slope - particles_[i].log_slope - b * u) / c;
      density += w[i] * std::exp(-(u * u + v * v) / 2);
    }
    p.log_weight = log_prior(p.level, p.log_slope) - std::log(density);
    for (const Group& g : history_)
      p.log_likelihood +=
          log_likelihood(p.level, p.log_slope, static_cast<double>(g.difficulty), g.successes, g.attempts);
  }
  particles_ = std::move(drawn);
}

ResponseCurve LevelEstimate::curve() const {
  const std::vector<double> w = weights();
  double level = 0, log_slope = 0;
  for (size_t i = 0; i < w.size(); ++i)
    level += w[i] * particles_[i].level, log_slope += w[i] * particles_[i].log_slope;
  return {level, std::exp(log_slope)};
}

double LevelEstimate::level_deviation() const {
  const std::vector<double> w = weights();
  const double level = curve().level;
  double variance = 0;
  for (size_t i = 0; i < w.size(); ++i) variance += w[i] * square(particles_[i].level - level);
  return std::sqrt(variance);
}

Json LevelEstimate::state() const {
  Json j = Json::object(), groups = Json::array();
  j.set("seed", static_cast<int64_t>(seed_));
  for (const Group& g : history_) {
    Json one = Json::object();
    one.set("difficulty", g.difficulty), one.set("successes", g.successes), one.set("attempts", g.attempts);
    groups.push(std::move(one));
  }
  j.set("groups", std::move(groups));
  return j;
}

LevelEstimate LevelEstimate::of_state(const Json& j) {
  LevelEstimate e(static_cast<uint64_t>(whole(j, "seed")));
  const Json* groups = j.find("groups");
  if (!groups || !groups->is_array()) fail("level estimate: groups is missing or no list");
  for (const Json& g : groups->as_array())
    e.observe(whole(g, "difficulty"), whole(g, "successes"), whole(g, "attempts"));
  return e;
}

}  // namespace quern::gym
