// What the shared library exports.
#pragma once

#if defined(_WIN32)
#define INFERPROBE_API
#else
#define INFERPROBE_API __attribute__((visibility("default")))
#endif
