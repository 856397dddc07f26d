#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/figure_text.h"

namespace inferprobe::report {
namespace {

// RFC 4180. Spreadsheets run a cell that begins like a formula, and names come from models: such a
// text gets an apostrophe in front, which they hide.
std::string CsvText(std::string_view text) {
  std::string value = base::RepairUtf8(text).text;
  if (!value.empty() && std::string_view("=+-@\t\r").find(value[0]) != std::string_view::npos) {
    value.insert(value.begin(), '\'');
  }
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string MarkdownText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\|`*_<>[]").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string Pad(std::string_view text, size_t width, Align align) {
  const size_t used = base::DisplayWidth(text);
  const std::string space(used < width ? width - used : 0, ' ');
  return align == Align::kRight ? space + std::string(text) : std::string(text) + space;
}

}  // namespace

Format ParseFormat(std::string_view name) {
  if (name == "json") return Format::kJson;
  if (name == "csv") return Format::kCsv;
  if (name == "markdown") return Format::kMarkdown;
  return Format::kTable;
}

Cell Cell::Text(std::string_view text) {
  Cell cell;
  cell.text_ = text;
  cell.shown_ = base::TerminalText(text);
  return cell;
}

Cell Cell::Drawn(std::string text) {
  Cell cell;
  cell.text_ = text;
  cell.shown_ = std::move(text);
  return cell;
}

Cell Cell::Int(int64_t value) {
  Cell cell;
  cell.type_ = Type::kInt;
  cell.int_ = value;
  cell.shown_ = base::FormatCount(static_cast<double>(value));
  return cell;
}

Cell Cell::Plain(int64_t value) {
  Cell cell = Int(value);
  cell.shown_ = std::to_string(value);
  return cell;
}

Cell Cell::Number(double value) {
  if (!std::isfinite(value)) {
    return Missing({profile::Status::kUnavailable, "not a finite number"});
  }
  Cell cell;
  cell.type_ = Type::kNumber;
  cell.number_ = value;
  cell.shown_ = fmt::format("{:.4g}", value);
  return cell;
}

Cell Cell::Numbers(std::vector<double> values) {
  Cell cell;
  cell.type_ = Type::kNumbers;
  for (const double value : values) {
    cell.text_ += fmt::format("{}{:.0f}", cell.text_.empty() ? "" : " ", value);
  }
  cell.shown_ = cell.text_;
  cell.numbers_ = std::move(values);
  return cell;
}

Cell Cell::Count(double value) {
  constexpr double kWhole = 999.95;  // four digits would be the whole number, or "1.2e+04"
  Cell cell = Number(value);
  if (cell.type_ == Type::kNumber && std::fabs(value) >= kWhole) {
    cell.shown_ = base::FormatCount(value);
  }
  return cell;
}

Cell Cell::Percent(double ratio) {
  Cell cell = Number(ratio);
  if (cell.type_ == Type::kNumber) cell.shown_ = base::FormatPercent(ratio);
  return cell;
}

Cell Cell::Duration(double ns) {
  Cell cell = Number(ns);
  if (cell.type_ == Type::kNumber) cell.shown_ = base::FormatDurationNs(ns);
  return cell;
}

Cell Cell::Missing(const profile::Missing& missing) {
  Cell cell;
  cell.type_ = Type::kMissing;
  cell.missing_ = missing;
  cell.shown_ = MissingText(missing.status);
  return cell;
}

Cell Cell::Duration(const profile::Metric<double>& ns) {
  return ns ? Duration(*ns) : Missing(ns.missing());
}

Cell Cell::Percent(const profile::Metric<double>& ratio) {
  return ratio ? Percent(*ratio) : Missing(ratio.missing());
}

Cell Cell::Int(const profile::Metric<int64_t>& value) {
  return value ? Int(*value) : Missing(value.missing());
}

void Cell::WriteJson(base::JsonWriter& json) const {
  switch (type_) {
    case Type::kText:
      json.String(text_);
      return;
    case Type::kInt:
      json.Int(int_);
      return;
    case Type::kNumber:
      json.Number(number_);
      return;
    case Type::kNumbers:
      json.BeginArray();
      for (const double number : numbers_) json.Number(number);
      json.EndArray();
      return;
    case Type::kMissing:
      json.BeginObject();
      json.Key("status").String(StatusName(missing_.status));
      json.Key("hint").String(missing_.hint);
      json.EndObject();
      return;
  }
}

std::string Cell::ForCsv() const {
  switch (type_) {
    case Type::kText:
    case Type::kNumbers:
      return CsvText(text_);
    case Type::kInt:
      return fmt::format("{}", int_);
    case Type::kNumber:
      return fmt::format("{}", number_);
    case Type::kMissing:
      return CsvText(shown_);
  }
  return {};
}

void Table::AddRow(std::vector<Cell> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::Render(Format format, size_t indent) const {
  switch (format) {
    case Format::kTable:
      return RenderAligned(indent, true);
    case Format::kJson:
      return RenderJson();
    case Format::kCsv:
      return RenderCsv(true);
    case Format::kMarkdown:
      return RenderMarkdown(true);
  }
  return {};
}

std::string Table::RenderRows(Format format) const {
  if (format == Format::kCsv) return RenderCsv(false);
  return format == Format::kMarkdown ? RenderMarkdown(false) : RenderAligned(0, false);
}

std::string Table::RenderAligned(size_t indent, bool head) const {
  std::vector<std::vector<std::string>> lines;
  if (head) {
    std::vector<std::string>& titles = lines.emplace_back();
    for (const Column& column : columns_) titles.push_back(column.title);
  }
  for (const std::vector<Cell>& row : rows_) {
    std::vector<std::string>& line = lines.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t widest = columns_[i].widest;
      line.push_back(widest == 0 ? row[i].shown() : base::CutToWidth(row[i].shown(), widest));
    }
  }
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(column.narrowest);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], base::DisplayWidth(line[i]));
    }
  }
  std::string out;
  for (const auto& line : lines) {
    std::string text(indent, ' ');
    for (size_t i = 0; i < line.size(); ++i) {
      if (i != 0) text += "  ";
      text += Pad(line[i], widths[i], columns_[i].align);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
  return out;
}

std::string Table::RenderJson() const {
  base::JsonWriter json;
  json.BeginArray();
  for (const std::vector<Cell>& row : rows_) {
    json.BeginObject();
    for (size_t i = 0; i < row.size(); ++i) {
      json.Key(KeyOf(columns_[i]));
      row[i].WriteJson(json);
    }
    json.EndObject();
  }
  json.EndArray();
  return std::move(json).Take();
}

std::string Table::RenderCsv(bool head) const {
  std::string out;
  for (size_t i = 0; head && i < columns_.size(); ++i) {
    out += (i == 0 ? "" : ",") + CsvText(KeyOf(columns_[i]));
  }
  if (head) out += "\r\n";
  for (const std::vector<Cell>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : ",") + row[i].ForCsv();
    out += "\r\n";
  }
  return out;
}

std::string Table::RenderMarkdown(bool head) const {
  std::string out;
  if (head) {
    out = "|";
    for (const Column& column : columns_) out += ' ' + MarkdownText(column.title) + " |";
    out += "\n|";
    for (const Column& column : columns_) out += column.align == Align::kRight ? "---:|" : "---|";
    out += '\n';
  }
  for (const std::vector<Cell>& row : rows_) {
    out += '|';
    for (const Cell& cell : row) out += ' ' + MarkdownText(cell.shown()) + " |";
    out += '\n';
  }
  return out;
}

}  // namespace inferprobe::report
