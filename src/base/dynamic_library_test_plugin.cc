// What dynamic_library_test opens.
#define PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

PLUGIN_EXPORT int InferprobeTestHook() { return 2; }
PLUGIN_EXPORT int InferprobeTestAnswer() { return 42; }
PLUGIN_EXPORT int InferprobeTestCallsHook() { return InferprobeTestHook(); }
