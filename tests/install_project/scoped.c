#include <inferprobe/inferprobe.h>
#include <stdio.h>

static inferprobe_site step = INFERPROBE_SITE("step");

int main(void) {
  inferprobe_scope scope;
  if (inferprobe_start(NULL) != INFERPROBE_OK) {
    fprintf(stderr, "%s\n", inferprobe_error());
    return 1;
  }
  scope = inferprobe_scope_begin(&step);
  inferprobe_scope_end(&scope);
  inferprobe_stop();
  puts("recorded");
  return 0;
}
