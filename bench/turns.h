// Ways to do the same thing, one run each in turn, in an order drawn anew for each round, so that
// what disturbs the machine disturbs all alike; and quantiles of what was measured.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace inferprobe {

// Precondition: not empty.
inline double QuantileOf(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(p * static_cast<double>(values.size() - 1))];
}
inline double MedianOf(const std::vector<double>& values) { return QuantileOf(values, 0.5); }

struct TurnPlan {
  size_t ways = 0;
  int rounds = 0;
  int warm_ups = 0;      // runs of a turn before those that count
  int runs_of_turn = 1;  // of which the fastest counts: one that lost its CPU says nothing
  double seconds = 0;    // more rounds until so much time is up
};

// ns of each round, by way.
class Turns {
 public:
  using Clock = std::chrono::steady_clock;

  // run(way) does it once and returns how many ns that took; end_turn(way) is not timed. A tenth of
  // the rounds goes before those that count.
  template <typename Run, typename EndTurn>
  static Turns Take(const TurnPlan& plan, Run run, EndTurn end_turn) {
    Turns turns;
    turns.ns_.resize(plan.ways);
    std::vector<size_t> order(plan.ways);
    for (size_t way = 0; way < plan.ways; ++way) order[way] = way;
    std::mt19937 random(1);
    const auto end = Clock::now() + std::chrono::duration<double>(plan.seconds);
    for (int round = -plan.rounds / 10; round < plan.rounds || Clock::now() < end; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (const size_t way : order) {
        for (int i = 0; i < plan.warm_ups; ++i) run(way);
        double least = std::numeric_limits<double>::max();
        for (int i = 0; i < plan.runs_of_turn; ++i) least = std::min(least, run(way));
        end_turn(way);
        if (round >= 0) turns.ns_[way].push_back(least);
      }
    }
    return turns;
  }

  [[nodiscard]] const std::vector<double>& ns(size_t way) const { return ns_[way]; }
  // The rounds' own ratios: what is common to a round cancels.
  [[nodiscard]] std::vector<double> Ratios(size_t way, size_t base) const {
    std::vector<double> ratios(ns_[way].size());
    for (size_t i = 0; i < ratios.size(); ++i) ratios[i] = ns_[way][i] / ns_[base][i];
    return ratios;
  }

 private:
  std::vector<std::vector<double>> ns_;
};

}  // namespace inferprobe
