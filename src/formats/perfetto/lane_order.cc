#include "formats/perfetto/lane_order.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "formats/perfetto/lanes.h"

namespace inferprobe::perfetto {
namespace {

using profile::kNone;
using profile::Profile;
using profile::Slice;

// Of slices that start together, the preorder of the tree that Slice::parent spans.
class TiedOrder {
 public:
  TiedOrder(const Profile& profile, const RunPlan* runs) : profile_(profile), runs_(runs) {}

  // Sorts what lies between, which is of one track and starts together, by index as it is given.
  void Sort(std::vector<uint32_t>::iterator begin, std::vector<uint32_t>::iterator end) {
    nodes_.clear();
    for (auto at = begin; at != end; ++at) nodes_.push_back({*at, kNone, DepthOf(*at), false});
    for (Node& node : nodes_) {
      const uint32_t parent = LanePlanner::Enclosing(profile_, node.slice);
      const auto found = std::lower_bound(
          begin, end, parent, [](uint32_t slice, uint32_t wanted) { return slice < wanted; });
      if (found != end && *found == parent) node.parent = static_cast<uint32_t>(found - begin);
    }
    children_.resize(nodes_.size());
    for (uint32_t i = 0; i < children_.size(); ++i) children_[i] = i;
    std::sort(children_.begin(), children_.end(),
              [&](uint32_t a, uint32_t b) { return KeyOf(nodes_[a]) < KeyOf(nodes_[b]); });
    out_ = begin;
    Walk(kNone);
    // What only a circle of parents reaches.
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].visited) WalkFrom(i);
    }
    for (const uint32_t slice : sorted_) *out_++ = slice;
    sorted_.clear();
  }

 private:
  struct Node {
    uint32_t slice;
    uint32_t parent;  // among nodes_
    uint32_t depth;
    bool visited;
  };

  // By parent; siblings: slices without length first (they may belong into something that ends
  // here); then the longer first, inner ones before outer ones: what has no parent may lie in
  // something by its times alone. By run, as that is the same when a file is converted again.
  [[nodiscard]] std::tuple<uint32_t, bool, int64_t, int64_t, uint32_t, uint32_t> KeyOf(
      const Node& node) const {
    const int64_t dur_ns = profile_.slices[node.slice].dur_ns;
    const uint32_t run = runs_ == nullptr ? 0 : runs_->RunOf(node.slice);
    return {node.parent, dur_ns != 0, -dur_ns, -static_cast<int64_t>(node.depth), run, node.slice};
  }

  // How many slices are around it. Remembered: a chain is climbed once.
  uint32_t DepthOf(uint32_t slice) {
    chain_.clear();
    uint32_t depth = 0;
    for (uint32_t at = slice; at != kNone; at = LanePlanner::Enclosing(profile_, at)) {
      const auto [known, is_new] = depths_.try_emplace(at, 0);
      if (!is_new) {  // or in a circle
        depth = known->second + 1;
        break;
      }
      chain_.push_back(at);
    }
    for (; !chain_.empty(); chain_.pop_back()) depths_[chain_.back()] = depth++;
    return depths_[slice];
  }

  void Walk(uint32_t parent) {
    auto child = std::lower_bound(
        children_.begin(), children_.end(), parent,
        [&](uint32_t node, uint32_t wanted) { return nodes_[node].parent < wanted; });
    for (; child != children_.end() && nodes_[*child].parent == parent; ++child) {
      if (!nodes_[*child].visited) WalkFrom(*child);
    }
  }

  // Without recursion: slices that start together may be as deep as they are many.
  void WalkFrom(uint32_t root) {
    Visit(root);
    while (!levels_.empty()) {
      const auto [at, parent] = levels_.back();
      if (at == children_.size() || nodes_[children_[at]].parent != parent) {
        levels_.pop_back();
        continue;
      }
      ++levels_.back().first;
      if (!nodes_[children_[at]].visited) Visit(children_[at]);
    }
  }

  void Visit(uint32_t node) {
    nodes_[node].visited = true;
    sorted_.push_back(nodes_[node].slice);
    const auto first = std::lower_bound(
        children_.begin(), children_.end(), node,
        [&](uint32_t child, uint32_t wanted) { return nodes_[child].parent < wanted; });
    levels_.emplace_back(static_cast<size_t>(first - children_.begin()), node);
  }

  const Profile& profile_;
  const RunPlan* runs_;
  std::unordered_map<uint32_t, uint32_t> depths_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> children_;                   // nodes, siblings together and in order
  std::vector<std::pair<size_t, uint32_t>> levels_;  // next of children_, of which parent
  std::vector<uint32_t> chain_;
  std::vector<uint32_t> sorted_;
  std::vector<uint32_t>::iterator out_;
};

}  // namespace

void SortForLanes(const Profile& profile, const RunPlan* runs, std::vector<uint32_t>& slices) {
  const auto key = [&](uint32_t index) {
    const Slice& slice = profile.slices[index];
    return std::tuple(slice.track, slice.start_ns);
  };
  std::sort(slices.begin(), slices.end(),
            [&](uint32_t a, uint32_t b) { return std::tuple(key(a), a) < std::tuple(key(b), b); });
  TiedOrder tied(profile, runs);
  for (auto begin = slices.begin(); begin != slices.end();) {
    auto end = begin + 1;
    while (end != slices.end() && key(*end) == key(*begin)) ++end;
    if (end - begin > 1) tied.Sort(begin, end);
    begin = end;
  }
}

}  // namespace inferprobe::perfetto
