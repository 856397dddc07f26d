#include "report/module_forest.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "base/saturating.h"

namespace inferprobe::report {
namespace {

// "features.3" is in "features", that in "".
std::string_view PathAround(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view LastPart(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

}  // namespace

ModuleForest::ModuleForest(const std::vector<profile::ModuleRow>& rows)
    : rows_(rows), inside_(rows.size()), again_(rows.size()), weights_(rows.size()) {
  FindParents();
  FindAgain();
  Weigh();
}

void ModuleForest::FindParents() {
  std::unordered_map<uint32_t, uint32_t> row_of_module;
  parents_.reserve(rows_.size());
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    // Only a row before it can be its parent: there is no circle.
    const auto parent = row_of_module.find(rows_[i].facts.parent);
    parents_.push_back(parent == row_of_module.end() ? kNowhere : parent->second);
    (parents_[i] == kNowhere ? tops_ : inside_[parents_[i]]).push_back(i);
    row_of_module.emplace(rows_[i].module, i);
  }
}

void ModuleForest::FindAgain() {
  std::unordered_map<std::string_view, uint32_t> row_of_path;
  std::unordered_set<std::string_view> again;
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    row_of_path.emplace(rows_[i].facts.path, i);
    for (const std::string& path : rows_[i].facts.also) again.insert(path);
  }
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    for (const std::string& path : rows_[i].facts.also) {
      const std::string_view around = PathAround(path);
      if (const auto outer = row_of_path.find(around); outer != row_of_path.end()) {
        again_[outer->second].push_back({i, LastPart(path)});
      } else if (again.count(around) == 0) {
        loose_.push_back({i, path});
      }
      // Else the module around it is there again itself, with all that is inside.
    }
  }
}

std::string_view ModuleForest::NameOf(uint32_t row) const {
  const std::string_view path = rows_[row].facts.path;
  if (parents_[row] == kNowhere) return path;
  const std::string_view around = rows_[parents_[row]].facts.path;
  if (around.empty()) return path;
  const bool inside =
      path.size() > around.size() && path.starts_with(around) && path[around.size()] == '.';
  return inside ? path.substr(around.size() + 1) : path;
}

void ModuleForest::Weigh() {
  for (size_t i = rows_.size(); i-- > 0;) {
    if (rows_[i].total_ns) weights_[i] = std::max<int64_t>(*rows_[i].total_ns, 0);
    const bool has_own = rows_[i].total_ns && *rows_[i].total_ns > 0;
    if (has_own || inside_[i].empty()) continue;
    for (const uint32_t inner : inside_[i]) {
      weights_[i] = base::SaturatingAdd(weights_[i], weights_[inner]);
    }
  }
}

}  // namespace inferprobe::report
