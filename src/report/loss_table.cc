#include "report/loss_table.h"

#include "report/table.h"

namespace inferprobe::report {

std::string LossTable(const profile::LossCounts& losses) {
  Table table({{"count", Align::kRight},
               {"statistic"},
               {"severity"},
               {"blame"},
               {"what it means, what to do"}});
  for (size_t i = 0; i < static_cast<size_t>(profile::Loss::kCount); ++i) {
    const auto loss = static_cast<profile::Loss>(i);
    if (losses.Get(loss) == 0) continue;
    const profile::LossInfo& info = profile::InfoOf(loss);
    table.AddRow({Cell::Int(static_cast<int64_t>(losses.Get(loss))), Cell::Text(info.name),
                  Cell::Text(profile::SeverityName(info.severity)),
                  Cell::Text(profile::BlameName(info.blame)), Cell::Text(info.advice)});
  }
  if (table.size() == 0) return {};
  return "\nlosses and repairs\n" + table.Render(Format::kTable, 2);
}

}  // namespace inferprobe::report
