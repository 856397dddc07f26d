// What encloses what on one thread, by time: operators of another clock put among slices of ours.
//
//   OperatorNesting nesting(fixed, operators, points);
//   nesting.Find();            // parents, and the operators' times where they were cut
//
// The rule that people break: only operators give way. One that sticks out of a fixed slice is
// where its middle is, and is cut to that; what was inside it stays inside it.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/model.h"

namespace inferprobe::profile {

// A reference to one of both: index of a fixed slice, or number of fixed slices + index of an
// operator; kNone: nothing.
using NestedIndex = uint32_t;

// Its times never change.
struct FixedSpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  // In: the fixed slice that is known to be around it. Out: what is around it.
  NestedIndex parent = kNone;
  bool overlaps = false;  // out: another one in part; it is in none and nothing is in it
};

struct OperatorSpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  NestedIndex parent = kNone;  // out
  bool cut = false;            // out
};

struct PointInTime {
  int64_t time_ns = 0;
  NestedIndex inside = kNone;  // out: the innermost around it
};

// Operators with equal times are in each other as they are given; a fixed slice with the same times
// is around them. O(n log n) for any input.
class OperatorNesting {
 public:
  // Precondition: no end before its start. All three are filled in by Find().
  OperatorNesting(std::vector<FixedSpan>* fixed, std::vector<OperatorSpan>* operators,
                  std::vector<PointInTime>* points)
      : fixed_(*fixed), operators_(*operators), points_(*points) {}

  void Find();

  // Indices of operators, each behind what it is in. After Find().
  [[nodiscard]] const std::vector<uint32_t>& operators_in_order() const { return operators_order_; }

 private:
  struct Span {
    int64_t start_ns;
    int64_t end_ns;
    [[nodiscard]] bool Encloses(const Span& inner) const {
      return start_ns <= inner.start_ns && inner.end_ns <= end_ns;
    }
    bool operator==(const Span&) const = default;
  };
  struct Change {
    int64_t time_ns;
    uint32_t innermost;
  };
  struct Open {
    uint32_t index;
    int64_t recorded_end_ns;
  };

  [[nodiscard]] uint32_t root() const { return static_cast<uint32_t>(fixed_.size()); }
  [[nodiscard]] Span Fixed(uint32_t i) const { return {fixed_[i].start_ns, fixed_[i].end_ns}; }
  [[nodiscard]] Span Operator(uint32_t i) const {
    return {operators_[i].start_ns, operators_[i].end_ns};
  }

  [[nodiscard]] std::vector<uint32_t> FixedInOrder() const;
  void NestFixed();
  void FindJumps();
  [[nodiscard]] uint32_t InnermostFixed(int64_t time_ns) const;
  [[nodiscard]] uint32_t FixedAround(uint32_t index) const;
  [[nodiscard]] uint32_t ChildAt(uint32_t parent, int64_t time_ns) const;
  void NestOperators();
  void Place(uint32_t index, uint32_t around);
  void PlacePoint(PointInTime* point, uint32_t innermost) const;
  void FindParentsOfFixed();

  std::vector<FixedSpan>& fixed_;
  std::vector<OperatorSpan>& operators_;
  std::vector<PointInTime>& points_;

  std::vector<uint32_t> fixed_order_;   // parents first, by start
  std::vector<uint32_t> fixed_parent_;  // among the fixed alone; root()
  std::vector<Change> changes_;         // the innermost fixed slice from each time on
  std::vector<uint32_t> jump_;          // to an ancestor further up
  std::vector<uint32_t> depth_;
  std::vector<uint32_t> children_;         // of each fixed slice and the root, by start
  std::vector<uint32_t> first_child_;      // into children_; one more at the end
  std::vector<uint32_t> operators_order_;  // parents first, by start
  std::vector<uint32_t> around_operator_;  // the operator around each; kNone
};

}  // namespace inferprobe::profile
