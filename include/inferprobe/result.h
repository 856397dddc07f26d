// Result<T>: a value, or an Error that says what went wrong, where, and what to do about it.
//
//   Result<int> Parse(std::string_view text);
//   auto parsed = Parse("12");
//   if (!parsed) return tl::unexpected(parsed.error());
//   Use(*parsed);
//
// The library returns errors; it never prints, aborts or exits. `kUnsupported` ("this machine or
// model cannot") and `kNotBuiltIn` ("this build cannot, another one can") are different answers.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "inferprobe/api.h"

namespace inferprobe {

enum class ErrorCode : uint8_t {
  kInvalidArgument,  // the caller's value is wrong: command-line usage, shapes, names
  kNotFound,         // a file, method, engine or symbol that is not there
  kAlreadyExists,    // an output that would have been overwritten
  kMalformed,        // a file that does not hold what it should; message names file and byte
  kIo,               // the system refused to read or write
  kUnsupported,      // cannot be done on this machine, or with this model
  kNotBuiltIn,       // this build lacks the part
  kEngine,           // the engine failed; message carries what it said
  kCrashed,          // a worker process died
  kInternal,         // a defect of inferprobe
};

// The code's stable name, as printed in JSON ("invalid_argument").
INFERPROBE_API const char* ErrorCodeName(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string hint;  // what to do; may be empty
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result() = default;
  // What expected's own combinators (map, and_then) return.
  Result(tl::expected<T, Error> other)  // NOLINT(google-explicit-constructor)
      : tl::expected<T, Error>(std::move(other)) {}
};

inline tl::unexpected<Error> MakeError(ErrorCode code, std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(hint)});
}

}  // namespace inferprobe

// Returns the error of `expr` from the calling function, if there is one.
#define INFERPROBE_RETURN_IF_ERROR(expr)                                                 \
  do {                                                                                   \
    if (auto inferprobe_status_ = (expr); !inferprobe_status_)                           \
      return tl::unexpected<::inferprobe::Error>(std::move(inferprobe_status_).error()); \
  } while (false)
