"""The interfaces of other profilers, on inferprobe's measurement."""
