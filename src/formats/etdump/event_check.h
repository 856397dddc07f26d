// Whether an event of an ETDump is sound: what flatbuffers' own verifier says, several times as
// fast.
//
// Tables of one kind share their vtable (a list of which fields there are, and where). A vtable
// that was verified once needs no second look: of the next table with it, only the place and what
// its offsets lead to are checked.
//
// The rule that people break: the answer is that of ::etdump::Event::Verify, for every input. What
// is not exactly a case that was seen before goes there.
#pragma once

#include <etdump_schema_flatcc_generated.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace inferprobe::etdump {

class EventCheck {
 public:
  // `bytes` must outlive it.
  explicit EventCheck(std::string_view bytes);

  // Of the table at byte `at`, which lies in the file.
  bool IsSound(size_t at);

 private:
  // A vtable that was verified, of a table that stood at `phase` modulo 8.
  struct Shape {
    size_t vtable = 0;  // where it is; 0, which is in the file's head: none
    size_t phase = 0;
    size_t extent = 0;                  // bytes of the table up to the end of its last known field
    std::array<uint16_t, 3> offsets{};  // of the fields that lead elsewhere; 0: not there
  };
  using Shapes = std::array<Shape, 16>;

  bool IsSoundProfileEvent(size_t at);
  // The shape of the table at `at`, if it was seen before and the table is as far within the file.
  const Shape* Seen(const Shapes& shapes, size_t at) const;
  template <typename Table>
  Shape& Learn(Shapes& shapes, size_t at, const Table& table);
  [[nodiscard]] size_t VtableOf(size_t at) const;
  // Where the offset at `at` leads; 0: out of the file.
  [[nodiscard]] size_t Follow(size_t at) const;
  [[nodiscard]] bool IsSoundBytes(size_t at, bool is_text) const;

  // What flatbuffers says. Each time a new verifier: one that has refused a table counts its depth
  // from there on.
  template <typename Table>
  [[nodiscard]] bool Verifies(const Table& table) const;

  template <typename T>
  [[nodiscard]] T Read(size_t at) const {
    return flatbuffers::ReadScalar<T>(bytes_.data() + at);
  }

  std::string_view bytes_;
  Shapes events_;
  Shapes profile_events_;
};

}  // namespace inferprobe::etdump
