#include "inferprobe/scope.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/system_clock.h"
#include "inferprobe/recorder.h"
#include "record/ring_writer.h"

namespace inferprobe {
namespace {

Recorder StartRecorder(const RecorderOptions& options = {.events_per_thread = 1024}) {
  Result<Recorder> recorder = Recorder::Start(options);
  EXPECT_TRUE(recorder) << recorder.error().message;
  return *std::move(recorder);
}

TEST(Scope, RecordsNameTimeAndThread) {
  Recorder recorder = StartRecorder();
  const int64_t before = base::MonotonicNs();
  {
    INFERPROBE_SCOPE("decode");
  }
  const int64_t after = base::MonotonicNs();
  const DrainedScopes drained = recorder.Drain();
  ASSERT_EQ(drained.scopes.size(), 1U);
  const RecordedScope& scope = drained.scopes[0];
  EXPECT_EQ(scope.name, "decode");
  EXPECT_EQ(scope.parent, 0U);
  EXPECT_GT(scope.tid, 0);
  EXPECT_GE(scope.dur_ns, 0);
  EXPECT_GE(scope.start_ns, before - 5'000);
  EXPECT_LE(scope.start_ns + scope.dur_ns, after + 5'000);
  EXPECT_EQ(drained.dropped, 0U);
}

TEST(Scope, TwoInOneBlockAndNesting) {
  Recorder recorder = StartRecorder();
  {
    INFERPROBE_SCOPE("outer");
    INFERPROBE_SCOPE("middle");
    {
      INFERPROBE_SCOPE("inner");
    }
    {
      INFERPROBE_SCOPE("inner");
    }
  }
  {
    INFERPROBE_SCOPE("next");
  }
  const auto scopes = recorder.Drain().scopes;
  ASSERT_EQ(scopes.size(), 5U);
  const auto &inner = scopes[0], &inner2 = scopes[1], &middle = scopes[2], &outer = scopes[3],
             &next = scopes[4];
  EXPECT_EQ(inner.name, "inner");
  EXPECT_EQ(inner.parent, middle.id);
  EXPECT_EQ(inner2.parent, middle.id);
  EXPECT_NE(inner2.id, inner.id);
  EXPECT_EQ(middle.parent, outer.id);
  EXPECT_EQ(outer.parent, 0U);
  EXPECT_EQ(next.parent, 0U);
  EXPECT_GE(middle.start_ns, outer.start_ns);
  EXPECT_LE(middle.start_ns + middle.dur_ns, outer.start_ns + outer.dur_ns);
}

TEST(Scope, OffRecordsNothing) {
  {
    INFERPROBE_SCOPE("before");
  }
  Recorder recorder = StartRecorder();
  EXPECT_TRUE(Recording());
  EXPECT_TRUE(recorder.Drain().scopes.empty());
  recorder.Stop();
  EXPECT_FALSE(Recording());
  {
    INFERPROBE_SCOPE("after");
  }
  Recorder next = StartRecorder();
  EXPECT_TRUE(next.Drain().scopes.empty());
}

TEST(Scope, OpenedBeforeTheStartIsNotRecorded) {
  std::optional<Recorder> recorder;
  {
    INFERPROBE_SCOPE("too early");
    recorder.emplace(StartRecorder());
    {
      INFERPROBE_SCOPE("in time");
    }
  }
  const auto scopes = recorder->Drain().scopes;
  ASSERT_EQ(scopes.size(), 1U);
  EXPECT_EQ(scopes[0].name, "in time");
  EXPECT_EQ(scopes[0].parent, 0U);
}

TEST(Scope, WithASiteOfOnesOwn) {
  static constinit Site site("no macro");
  Recorder recorder = StartRecorder();
  {
    const Scope scope(site);
  }
  ASSERT_EQ(recorder.Drain().scopes.size(), 1U);
}

TEST(Chain, EachEndIsTheNextStart) {
  static constinit Site load("load");
  static constinit Site compute("compute");
  static constinit Site store("store");
  Recorder recorder = StartRecorder();
  {
    INFERPROBE_SCOPE("step");
    Chain phase(load);
    {
      INFERPROBE_SCOPE("in load");
    }
    phase.Next(compute);
    {
      INFERPROBE_SCOPE("in compute");
    }
    phase.Next(store);
  }
  {
    INFERPROBE_SCOPE("outside");
  }
  std::map<std::string_view, RecordedScope> by_name;
  for (const RecordedScope& scope : recorder.Drain().scopes) by_name[scope.name] = scope;
  ASSERT_EQ(by_name.size(), 7U);
  EXPECT_EQ(by_name["load"].start_ns + by_name["load"].dur_ns, by_name["compute"].start_ns);
  EXPECT_EQ(by_name["compute"].start_ns + by_name["compute"].dur_ns, by_name["store"].start_ns);
  for (const char* phase : {"load", "compute", "store"}) {
    EXPECT_EQ(by_name[phase].parent, by_name["step"].id);
  }
  EXPECT_EQ(by_name["in load"].parent, by_name["load"].id);
  EXPECT_EQ(by_name["in compute"].parent, by_name["compute"].id);
  EXPECT_EQ(by_name["outside"].parent, 0U);
}

TEST(Chain, OffRecordsNothing) {
  static constinit Site first("first");
  Chain chain(first);
  Recorder recorder = StartRecorder();
  chain.Next(first);
  EXPECT_TRUE(recorder.Drain().scopes.empty());
}

TEST(Counter, RecordsTheValueAndOffDoesNotEvaluateIt) {
  int evaluated = 0;
  const auto value = [&] {
    ++evaluated;
    return 2.5;
  };
  INFERPROBE_COUNTER("depth", value());
  EXPECT_EQ(evaluated, 0);
  Recorder recorder = StartRecorder();
  INFERPROBE_COUNTER("depth", value());
  static constinit Site site("other");
  RecordCounter(site, -1e300);
  const auto counters = recorder.Drain().counters;
  EXPECT_EQ(evaluated, 1);
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[0].name, "depth");
  EXPECT_EQ(counters[0].value, 2.5);
  EXPECT_EQ(counters[1].value, -1e300);
}

TEST(Names, KeepTheirIdInTheNextRecorder) {
  uint32_t id = 0;
  {
    Recorder recorder = StartRecorder();
    id = record::InternName("a name for keeps");
    EXPECT_GT(id, 0U);
    EXPECT_EQ(record::InternName("a name for keeps"), id);
    EXPECT_EQ(record::InternName(""), 0U);
  }
  EXPECT_EQ(record::InternName("a name for keeps"), id);  // also while nothing records
  Recorder recorder = StartRecorder();
  EXPECT_EQ(record::InternName("a name for keeps"), id);
}

TEST(Names, OneSiteAfterAnotherRecorder) {
  for (int i = 0; i < 3; ++i) {
    Recorder recorder = StartRecorder();
    {
      INFERPROBE_SCOPE("the same place");
    }
    const auto scopes = recorder.Drain().scopes;
    ASSERT_EQ(scopes.size(), 1U);
    EXPECT_EQ(scopes[0].name, "the same place");
  }
}

TEST(Names, NoNameDoesNotStayUnregistered) {
  static constinit Site empty("");
  static constinit Site null(nullptr);
  Recorder recorder = StartRecorder();
  {
    const Scope scope(empty);
  }
  EXPECT_NE(empty.id.load(), 0U);
  {
    const Scope scope(null);
  }
  {
    Chain chain(null);
    chain.Next(null);
  }
  RecordCounter(null, 1);
  const DrainedScopes drained = recorder.Drain();
  ASSERT_EQ(drained.scopes.size(), 4U);
  for (const RecordedScope& scope : drained.scopes) EXPECT_EQ(scope.name, "(no name)");
  EXPECT_EQ(drained.counters.at(0).name, "(no name)");
}

}  // namespace
}  // namespace inferprobe
