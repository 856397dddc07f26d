// What is damaged, hostile, or too much of it.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <protozero/pbf_builder.hpp>

#include "formats/perfetto/inflate.h"
#include "formats/perfetto/reader.h"
#include "formats/perfetto/trace_maker.h"

// Work is counted in allocations, not in seconds.
namespace {
size_t g_allocations = 0;
}
// Not inlined: GCC would see malloc's memory go to delete, and warn.
[[gnu::noinline]] void* operator new(size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
// As std::stable_sort asks; a sanitizer's own would not fit the delete below.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++g_allocations;
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace inferprobe::perfetto {
namespace {

using profile::Loss;
using profile::Recording;
using protozero::pbf_builder;

TEST(PerfettoDamage, NamesAreRepairedAndCountedOnce) {
  const Recording read = TraceMaker()
                             .Named(kTrack, "t\xFF")
                             .Begin(1, "bad \xC0")
                             .End(2)
                             .Begin(3, "bad \xC0")
                             .End(4)
                             .Read();
  EXPECT_EQ(Lines(read), (Strings{"t\\xFF: bad \\xC0 1+1", "t\\xFF: bad \\xC0 3+1"}));
  EXPECT_EQ(Lost(read, Loss::kInvalidUtf8), 2u);
}

TEST(PerfettoDamage, DamagedPacketsAreSkipped) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Begin(1, "x");
  trace.Raw(std::string_view("\x07\x07", 2));          // no such wire type
  trace.Raw(std::string_view("\x5a\x05\x01", 3));      // an event longer than its packet
  trace.Raw(std::string_view("\x5a\x02\x1a\x7f", 4));  // the same inside
  trace.Raw(std::string_view("\x08", 1));              // a key without value
  trace.Bytes(std::string_view("\x10\x05", 2));        // a field of Trace that is no packet
  trace.End(2);
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), Strings{"t: x 1+1"});
  EXPECT_EQ(Lost(read, Loss::kDamagedPacket), 5u);
  EXPECT_EQ(Lost(read, Loss::kTruncatedFile), 0u);
}

TEST(PerfettoDamage, ReadingStopsWhereNothingIsFramed) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Begin(1, "x").End(2);
  const size_t from = trace.bytes().size();
  trace.Bytes(std::string(100, '\1')).Begin(3, "y").End(4);
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), Strings{"t: x 1+1"});
  EXPECT_EQ(Lost(read, Loss::kDamagedPacket), 1u);
  EXPECT_EQ(Lost(read, Loss::kUnreadBytes), trace.bytes().size() - from);
  EXPECT_EQ(read.source.packets.at(0).type,
            fmt::format("bytes that are no packet, from byte {}", from));
  EXPECT_EQ(read.source.packets.at(0).count, trace.bytes().size() - from);
}

TEST(PerfettoDamage, ZeroBytesAreSkipped) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Begin(1, "x").End(2);
  const size_t from = trace.bytes().size();
  trace.Bytes(std::string(100, '\0')).Begin(3, "y").Bytes(std::string_view("\0", 1)).End(4);
  trace.Bytes(std::string(10'000, '\0'));
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), (Strings{"t: x 1+1", "t: y 3+1"}));
  EXPECT_EQ(Lost(read, Loss::kDamagedPacket), 0u);
  EXPECT_EQ(Lost(read, Loss::kUnreadBytes), 10'101u);
  EXPECT_EQ(read.source.packets.at(0).type, fmt::format("zero bytes, from byte {}", from));
}

std::string Deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(out.data()), &size,
                     reinterpret_cast<const Bytef*>(text.data()), text.size()),
            Z_OK);
  out.resize(size);
  return out;
}
void AddCompressed(TraceMaker& trace, const std::string& deflated) {
  trace.Add([&](Packet& packet) {
    packet.add_bytes(TracePacket::kCompressedPackets, deflated.data(), deflated.size());
  });
}

TEST(PerfettoDamage, CompressedPackets) {
  TraceMaker inner;
  inner.Begin(1, "x").End(2);
  TraceMaker trace;
  trace.Named(kTrack, "t");
  AddCompressed(trace, Deflated(inner.bytes()));
  EXPECT_EQ(Lines(trace.Read()), Strings{"t: x 1+1"});

  TraceMaker nested;
  AddCompressed(nested, Deflated(trace.bytes()));  // compressed inside compressed
  nested.Begin(5, "y").End(6);
  const Recording read = nested.Read();
  EXPECT_EQ(Lines(read), Strings{"t: y 5+1"});
  EXPECT_EQ(Lost(read, Loss::kDamagedPacket), 1u);
}

TEST(PerfettoDamage, InflatesNoMoreThanItsLimit) {
  const std::string good = Deflated(std::string(100'000, 'a'));
  EXPECT_EQ(Inflate(good, 99'999), std::nullopt);
  EXPECT_EQ(Inflate(good, 100'000), std::string(100'000, 'a'));
  EXPECT_EQ(Inflate("", 100), std::nullopt);
  EXPECT_EQ(Inflate(good.substr(0, good.size() - 1), 100'000), std::nullopt);
}

TEST(PerfettoDamage, BrokenStreamsAreDamage) {
  TraceMaker trace;
  trace.Named(kTrack, "t").Begin(1, "x").End(2);
  const std::string good = Deflated(std::string(1'000, 'a'));
  AddCompressed(trace, good.substr(0, good.size() / 2));
  AddCompressed(trace, "no zlib at all");
  const Recording read = trace.Read();
  EXPECT_EQ(Lines(read), Strings{"t: x 1+1"});
  EXPECT_EQ(Lost(read, Loss::kDamagedPacket), 2u);
}

TEST(PerfettoDamage, MoreTracksThanTheModelHolds) {
  TraceMaker trace;
  for (uint64_t track = 1; track <= 65'600; ++track)
    trace.Begin(track, "x", track).End(track, track);
  const Recording read = trace.Read();
  EXPECT_EQ(read.profile.tracks.size(), 65'535u);
  EXPECT_EQ(read.profile.slices.size(), 65'535u);
  EXPECT_EQ(Lost(read, Loss::kTooLarge), 2 * (65'600u - 65'535u));
}

TEST(PerfettoDamage, AForgedDescriptionMakesNoRun) {
  TraceMaker trace;
  uint64_t uuid = kTrack;
  for (const char* description :
       {"inferprobe track=0 lane=0 type=thread kind=host_wall pid=1 tid=1 name=99",
        "inferprobe track=0 lane=4000000000 type=engine kind=device pid=1 tid=1 name=1 thread=9",
        "inferprobe track=x", "inferprobe notes"}) {
    trace.Add([&](Packet& packet) {
      pbf_builder<TrackDescriptor> track{packet, TracePacket::kTrackDescriptor};
      track.add_uint64(TrackDescriptor::kUuid, uuid);
      track.add_string(TrackDescriptor::kName, "t");
      track.add_string(TrackDescriptor::kDescription, description);
    });
    trace.Begin(1, "x", uuid).End(2, uuid);
    trace.AddEvent({.type = kInstant, .time = 1, .track = uuid++});
  }
  const Recording read = trace.Read();
  EXPECT_EQ(read.profile.runs.size(), 0u);
  EXPECT_EQ(read.profile.slices.size(), 4u);
}

TEST(PerfettoDamage, ManySequencesAndLostNumbersAreNotSlow) {
  TraceMaker trace;
  trace.Named(kTrack, "t");
  for (uint32_t sequence = 1; sequence <= 50'000; ++sequence) {
    trace.AddEvent({.time = sequence,
                    .iid = 5,
                    .sequence = sequence * 85'000,
                    .flags = kIncrementalStateCleared});
  }
  const Recording read = trace.Read();
  EXPECT_EQ(Lost(read, Loss::kLostState), 50'000u);
}

// Twice the slices, twice the work: deep, flat, backwards, and with an end missing each time.
TEST(PerfettoDamage, WorkIsLinearInSlices) {
  const auto work = [](uint64_t count, int shape) {
    TraceMaker trace;
    trace.Named(kTrack, "t");
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t at = shape == 2 ? 10 * (count - i) : 10 * i;
      trace.Begin(at, "x");
      if (shape == 1 || shape == 2) trace.End(at + 5);
    }
    for (uint64_t i = 0; shape == 0 && i < count; ++i) trace.End(10 * (count + i));
    const size_t before = g_allocations;
    const Recording read = trace.Read();
    EXPECT_EQ(read.profile.slices.size(), shape == 3 ? 0 : count);
    return static_cast<double>(g_allocations - before);
  };
  for (int shape = 0; shape < 4; ++shape) {
    EXPECT_LT(work(40'000, shape), 2.2 * work(20'000, shape) + 100) << shape;
    EXPECT_LT(work(40'000, shape), 1'000) << "no allocation for each slice: " << shape;
  }
}

}  // namespace
}  // namespace inferprobe::perfetto
