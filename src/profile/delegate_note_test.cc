#include "profile/delegate_note.h"

#include <gtest/gtest.h>

#include <string>

namespace inferprobe::profile {
namespace {

TEST(DelegateNote, SaysAllThatTheKitWrites) {
  const auto whole =
      ParseDelegateNote(R"({"kind":"host_wall","mode":"asynchronous","call":7,"engine":"0a1b-1",)"
                        R"("config":"process-wide, generation 3"})");
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->IsHostWall());
  EXPECT_EQ(whole->mode, CallMode::kAsynchronous);
  EXPECT_EQ(whole->call, 7U);
  EXPECT_EQ(whole->engine, "0a1b-1");
  EXPECT_EQ(whole->config, "process-wide, generation 3");

  const auto layer = ParseDelegateNote(
      R"({"kind":"engine_reported","of":"running_mean","type":"Conv \"2d\"","exec":"jit_f32"})");
  ASSERT_TRUE(layer);
  EXPECT_FALSE(layer->IsHostWall());
  EXPECT_EQ(layer->kind, Kind::kEngineReported);
  EXPECT_TRUE(layer->of_running_mean);
  EXPECT_EQ(layer->type, "Conv \"2d\"");
  EXPECT_EQ(layer->exec, "jit_f32");

  const auto report = ParseDelegateNote(R"({"kind":"host_wall","calls":120,"unit_ns":1000})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->calls, 120U);
  EXPECT_EQ(report->unit_ns, 1000U);
  EXPECT_EQ(report->covered, 1U);
  EXPECT_EQ(ParseDelegateNote(R"({"kind":"host_wall","calls":9,"covered":3})")->covered, 3U);

  const auto device = ParseDelegateNote(R"({ "clock" : "cuda event", "kind" : "device" })");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->kind, Kind::kDevice);
  EXPECT_EQ(device->clock, "cuda event");
}

TEST(DelegateNote, WhatALaterVersionAddsIsLeftOut) {
  const auto note = ParseDelegateNote(
      R"({"stream":[1,{"kind":"device"}],"kind":"host_cpu","x":null,"y":{"call":0},"z":-1.5})");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->kind, Kind::kHostCpu);
  EXPECT_FALSE(note->call);
}

TEST(DelegateNote, AnythingElseIsNone) {
  for (const std::string bytes : {
           "",
           "{}",
           "conv",
           "[\"kind\"]",
           R"("kind")",
           R"({"mode":"blocking"})",                         // of no kind
           R"({"kind":"derived"})",                          // nothing that an event has
           R"({"kind":"Host_wall"})",                        //
           R"({"kind":1})",                                  //
           R"({"kind":["host_wall"]})",                      //
           R"({"kind":"host_wall","kind":"device"})",        // two that differ
           R"({"kind":"host_wall","mode":"sometimes"})",     //
           R"({"kind":"host_wall","mode":"unknown"})",       //
           R"({"kind":"host_wall","call":0})",               // they are counted from 1
           R"({"kind":"host_wall","call":-1})",              //
           R"({"kind":"host_wall","call":1.5})",             //
           R"({"kind":"host_wall","call":"1"})",             //
           R"({"kind":"host_wall","unit_ns":9999999999})",   //
           R"({"kind":"host_wall","calls":9999999999999})",  //
           R"({"kind":"device","of":"median"})",             //
           R"({"kind":"host_wall"} x)",
           R"({"kind":"host_wall")",
           R"({"kind":"host_wall",})",
           R"({kind:"host_wall"})",
           R"( {"kind":"host_wall"})",
           R"([{"kind":"host_wall"}])",
           "{\"kind\":\"host_wall\",\"engine\":\"\xff\"}",  // no UTF-8
           "{\"kind\":\"host_wall\",\"engine\":\"\n\"}",
       }) {
    EXPECT_FALSE(ParseDelegateNote(bytes)) << bytes;
  }
}

TEST(DelegateNote, ALongOneIsNone) {
  const std::string head = R"({"kind":"device","clock":")";
  const std::string tail = R"("})";
  const auto of_size = [&](size_t bytes) {
    return head + std::string(bytes - head.size() - tail.size(), 'c') + tail;
  };
  EXPECT_TRUE(ParseDelegateNote(of_size(kLongestNote)));
  EXPECT_FALSE(ParseDelegateNote(of_size(kLongestNote + 1)));
  EXPECT_FALSE(ParseDelegateNote(R"({"kind":"device","x":)" + std::string(4000, '[')));
}

TEST(DelegateNotes, BelongToSlicesAndComeAsTheProfileGrows) {
  Profile profile;
  const auto add = [&](const char* name, const char* metadata) {
    SliceArgs args;
    args.metadata = static_cast<uint32_t>(profile.metadata.size());
    profile.metadata.emplace_back(metadata);
    Slice slice;
    slice.name = profile.strings.Intern(name);
    slice.args = profile.AddArgs(args);
    profile.slices.push_back(slice);
    return slice;
  };
  DelegateNotes notes(&profile);
  EXPECT_EQ(notes.Of(Slice()), nullptr);
  const Slice whole = add("openvino.delegate", R"({"kind":"host_wall"})");
  ASSERT_NE(notes.Of(whole), nullptr);
  EXPECT_TRUE(notes.IsHostWall(whole, kWholeCall));
  EXPECT_FALSE(notes.IsHostWall(whole, kLayerReport));
  const Slice foreign = add("x.delegate", "of zero");
  EXPECT_EQ(notes.Of(foreign), nullptr);
  EXPECT_FALSE(notes.IsHostWall(foreign, kWholeCall));
  EXPECT_FALSE(notes.IsHostWall(add("x.device", R"({"kind":"device"})"), kDeviceDuration));
}

}  // namespace
}  // namespace inferprobe::profile
