/* Scopes and counters for C99 (and for whatever else calls C). The same recorder as in C++.
 *
 *   #include <inferprobe/inferprobe.h>
 *
 *   static inferprobe_site decode = INFERPROBE_SITE("decode");
 *
 *   void step(void) {
 *     inferprobe_scope scope = inferprobe_scope_begin(&decode);
 *     ...
 *     inferprobe_scope_end(&scope);          on every way out
 *   }
 *   int main(void) {
 *     if (inferprobe_start("run.ring") != 0) { puts(inferprobe_error()); return 1; }
 *     step();
 *     inferprobe_stop();
 *   }                                        `inferprobe show run.ring` prints what was recorded
 *
 * The rule that people break: a site is static, its name lives as long as the process, and a scope
 * is ended on the thread that began it, the innermost first. */
/* NOLINTBEGIN(readability-identifier-naming,modernize-deprecated-headers): it is C */
#ifndef INFERPROBE_INFERPROBE_H_
#define INFERPROBE_INFERPROBE_H_

#include <stddef.h>
#include <stdint.h>

#include "inferprobe/api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct inferprobe_site {
  const char* name;
  uint32_t id; /* the library's */
} inferprobe_site;
#define INFERPROBE_SITE(site_name) {(site_name), 0}

typedef struct inferprobe_scope {
  void* ring; /* NULL: not recorded. All of it is the library's. */
  uint64_t start;
  uint32_t name;
  uint32_t id;
  uint32_t parent;
} inferprobe_scope;

typedef struct inferprobe_options {
  const char* file;           /* NULL: private memory */
  uint32_t events_per_thread; /* 0: the default, as for all that follows */
  uint32_t max_threads;
  uint32_t name_bytes;
} inferprobe_options;

/* Both return 0, or an inferprobe_* code below; inferprobe_error() says more. */
INFERPROBE_API int inferprobe_start(const char* file);
INFERPROBE_API int inferprobe_start_with(const inferprobe_options* options);
INFERPROBE_API void inferprobe_stop(void);

enum {
  INFERPROBE_OK = 0,
  INFERPROBE_INVALID_ARGUMENT = 1,
  INFERPROBE_NOT_FOUND = 2,
  INFERPROBE_ALREADY_EXISTS = 3,
  INFERPROBE_IO = 4,
  INFERPROBE_OTHER = 5
};

/* What the last failure on this thread was, "" if there was none. Valid until the next one. */
INFERPROBE_API const char* inferprobe_error(void);

/* Which recorder runs; 0: none. */
INFERPROBE_API extern uint32_t inferprobe_generation_c __asm__("inferprobe_generation");

/* Out of line, while a recorder runs. */
INFERPROBE_API inferprobe_scope inferprobe_scope_begin_recording(inferprobe_site* site);
INFERPROBE_API void inferprobe_scope_end_recording(inferprobe_scope* scope);
INFERPROBE_API void inferprobe_counter_recording(inferprobe_site* site, double value);

static inline int inferprobe_recording(void) {
  return __atomic_load_n(&inferprobe_generation_c, __ATOMIC_RELAXED) != 0;
}

static inline inferprobe_scope inferprobe_scope_begin(inferprobe_site* site) {
  inferprobe_scope none = {NULL, 0, 0, 0, 0};
  return __builtin_expect(inferprobe_recording(), 0) ? inferprobe_scope_begin_recording(site)
                                                     : none;
}

static inline void inferprobe_scope_end(inferprobe_scope* scope) {
  if (__builtin_expect(scope->ring != NULL, 0)) inferprobe_scope_end_recording(scope);
}

static inline void inferprobe_counter(inferprobe_site* site, double value) {
  if (__builtin_expect(inferprobe_recording(), 0)) inferprobe_counter_recording(site, value);
}

#ifdef __cplusplus
}
#endif

#endif /* INFERPROBE_INFERPROBE_H_ */
/* NOLINTEND(readability-identifier-naming,modernize-deprecated-headers) */
