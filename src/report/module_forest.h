// Rows of modules as a tree, in which each stands once, and at its other paths only by name.
//
// The rule that people break: a path of a file proves nothing. What is inside what is said by the
// rows' parents; paths only give names, and places to those that are there again.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/modules.h"

namespace inferprobe::report {

class ModuleForest {
 public:
  // One of the other paths of a module.
  struct Again {
    uint32_t row = 0;
    std::string_view name;  // what of the path is shown
  };

  // `rows` must outlive it.
  explicit ModuleForest(const std::vector<profile::ModuleRow>& rows);

  [[nodiscard]] const std::vector<uint32_t>& tops() const { return tops_; }  // in no other
  [[nodiscard]] const std::vector<uint32_t>& Inside(uint32_t row) const { return inside_[row]; }
  [[nodiscard]] const std::vector<Again>& AgainInside(uint32_t row) const { return again_[row]; }
  // Those whose path leads through no module.
  [[nodiscard]] const std::vector<Again>& loose() const { return loose_; }

  // The part of the path that its parent does not have.
  [[nodiscard]] std::string_view NameOf(uint32_t row) const;
  // Its time; where it has none, that of the modules inside.
  [[nodiscard]] int64_t WeightOf(uint32_t row) const { return weights_[row]; }

 private:
  static constexpr uint32_t kNowhere = 0xFFFFFFFF;

  void FindParents();
  void FindAgain();
  void Weigh();

  const std::vector<profile::ModuleRow>& rows_;
  std::vector<uint32_t> parents_;  // by row; kNowhere: it is a top
  std::vector<uint32_t> tops_;
  std::vector<std::vector<uint32_t>> inside_;
  std::vector<std::vector<Again>> again_;
  std::vector<Again> loose_;
  std::vector<int64_t> weights_;
};

}  // namespace inferprobe::report
