// Where OpenVINO's C library may lie, in the order in which it is looked for.
//
// The rule that people break: OPENVINO_LIB_PATH is an answer, not a hint. Where it is set nothing
// else is tried, so that nobody measures another OpenVINO than the one that was named.
#pragma once

#include <string>
#include <vector>

namespace inferprobe::openvino {

struct SearchPlace {
  std::string name;                    // for a message: "OPENVINO_LIB_PATH (/opt/ov)"
  std::vector<std::string> libraries;  // what is to be tried there, newest first; may be none
};

// `environment` is the value of OPENVINO_LIB_PATH, null where it is not set. The others are the
// paths of a loaded library of ExecuTorch's and of our own; "" where there is none.
std::vector<SearchPlace> OpenvinoPlaces(const char* environment,
                                        const std::string& executorch_library,
                                        const std::string& own_library);

// Where the loader found this library; "" where it is not loaded.
std::string PathOfLoadedLibrary(const char* name);
// The library or program that `address` lies in; "" where that cannot be told.
std::string PathOfAddress(const void* address);

}  // namespace inferprobe::openvino
