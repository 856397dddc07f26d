// The module tree of a model, and how it was looked at, as notes of a trace: "module 12 path".
//
// The rule that people break: a tree of a file may say anything. Modules come one after another,
// parents before what is in them; what says otherwise is left out.
#pragma once

#include <string_view>

#include "formats/perfetto/notes.h"
#include "profile/modules.h"

namespace inferprobe::perfetto {

// None where there is no tree.
void AddModuleNotes(const profile::ModuleFacts& facts, Notes* notes);

// False: the note is none of a module's. What no writer writes changes nothing.
bool ReadModuleNote(std::string_view key, std::string_view value, profile::ModuleFacts* facts);

}  // namespace inferprobe::perfetto
