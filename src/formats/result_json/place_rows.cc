#include "formats/result_json/place_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/result_json/field.h"

namespace inferprobe::result_json {
namespace {

using profile::kNone;
using profile::OpRow;

JsonPath In(JsonPath row, std::string_view key) {
  row.push_back({key, 0});
  return row;
}

// A row of the file: of `ops`, of those outside of calls, or a layer of a delegate.
struct FoundRow {
  OpRow row;
  uint32_t list = 0;  // 0: ops, 1: outside of calls, 2 + n: the layers of delegate n
  uint32_t index = 0;
};

JsonPath PathOf(const FoundRow& found) {
  if (found.list == 0) return {{field::kOps, 0}, {{}, found.index}};
  if (found.list == 1) return {{field::kEngineOpsOutsideCalls, 0}, {{}, found.index}};
  return {{field::kDelegates, 0}, {{}, found.list - 2}, {field::kLayers, 0}, {{}, found.index}};
}

// Gives the row its place as id; its parent must have been placed.
template <class Row>
std::optional<RowProblem> Place(Row* row, uint32_t place,
                                std::unordered_map<uint32_t, uint32_t>* places,
                                const std::vector<Row>& before, const JsonPath& path) {
  if (row->parent != kNone) {
    const auto parent = places->find(row->parent);
    if (parent == places->end()) {
      return RowProblem{
          In(path, field::kParent),
          fmt::format("expected the id of a row before it, found the number {}", row->parent)};
    }
    row->parent = parent->second;
    row->depth = before[parent->second].depth + 1;
  }
  places->emplace(row->id, place);
  row->id = place;
  return std::nullopt;
}

std::vector<FoundRow> CollectRows(profile::PerfResult* result, size_t ops) {
  size_t count = result->ops.size();
  for (const profile::DelegateResult& delegate : result->delegates) {
    count += delegate.layers.size();
  }
  std::vector<FoundRow> found;
  found.reserve(count);
  for (size_t i = 0; i < result->ops.size(); ++i) {
    found.push_back({std::move(result->ops[i]), i < ops ? 0U : 1U,
                     static_cast<uint32_t>(i < ops ? i : i - ops)});
  }
  for (size_t d = 0; d < result->delegates.size(); ++d) {
    const std::vector<OpRow>& layers = result->delegates[d].layers;
    for (size_t i = 0; i < layers.size(); ++i) {
      found.push_back({layers[i], static_cast<uint32_t>(d + 2), static_cast<uint32_t>(i)});
    }
  }
  std::sort(found.begin(), found.end(), [](const FoundRow& a, const FoundRow& b) {
    return std::tie(a.row.id, a.list, a.index) < std::tie(b.row.id, b.list, b.index);
  });
  return found;
}

// Regions and their operators name rows by the ids of the file, too.
std::optional<RowProblem> PlaceRegions(const std::unordered_map<uint32_t, uint32_t>& places,
                                       profile::PerfResult* result) {
  if (!result->regions) return std::nullopt;
  profile::RegionReport report = *result->regions;
  const auto place = [&](std::string_view list, size_t index,
                         uint32_t* op) -> std::optional<RowProblem> {
    const auto row = places.find(*op);
    if (row == places.end()) {
      return RowProblem{
          {{field::kRegions, 0}, {list, 0}, {{}, static_cast<uint32_t>(index)}, {field::kOp, 0}},
          fmt::format("expected the id of a row, found the number {}", *op)};
    }
    *op = row->second;
    return std::nullopt;
  };
  for (size_t i = 0; i < report.rows.size(); ++i) {
    if (!report.rows[i].op) continue;
    if (auto problem = place(field::kRows, i, &*report.rows[i].op)) return problem;
  }
  for (size_t i = 0; i < report.operators.size(); ++i) {
    if (auto problem = place(field::kOperators, i, &report.operators[i].op)) return problem;
  }
  result->regions = std::move(report);
  return std::nullopt;
}

}  // namespace

std::optional<RowProblem> PlaceOps(profile::PerfResult* result, size_t ops) {
  std::vector<FoundRow> found = CollectRows(result, ops);
  result->ops.clear();
  std::unordered_map<uint32_t, uint32_t> places;
  const FoundRow* last = nullptr;
  for (FoundRow& each : found) {
    const JsonPath path = PathOf(each);
    if (each.row.delegate && *each.row.delegate >= result->model.delegates.size()) {
      return RowProblem{
          In(path, field::kDelegate),
          fmt::format("expected the index of one of {} delegates, found the number {}",
                      result->model.delegates.size(), *each.row.delegate)};
    }
    const auto placed = places.find(each.row.id);
    if (placed != places.end()) {
      // What lies in a delegate call may be a row of its own, or lie in an outer call, too.
      if (last->list != each.list && each.list >= 2) continue;
      return RowProblem{In(path, field::kId),
                        fmt::format("the row {} is there twice", each.row.id)};
    }
    const auto place = static_cast<uint32_t>(result->ops.size());
    if (auto problem = Place(&each.row, place, &places, result->ops, path)) return problem;
    result->ops.push_back(std::move(each.row));
    last = &each;
  }
  for (size_t d = 0; d < result->delegates.size(); ++d) {
    profile::DelegateResult& delegate = result->delegates[d];
    const auto call = places.find(delegate.op);
    if (call == places.end()) {
      return RowProblem{{{field::kDelegates, 0}, {{}, static_cast<uint32_t>(d)}, {field::kOp, 0}},
                        fmt::format("expected the id of a row, found the number {}", delegate.op)};
    }
    delegate.op = call->second;
    if (delegate.whole_call != kNone) {
      const auto whole = places.find(delegate.whole_call);
      if (whole == places.end()) {
        return RowProblem{
            {{field::kDelegates, 0}, {{}, static_cast<uint32_t>(d)}, {field::kWholeCall, 0}},
            fmt::format("expected the id of a row, found the number {}", delegate.whole_call)};
      }
      delegate.whole_call = whole->second;
    }
    for (OpRow& layer : delegate.layers) layer = result->ops[places.at(layer.id)];
  }
  return PlaceRegions(places, result);
}

std::optional<RowProblem> PlaceSlices(profile::PerfResult* result) {
  std::vector<profile::SliceRow> slices = std::move(result->slices);
  result->slices.clear();
  std::unordered_map<uint32_t, uint32_t> places;
  for (profile::SliceRow& slice : slices) {
    const auto place = static_cast<uint32_t>(result->slices.size());
    const JsonPath path = {{field::kSlices, 0}, {{}, place}};
    if (places.count(slice.id) != 0) {
      return RowProblem{In(path, field::kId), fmt::format("the row {} is there twice", slice.id)};
    }
    if (auto problem = Place(&slice, place, &places, result->slices, path)) return problem;
    result->slices.push_back(std::move(slice));
  }
  return std::nullopt;
}

}  // namespace inferprobe::result_json
