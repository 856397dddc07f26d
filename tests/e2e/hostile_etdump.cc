// Writes an ETDump that no runtime writes, whose texts take quadratic work from a reader that looks
// at one for each event: hostile_etdump FILE SHAPE EVENTS. Its size grows with EVENTS.
#include <etdump_schema_flatcc_generated.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr uint32_t kTextBytesPerEvent = 64;

class Dump {
 public:
  explicit Dump(uint32_t events) : events_(events) {}

  // One long text, which all events have.
  void SharedName() { AddRun(builder_.CreateString(LongText()), 0, 0); }
  void SharedIdentifier() { AddRun(0, builder_.CreateString(LongText()), 0); }
  void SharedMetadata() {
    const std::string text = LongText();
    AddRun(0, builder_.CreateString("op"),
           builder_.CreateVector(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  }

  // One long name, which all blocks have; every second block is empty, so that none is like the
  // one before it.
  void SharedBlockName() {
    const auto name = builder_.CreateString(LongText());
    const auto method = builder_.CreateString("Method::execute");
    const auto none = builder_.CreateVector(std::vector<Offset<::etdump::Event>>());
    for (uint32_t i = 0; i < events_; ++i) {
      const auto event = ::etdump::CreateEvent(builder_, Profile(method, 0, 0, i));
      const auto one = builder_.CreateVector(&event, 1);
      blocks_.push_back(::etdump::CreateRunData(builder_, name, -1, 0, one));
      blocks_.push_back(::etdump::CreateRunData(builder_, name, -1, 0, none));
    }
  }

  // Names that all end where the text ends: each lies in those before it.
  void NamesInNames() {
    const uint32_t text_bytes = events_ * sizeof(uint32_t);
    std::string text(text_bytes, '\0');
    for (uint32_t at = 0; at < text_bytes; at += sizeof(uint32_t)) {
      const uint32_t rest = text_bytes - at - static_cast<uint32_t>(sizeof(uint32_t));
      std::memcpy(text.data() + at, &rest, sizeof rest);
    }
    const auto whole = builder_.CreateString(text);
    std::vector<Offset<::etdump::Event>> events;
    for (uint32_t i = 0; i < events_; ++i) {
      // Places are counted from the buffer's end.
      const auto skipped = static_cast<uint32_t>((i + 1) * sizeof(uint32_t));
      events.push_back(::etdump::CreateEvent(
          builder_, Profile(Offset<flatbuffers::String>(whole.o - skipped), 0, 0, i)));
    }
    AddBlock(std::move(events));
  }

  std::string_view Finish() {
    builder_.FinishSizePrefixed(::etdump::CreateETDump(builder_, 0, builder_.CreateVector(blocks_)),
                                ::etdump::ETDumpIdentifier());
    return {reinterpret_cast<const char*>(builder_.GetBufferPointer()), builder_.GetSize()};
  }

 private:
  [[nodiscard]] std::string LongText() const {
    return std::string(size_t{events_} * kTextBytesPerEvent, 'x');
  }

  // At a place of its own in time. Those with an identifier are of one delegate's call.
  Offset<::etdump::ProfileEvent> Profile(Offset<flatbuffers::String> name,
                                         Offset<flatbuffers::String> identifier,
                                         Offset<flatbuffers::Vector<uint8_t>> metadata,
                                         uint32_t place) {
    const uint64_t start = uint64_t{10} * place + 10;
    return ::etdump::CreateProfileEvent(builder_, name, 0, 1, -1, identifier, metadata, start,
                                        start + 7);
  }

  void AddRun(Offset<flatbuffers::String> name, Offset<flatbuffers::String> identifier,
              Offset<flatbuffers::Vector<uint8_t>> metadata) {
    std::vector<Offset<::etdump::Event>> events;
    for (uint32_t i = 0; i < events_; ++i) {
      events.push_back(::etdump::CreateEvent(builder_, Profile(name, identifier, metadata, i)));
    }
    AddBlock(std::move(events));
  }

  // As a run: in a delegate's call, in a method.
  void AddBlock(std::vector<Offset<::etdump::Event>> events) {
    for (const char* around : {"DELEGATE_CALL", "Method::execute"}) {
      const bool call = events.size() == events_;
      const auto name = builder_.CreateString(around);
      events.push_back(::etdump::CreateEvent(
          builder_, ::etdump::CreateProfileEvent(builder_, name, call ? 0 : -1, call ? 1 : 0, -1, 0,
                                                 0, 1, uint64_t{10} * events_ + 20)));
    }
    const auto list = builder_.CreateVector(events);
    blocks_.push_back(
        ::etdump::CreateRunData(builder_, builder_.CreateString("Execute"), -1, 0, list));
  }

  uint32_t events_;
  FlatBufferBuilder builder_;
  std::vector<Offset<::etdump::RunData>> blocks_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view shape = argc == 4 ? argv[2] : "";
  Dump dump(argc == 4 ? static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 10)) : 0);
  if (shape == "shared-name") {
    dump.SharedName();
  } else if (shape == "shared-identifier") {
    dump.SharedIdentifier();
  } else if (shape == "shared-metadata") {
    dump.SharedMetadata();
  } else if (shape == "shared-block-name") {
    dump.SharedBlockName();
  } else if (shape == "names-in-names") {
    dump.NamesInNames();
  } else {
    std::fputs("usage: hostile_etdump FILE SHAPE EVENTS\n", stderr);
    return 2;
  }
  const std::string_view bytes = dump.Finish();
  std::ofstream file(argv[1], std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) std::perror(argv[1]);
  return file ? 0 : 1;
}
