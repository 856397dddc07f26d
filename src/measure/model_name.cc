#include "measure/model_name.h"

#include <string_view>

#include "base/files.h"

namespace inferprobe::measure {

ModelName SplitModelName(const std::string& model) {
  constexpr std::string_view kPython = ".py";
  if (model.ends_with(kPython)) return {model, "", true};
  const size_t colon = model.rfind(".py:");
  if (colon == std::string::npos || base::FileExists(model)) return {model, "", false};
  const size_t file_end = colon + kPython.size();
  return {model.substr(0, file_end), model.substr(file_end + 1), true};
}

}  // namespace inferprobe::measure
