#include "profile/operator_nesting.h"

#include <algorithm>
#include <numeric>

namespace inferprobe::profile {

void OperatorNesting::Find() {
  NestFixed();
  FindJumps();
  NestOperators();
  FindParentsOfFixed();
}

// Parents before their children: of equal times, what is known to be around.
std::vector<uint32_t> OperatorNesting::FixedInOrder() const {
  constexpr uint32_t kUnknown = kNone;
  std::vector<uint32_t> depth(fixed_.size(), kUnknown);
  std::vector<uint32_t> chain;
  for (uint32_t i = 0; i < fixed_.size(); ++i) {
    uint32_t at = i;
    while (at < fixed_.size() && depth[at] == kUnknown) {
      depth[at] = 0;  // also what ends a circle
      chain.push_back(at);
      at = fixed_[at].parent;
    }
    uint32_t above = at < fixed_.size() ? depth[at] + 1 : 0;
    for (; !chain.empty(); chain.pop_back()) depth[chain.back()] = above++;
  }
  std::vector<uint32_t> order(fixed_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (fixed_[a].start_ns != fixed_[b].start_ns) return fixed_[a].start_ns < fixed_[b].start_ns;
    if (fixed_[a].end_ns != fixed_[b].end_ns) return fixed_[a].end_ns > fixed_[b].end_ns;
    // Rings give what is inside first.
    return depth[a] != depth[b] ? depth[a] < depth[b] : a > b;
  });
  return order;
}

void OperatorNesting::NestFixed() {
  fixed_order_ = FixedInOrder();
  fixed_parent_.assign(fixed_.size(), root());
  std::vector<uint32_t> open;
  const auto close = [&] {
    const int64_t end_ns = fixed_[open.back()].end_ns;
    open.pop_back();
    changes_.push_back({end_ns, open.empty() ? root() : open.back()});
  };
  for (const uint32_t i : fixed_order_) {
    FixedSpan& span = fixed_[i];
    // What lasts no time may be at the end of its parent.
    const uint32_t known =
        span.parent < fixed_.size() && Fixed(span.parent).Encloses(Fixed(i)) ? span.parent : kNone;
    while (!open.empty() && open.back() != known && fixed_[open.back()].end_ns <= span.start_ns) {
      close();
    }
    if (!open.empty() && fixed_[open.back()].end_ns < span.end_ns) {
      span.overlaps = true;
      continue;
    }
    if (!open.empty()) fixed_parent_[i] = open.back();
    open.push_back(i);
    changes_.push_back({span.start_ns, i});
  }
  while (!open.empty()) close();
  std::erase_if(fixed_order_, [&](uint32_t i) { return fixed_[i].overlaps; });
}

// Ancestors in logarithmic time: each jump is as long as the two before it where these are alike.
void OperatorNesting::FindJumps() {
  jump_.assign(fixed_.size() + 1, root());
  depth_.assign(fixed_.size() + 1, 0);
  first_child_.assign(fixed_.size() + 2, 0);
  for (const uint32_t i : fixed_order_) {
    const uint32_t parent = fixed_parent_[i];
    const uint32_t far = jump_[parent];
    depth_[i] = depth_[parent] + 1;
    const bool alike = depth_[parent] - depth_[far] == depth_[far] - depth_[jump_[far]];
    jump_[i] = alike && parent != root() ? jump_[far] : parent;
    ++first_child_[parent + 1];
  }
  std::partial_sum(first_child_.begin(), first_child_.end(), first_child_.begin());
  std::vector<uint32_t> next(first_child_.begin(), first_child_.end() - 1);
  children_.resize(fixed_order_.size());
  for (const uint32_t i : fixed_order_) children_[next[fixed_parent_[i]]++] = i;
}

uint32_t OperatorNesting::InnermostFixed(int64_t time_ns) const {
  const auto next =
      std::upper_bound(changes_.begin(), changes_.end(), time_ns,
                       [](int64_t time, const Change& change) { return time < change.time_ns; });
  return next == changes_.begin() ? root() : std::prev(next)->innermost;
}

// The innermost fixed slice at the operator's middle that is not inside it.
uint32_t OperatorNesting::FixedAround(uint32_t index) const {
  const Span span = Operator(index);
  const auto inside = [&](uint32_t i) {
    return i != root() && span.Encloses(Fixed(i)) && !(span == Fixed(i));
  };
  uint32_t at = InnermostFixed(span.start_ns + (span.end_ns - span.start_ns) / 2);
  while (inside(at)) at = inside(jump_[at]) ? jump_[at] : fixed_parent_[at];
  return at;
}

// The child that began before and ends after; kNone.
uint32_t OperatorNesting::ChildAt(uint32_t parent, int64_t time_ns) const {
  const auto begin = children_.begin() + first_child_[parent];
  const auto end = children_.begin() + first_child_[parent + 1];
  const auto next = std::lower_bound(begin, end, time_ns, [&](uint32_t child, int64_t time) {
    return fixed_[child].start_ns < time;
  });
  if (next == begin || fixed_[*std::prev(next)].end_ns <= time_ns) return kNone;
  return *std::prev(next);
}

// Cuts an operator to what it is in. `around`: the operator that it is in, or kNone.
void OperatorNesting::Place(uint32_t index, uint32_t around) {
  OperatorSpan& span = operators_[index];
  const Span recorded = Operator(index);
  NestedIndex parent = kNone;
  if (around != kNone) {
    parent = root() + around;
    const Span outer = Operator(around);
    span.start_ns = std::clamp(span.start_ns, outer.start_ns, outer.end_ns);
    span.end_ns = std::clamp(span.end_ns, outer.start_ns, outer.end_ns);
  }
  const bool at_border =
      around != kNone && span.start_ns == span.end_ns &&
      (span.start_ns == Operator(around).start_ns || span.end_ns == Operator(around).end_ns);
  if (!at_border) {
    const uint32_t fixed = FixedAround(index);
    if (fixed != root()) {
      const Span outer = Fixed(fixed);
      span.start_ns = std::max(span.start_ns, outer.start_ns);
      span.end_ns = std::min(span.end_ns, outer.end_ns);
      const bool in_operator = around != kNone && outer.Encloses(Operator(around));
      if (!in_operator) parent = fixed;
    }
    if (const uint32_t child = ChildAt(fixed, span.start_ns);
        child != kNone && fixed_[child].end_ns < span.end_ns) {
      span.start_ns = fixed_[child].end_ns;
    }
    if (const uint32_t child = ChildAt(fixed, span.end_ns);
        child != kNone && fixed_[child].start_ns > span.start_ns) {
      span.end_ns = fixed_[child].start_ns;
    }
  }
  span.parent = parent;
  span.cut = !(recorded == Operator(index));
}

// The operators' own nesting is by the times that were recorded, which are of one clock.
void OperatorNesting::NestOperators() {
  operators_order_.resize(operators_.size());
  std::iota(operators_order_.begin(), operators_order_.end(), 0);
  std::stable_sort(operators_order_.begin(), operators_order_.end(), [&](uint32_t a, uint32_t b) {
    const Span& first = Operator(a);
    const Span& second = Operator(b);
    return first.start_ns != second.start_ns ? first.start_ns < second.start_ns
                                             : first.end_ns > second.end_ns;
  });
  std::vector<uint32_t> by_time(points_.size());
  std::iota(by_time.begin(), by_time.end(), 0);
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](uint32_t a, uint32_t b) { return points_[a].time_ns < points_[b].time_ns; });

  around_operator_.assign(operators_.size(), kNone);
  std::vector<Open> open;
  const auto innermost = [&] { return open.empty() ? kNone : open.back().index; };
  auto point = by_time.begin();
  const auto place_points = [&](const int64_t* before_ns) {
    for (; point != by_time.end(); ++point) {
      const int64_t time_ns = points_[*point].time_ns;
      if (before_ns != nullptr && time_ns >= *before_ns) return;
      while (!open.empty() && open.back().recorded_end_ns < time_ns) open.pop_back();
      PlacePoint(&points_[*point], innermost());
    }
  };
  for (const uint32_t i : operators_order_) {
    const Span recorded = Operator(i);
    place_points(&recorded.start_ns);
    const auto ended = [&](const Open& one) {
      if (one.recorded_end_ns != recorded.start_ns) return one.recorded_end_ns < recorded.start_ns;
      // Two that last no time, at one time: in each other.
      return recorded.end_ns != recorded.start_ns ||
             operators_[one.index].start_ns != operators_[one.index].end_ns;
    };
    while (!open.empty() && ended(open.back())) open.pop_back();
    around_operator_[i] = innermost();
    const int64_t outer_end_ns = open.empty() ? recorded.end_ns : open.back().recorded_end_ns;
    open.push_back({i, std::min(recorded.end_ns, outer_end_ns)});
    Place(i, around_operator_[i]);
  }
  place_points(nullptr);
}

void OperatorNesting::PlacePoint(PointInTime* point, uint32_t innermost) const {
  const uint32_t fixed = InnermostFixed(point->time_ns);
  if (innermost == kNone) {
    point->inside = fixed == root() ? kNone : fixed;
    return;
  }
  const bool fixed_is_inner = fixed != root() && Operator(innermost).Encloses(Fixed(fixed)) &&
                              !(Operator(innermost) == Fixed(fixed));
  point->inside = fixed_is_inner ? fixed : root() + innermost;
}

// An operator may have come between a fixed slice and its parent.
void OperatorNesting::FindParentsOfFixed() {
  std::vector<uint32_t> open;  // of which each is in the one before
  auto next = operators_order_.begin();
  for (const uint32_t i : fixed_order_) {
    const Span span = Fixed(i);
    for (; next != operators_order_.end() && operators_[*next].start_ns <= span.start_ns; ++next) {
      while (!open.empty() && open.back() != around_operator_[*next]) open.pop_back();
      open.push_back(*next);
    }
    const auto inner = std::partition_point(open.begin(), open.end(), [&](uint32_t one) {
      return Operator(one).Encloses(span) && !(Operator(one) == span);
    });
    const uint32_t parent = fixed_parent_[i];
    fixed_[i].parent = parent == root() ? kNone : parent;
    if (inner == open.begin()) continue;
    const uint32_t around = *std::prev(inner);
    if (parent == root() || Fixed(parent).Encloses(Operator(around))) {
      fixed_[i].parent = root() + around;
    }
  }
}

}  // namespace inferprobe::profile
