// The engines of this process that are on the kit: what a switch for the whole process reaches.
#pragma once

#include <list>

#include "inferprobe/config.h"

namespace inferprobe::delegate {

// One engine is in the list as long as this lives.
class ListedEngine {
 public:
  explicit ListedEngine(ProfiledEngine engine);
  ~ListedEngine();
  ListedEngine(const ListedEngine&) = delete;
  ListedEngine& operator=(const ListedEngine&) = delete;

 private:
  std::list<ProfiledEngine>::iterator place_;
};

}  // namespace inferprobe::delegate
