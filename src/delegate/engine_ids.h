// Identities of engines: the hash of their content, and an ordinal for equal ones. The same engine
// has the same identity in every process that loads the same engines in the same order.
#pragma once

#include <string>

namespace inferprobe::delegate {

// "0123456789abcdef-0"; the next of the same content is "...-1". One number is given once in a
// process, so that two engines never share a file.
std::string NextEngineId(const std::string& content_hash);
// It was for an engine that could not be loaded after all: the next one of its content has it.
void ReturnEngineId(const std::string& content_hash, const std::string& engine_id);

}  // namespace inferprobe::delegate
