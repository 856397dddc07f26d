/* The process-wide switch of <inferprobe/config.h>, for C and whatever calls C. Library:
 * inferprobe_delegate.
 *
 *   if (inferprobe_set_profile_path_prefix("profiles") != 0) puts(inferprobe_profile_error());
 *   inferprobe_set_profile_format("trex");
 *   inferprobe_set_profile_execution(1);
 *
 * The rule that people break: a getter's text is valid until the same thread's next call of it. */
/* NOLINTBEGIN(readability-identifier-naming,modernize-deprecated-headers): it is C */
#ifndef INFERPROBE_CONFIG_C_H_
#define INFERPROBE_CONFIG_C_H_

#include <stdint.h>

#include "inferprobe/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or a code of inferprobe.h; then inferprobe_profile_error() says what was wrong and nothing has
 * changed. */
INFERPROBE_API int inferprobe_set_profile_execution(int enabled);
/* Also for methods that were loaded with a level of their own. */
INFERPROBE_API int inferprobe_set_profile_execution_override(int enabled);
INFERPROBE_API int inferprobe_set_profile_format(const char* format);
INFERPROBE_API int inferprobe_set_profile_path_prefix(const char* folder);

INFERPROBE_API int inferprobe_get_profile_execution(void);
INFERPROBE_API const char* inferprobe_get_profile_format(void);
INFERPROBE_API const char* inferprobe_get_profile_path_prefix(void);
INFERPROBE_API uint64_t inferprobe_get_profile_generation(void);

/* How many engines that are loaded in this process now the switch reaches, as it stands. 0: none;
 * one that is loaded later takes it up. */
INFERPROBE_API uint64_t inferprobe_get_profile_engines(void);

INFERPROBE_API const char* inferprobe_profile_error(void);

/* What a delegate on the kit found wrong last on this thread, as when its program could not be
 * loaded; "" if nothing was. */
INFERPROBE_API const char* inferprobe_last_delegate_error(void);

#ifdef __cplusplus
}
#endif

#endif /* INFERPROBE_CONFIG_C_H_ */
/* NOLINTEND(readability-identifier-naming,modernize-deprecated-headers) */
