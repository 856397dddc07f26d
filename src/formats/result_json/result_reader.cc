#include "formats/result_json/result_reader.h"

#include <optional>

#include "base/files.h"
#include "formats/result_json/describe_result.h"
#include "formats/result_json/json_tree.h"
#include "formats/result_json/place_rows.h"
#include "formats/result_json/reader_archive.h"

namespace inferprobe::result_json {
namespace {

constexpr size_t kFirstKeys = 8;
constexpr std::string_view kSpace = " \t\r\n";

// Walks over the beginning of a JSON text; whether the whole is one does not matter yet.
class HeadScanner {
 public:
  explicit HeadScanner(std::string_view head) : rest_(head) {
    if (rest_.substr(0, 3) == "\xef\xbb\xbf") rest_.remove_prefix(3);
  }

  bool Accept(char c) {
    const size_t at = rest_.find_first_not_of(kSpace);
    if (at == std::string_view::npos || rest_[at] != c) return false;
    rest_.remove_prefix(at + 1);
    return true;
  }

  // The inside of a string, as it stands there.
  std::optional<std::string_view> String() {
    if (!Accept('"')) return std::nullopt;
    for (size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        const std::string_view inside = rest_.substr(0, i);
        rest_.remove_prefix(i + 1);
        return inside;
      }
      if (rest_[i] == '\\') ++i;
    }
    return std::nullopt;
  }

  // Passes one value of any kind; false where the head ends in it.
  bool Value() {
    size_t depth = 0;
    while (true) {
      const size_t at = rest_.find_first_not_of(kSpace);
      if (at == std::string_view::npos) return false;
      const char c = rest_[at];
      if (c == '"') {
        if (!String()) return false;
        if (depth == 0) return true;
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) return true;
      if (c == '{' || c == '[') ++depth;
      rest_.remove_prefix(at + 1);
      if ((c == '}' || c == ']') && --depth == 0) return true;
    }
  }

 private:
  std::string_view rest_;
};

}  // namespace

bool LooksLikeResult(std::string_view head, uint64_t file_bytes) {
  HeadScanner scanner(head.substr(0, std::min<uint64_t>(head.size(), file_bytes)));
  if (!scanner.Accept('{')) return false;
  for (size_t i = 0; i < kFirstKeys; ++i) {
    const auto key = scanner.String();
    if (!key || !scanner.Accept(':')) return false;
    if (*key == field::kSchemaVersion) return true;
    if (!scanner.Value() || !scanner.Accept(',')) return false;
  }
  return false;
}

Result<profile::PerfResult> ParseResult(std::string_view text, const std::string& name) {
  auto tree = JsonTree::Parse(text, name);
  if (!tree) return tl::unexpected(tree.error());
  profile::PerfResult result;
  ReaderArchive archive(*tree, name);
  archive.Root([&] { DescribeResult(archive, result); });
  if (archive.failed()) return tl::unexpected(*archive.error());

  const size_t ops = tree->at(tree->Find(0, field::kOps)).size;
  auto problem = PlaceOps(&result, ops);
  if (!problem) problem = PlaceSlices(&result);
  if (problem) {
    archive.FailAt(problem->path, problem->what);
    return tl::unexpected(*archive.error());
  }
  result.losses.Add(profile::Loss::kUnknownField, archive.unknown_fields());
  return result;
}

Result<profile::PerfResult> ReadResult(const std::string& path) {
  const auto text = base::ReadFile(path, JsonTree::kMostBytes);
  if (!text) return tl::unexpected(text.error());
  return ParseResult(*text, path);
}

}  // namespace inferprobe::result_json
