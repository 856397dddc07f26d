#include "report/source_text.h"

#include <algorithm>
#include <vector>

namespace inferprobe::report {
namespace {

constexpr size_t kMostGroups = 12;
constexpr size_t kMostTypes = 8;
constexpr size_t kMostNotes = 8;

}  // namespace

void AddSource(const profile::SourceFacts& source, bool all, Lines* lines) {
  lines->Add("file", fmt::format("{}   {} · {}", source.path, source.title,
                                 base::FormatBytes(static_cast<double>(source.bytes))));
  const size_t groups = all ? source.blocks.size() : std::min(source.blocks.size(), kMostGroups);
  for (size_t i = 0; i < groups; ++i) {
    const profile::BlockGroup& group = source.blocks[i];
    const std::string name = group.name.empty() ? "(unnamed)" : group.name;
    lines->Add(i == 0 ? "blocks" : "",
               group.count == 1 ? fmt::format("{}: {}", name, Counted(group.events, "event"))
                                : fmt::format("{} × {}: {} each",
                                              base::FormatCount(static_cast<double>(group.count)),
                                              name, Counted(group.events, "event")));
  }
  if (groups < source.blocks.size()) {
    uint64_t blocks = 0;
    uint64_t events = 0;
    for (size_t i = groups; i < source.blocks.size(); ++i) {
      blocks += source.blocks[i].count;
      events += source.blocks[i].count * source.blocks[i].events;
    }
    lines->Add("", fmt::format("… {} more, {}: --all", Counted(blocks, "block"),
                               Counted(events, "event")));
  }

  for (size_t i = 0; i < source.notes.size(); ++i) {
    if (!all && i == kMostNotes) break;
    lines->Add("note", source.notes[i]);
  }
  if (source.packets.empty()) return;
  std::vector<profile::PacketCount> packets = source.packets;
  std::stable_sort(packets.begin(), packets.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  std::string text;
  for (size_t i = 0; i < packets.size(); ++i) {
    if (!all && i == kMostTypes) {
      text += fmt::format(" · … {} more: --all", Counted(packets.size() - i, "type"));
      break;
    }
    text += fmt::format("{}{} {}", i == 0 ? "" : " · ", packets[i].type,
                        base::FormatCount(static_cast<double>(packets[i].count)));
  }
  lines->Add("not read", text);
}

}  // namespace inferprobe::report
