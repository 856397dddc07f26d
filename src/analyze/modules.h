// The table of modules: what of a recording's time, memory and device work belongs to which module.
//
// The rule that people break: rows of modules overlap, a parent's contains its children's. What
// adds up is said in profile/modules.h.
#pragma once

#include "profile/facts.h"
#include "profile/model.h"
#include "profile/modules.h"

namespace inferprobe::analyze {

// From all calls of modules in the profile; where it has runs that give rows (profile::GivesRows),
// from those alone. kUnsupported where the model has no modules, or none that can be seen: why is
// the first thing of ModuleFacts::not_covered. Linear.
profile::Metric<profile::ModuleReport> AnalyzeModules(const profile::Profile& profile,
                                                      const profile::ModelFacts& model);

}  // namespace inferprobe::analyze
