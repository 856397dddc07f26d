#include "inferprobe/result.h"

namespace inferprobe {

const char* ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kAlreadyExists:
      return "already_exists";
    case ErrorCode::kMalformed:
      return "malformed";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kNotBuiltIn:
      return "not_built_in";
    case ErrorCode::kEngine:
      return "engine";
    case ErrorCode::kCrashed:
      return "crashed";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace inferprobe
