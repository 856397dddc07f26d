#include "delegate/engine_list.h"

#include <mutex>
#include <utility>
#include <vector>

namespace inferprobe {
namespace {

struct List {
  std::mutex mutex;
  std::list<ProfiledEngine> engines;
};

// Never destroyed: engines may outlive main().
List& TheList() {
  static auto* it = new List;
  return *it;
}

}  // namespace

std::vector<ProfiledEngine> GetProfiledEngines() {
  List& list = TheList();
  const std::lock_guard lock(list.mutex);
  return {list.engines.begin(), list.engines.end()};
}

namespace delegate {

ListedEngine::ListedEngine(ProfiledEngine engine) {
  List& list = TheList();
  const std::lock_guard lock(list.mutex);
  place_ = list.engines.insert(list.engines.end(), std::move(engine));
}

ListedEngine::~ListedEngine() {
  List& list = TheList();
  const std::lock_guard lock(list.mutex);
  list.engines.erase(place_);
}

}  // namespace delegate
}  // namespace inferprobe
