// A profile as lines of text, for tests that compare two of them, and what holds for every one that
// a reader makes.
//
// The rule that people break: what is compared has no order of its own. Two profiles are equal when
// each of their lines, in any order, is in the other.
#pragma once

#include <string>
#include <vector>

#include "profile/model.h"

namespace inferprobe::perfetto {

// Everything that a trace holds of a model, in an order that does not depend on how it came there.
std::vector<std::string> Lines(const profile::Profile& profile);

// Its runs alone, those without slices, too.
std::vector<std::string> RunLines(const profile::Profile& profile);

std::string FirstDifference(const std::vector<std::string>& read,
                            const std::vector<std::string>& expected);

// Asserts, by GoogleTest, that nothing in it refers to what is not there.
void ExpectSound(const profile::Profile& profile);

}  // namespace inferprobe::perfetto
