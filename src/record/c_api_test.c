/* The C interface from C99: records into a file, is refused a second start, says why. */
#include <stdio.h>
#include <string.h>

#include "inferprobe/inferprobe.h"

static inferprobe_site outer = INFERPROBE_SITE("outer");
static inferprobe_site inner = INFERPROBE_SITE("inner");
static inferprobe_site depth = INFERPROBE_SITE("depth");
static inferprobe_site nameless = INFERPROBE_SITE(NULL);

static int check(int good, const char* what) {
  if (!good) fprintf(stderr, "failed: %s (%s)\n", what, inferprobe_error());
  return good ? 0 : 1;
}

static void step(void) {
  inferprobe_scope o = inferprobe_scope_begin(&outer);
  inferprobe_scope i = inferprobe_scope_begin(&inner);
  inferprobe_counter(&depth, 2);
  inferprobe_scope_end(&i);
  inferprobe_scope_end(&o);
}

int main(int argc, char** argv) {
  int failed = 0;
  inferprobe_scope scope;
  inferprobe_options small = {NULL, 64, 2, 4096};
  if (argc != 2) return 2;
  failed += check(!inferprobe_recording(), "off at first");
  step();
  failed += check(outer.id == 0, "off touches nothing");

  failed += check(inferprobe_start("/nonexistent/x.ring") == INFERPROBE_NOT_FOUND, "no folder");
  failed += check(strncmp(inferprobe_error(), "not_found: /nonexistent/x.ring", 30) == 0, "text");
  small.max_threads = 100000;
  failed += check(inferprobe_start_with(&small) == INFERPROBE_INVALID_ARGUMENT, "threads");
  small.max_threads = 2;

  remove(argv[1]);
  small.file = argv[1];
  failed += check(inferprobe_start_with(&small) == INFERPROBE_OK, "start");
  failed += check(inferprobe_start(NULL) == INFERPROBE_ALREADY_EXISTS, "second start");
  failed += check(inferprobe_recording(), "on");
  step();
  failed += check(outer.id != 0 && inner.id != 0 && depth.id != 0, "registered");
  scope = inferprobe_scope_begin(&nameless);
  failed += check(scope.ring == NULL, "no name, no scope");
  inferprobe_scope_end(&scope);
  inferprobe_counter(&nameless, 1);
  scope = inferprobe_scope_begin(NULL);
  inferprobe_scope_end(&scope);
  scope = inferprobe_scope_begin(&outer);
  inferprobe_stop();
  inferprobe_stop();
  failed += check(!inferprobe_recording(), "off again");
  inferprobe_scope_end(&scope); /* its recorder is gone: into nothing */
  step();
  failed += check(inferprobe_start_with(&small) == INFERPROBE_ALREADY_EXISTS, "the file exists");
  failed += check(inferprobe_start(NULL) == INFERPROBE_OK, "private memory");
  inferprobe_stop();
  remove(argv[1]);
  return failed;
}
