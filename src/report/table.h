// Rows of anything, printed as an aligned table, JSON, CSV or Markdown.
//
//   Table table({{"name"}, {"mean", Align::kRight}});
//   table.AddRow({Cell::Text(name), Cell::Duration(mean_ns)});
//   std::string text = table.Render(Format::kTable);
//
// The rule that people break: a cell keeps its value, not only its text. Machines get the number in
// its unit, people a rounded one, and neither gets an empty cell for a missing figure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "profile/metric.h"

namespace inferprobe::report {

enum class Format : uint8_t { kTable, kJson, kCsv, kMarkdown };
// "table", "json", "csv", "markdown"; anything else is kTable (the command line checks names).
Format ParseFormat(std::string_view name);

enum class Align : uint8_t { kLeft, kRight };

class Cell {
 public:
  static Cell Text(std::string_view text);
  // Text that is already laid out for the terminal (a tree's branches).
  static Cell Drawn(std::string text);
  static Cell Int(int64_t value);
  static Cell Plain(int64_t value);  // without separators, also for people: to be copied
  static Cell Number(double value);
  static Cell Numbers(std::vector<double> values);  // a list in JSON, else rounded, in one text
  static Cell Count(double value);    // a mean of counts: for people whole from 1,000 up
  static Cell Percent(double ratio);  // machines get the ratio
  static Cell Duration(double ns);    // machines get ns
  static Cell Missing(const profile::Missing& missing);
  static Cell Duration(const profile::Metric<double>& ns);
  static Cell Percent(const profile::Metric<double>& ratio);
  static Cell Int(const profile::Metric<int64_t>& value);

  [[nodiscard]] const std::string& shown() const { return shown_; }
  void WriteJson(base::JsonWriter& json) const;
  [[nodiscard]] std::string ForCsv() const;

 private:
  enum class Type : uint8_t { kText, kInt, kNumber, kNumbers, kMissing };
  Type type_ = Type::kText;
  std::string shown_;  // for people, safe on a terminal
  std::string text_;
  int64_t int_ = 0;
  double number_ = 0;
  std::vector<double> numbers_;
  profile::Missing missing_;
};

struct Column {
  std::string title;  // for people; may be ""
  Align align = Align::kLeft;
  std::string key{};     // for machines; "": the title
  size_t widest = 0;     // longer texts are cut in a table; 0: never
  size_t narrowest = 0;  // in a table that is written in pieces: all have this width at least
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void AddRow(std::vector<Cell> cells);  // as many as columns
  [[nodiscard]] size_t size() const { return rows_.size(); }
  // `indent`: columns before each line of an aligned table.
  [[nodiscard]] std::string Render(Format format, size_t indent = 0) const;
  // What continues a table of the same columns. Not for JSON.
  [[nodiscard]] std::string RenderRows(Format format) const;

 private:
  [[nodiscard]] std::string RenderAligned(size_t indent, bool head) const;
  [[nodiscard]] std::string RenderJson() const;
  [[nodiscard]] std::string RenderCsv(bool head) const;
  [[nodiscard]] std::string RenderMarkdown(bool head) const;
  [[nodiscard]] const std::string& KeyOf(const Column& column) const {
    return column.key.empty() ? column.title : column.key;
  }

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace inferprobe::report
