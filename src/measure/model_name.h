// What MODEL names: a file, or a Python file and the function in it that makes the model.
//
//   SplitModelName("net.py:make_net");   // {"net.py", "make_net", true}
//   SplitModelName("net.pte");           // {"net.pte", "", false}
//
// The rule that people break: a colon is also a letter of a file's name. Only behind ".py" does it
// begin the name of a function, and not if there is a file of the whole name.
#pragma once

#include <string>

#include "inferprobe/api.h"

namespace inferprobe::measure {

struct ModelName {
  std::string file;
  std::string factory;  // "": none is given
  bool python = false;  // the file is Python's
};

INFERPROBE_API ModelName SplitModelName(const std::string& model);

}  // namespace inferprobe::measure
