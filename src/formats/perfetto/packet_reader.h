// One packet after another into the model: names, clocks, tracks, events.
//
//   PacketReader reader(&recording, file_bytes);
//   reader.Read(packet);      // each TracePacket message
//   reader.Finish();
//
// The rule that people break: what a packet says holds for its own sequence only, but tracks and
// the common clocks are everybody's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/perfetto/clocks.h"
#include "formats/perfetto/event.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/packet.h"
#include "formats/perfetto/region_args.h"
#include "formats/perfetto/sequence.h"
#include "formats/perfetto/slices.h"
#include "formats/perfetto/tracks.h"
#include "profile/recording.h"

namespace inferprobe::perfetto {

class PacketReader {
 public:
  PacketReader(profile::Recording* recording, uint64_t file_bytes);

  // Packets of a Trace message, as far as they go. Returns how many bytes were read.
  // `progress` is told, now and then, where the next packet begins.
  size_t ReadAll(std::string_view trace, const std::function<void(size_t)>& progress = {});
  void Read(std::string_view packet);
  void Finish();

 private:
  struct OwnArgs;

  bool Handle(const RawPacket& packet);
  bool Inflated(std::string_view deflated);
  bool ReadThreadDescriptor(std::string_view message, Sequence& sequence);
  bool ReadDefaults(std::string_view message, Sequence& sequence);
  bool ReadInterned(std::string_view message, Sequence& sequence);
  void Intern(uint32_t table, uint64_t iid, std::string_view text, Sequence& sequence);
  bool ReadUuid(std::string_view message);

  bool ReadEvent(const RawPacket& packet, Sequence& sequence);
  uint32_t SlotOf(const Sequence& sequence);
  uint32_t TrackOf(uint32_t slot, bool counter);
  Clocks::Time TimeOfEvent(uint32_t sequence_id, Sequence& sequence);
  bool ReadSlice(Phase phase, int64_t time_ns, uint32_t slot, Sequence& sequence);
  void AddCounter(int64_t time_ns, uint32_t slot, uint32_t sequence_id, const Sequence& sequence);
  bool ReadAllocation(int64_t time_ns, bool device, Sequence& sequence);
  bool ReadNotesEvent(Sequence& sequence);
  bool ReadRunMark(int64_t time_ns, Sequence& sequence);
  void Lose(profile::Loss loss);
  void SkipBytes(std::string_view what, size_t from, size_t count);
  static void ReadMode(std::string_view text, OwnArgs& own);
  bool ReadOwnArgs(Sequence& sequence, OwnArgs& own);
  std::string_view ValueOf(const RawAnnotation& annotation, Sequence& sequence, OwnArgs& own);
  void TakeRegion(uint32_t slot, SliceEvent& slice, const OwnArgs& own);
  void LinkRegionParts();
  void CheckModules();
  uint32_t MetadataOf(std::string_view hex);
  void CountUnread(std::string what);

  profile::Recording* recording_;
  profile::Profile* profile_;
  uint64_t inflate_budget_;
  bool inside_compressed_ = false;
  bool second_trace_ = false;  // of ours has begun: nothing more is read

  Texts texts_;
  profile::StringTable values_;  // interned values of arguments, as they are
  Tracks tracks_;
  Slices slices_;
  Clocks clocks_;
  std::unordered_map<uint64_t, Sequence, MixedHash> sequences_;
  std::unordered_map<std::string, uint32_t> metadata_;  // by their digits
  Notes notes_;
  std::map<std::string, uint64_t> unread_;
  std::map<std::string, std::string, std::less<>> skipped_;  // what was skipped, and from where
  RegionArgs region_args_;                                   // of the current event
  RawEvent event_;                                           // the current one
};

}  // namespace inferprobe::perfetto
