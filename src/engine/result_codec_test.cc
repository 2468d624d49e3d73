#include "engine/result_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/record_codec.h"
#include "model/json.h"

namespace cove::engine {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// With something in every field.
ExecResult full_result() {
  ExecResult result;
  result.exec_id = "e";
  result.sandbox_id = "s";
  result.status = ExecStatus::LimitExceeded;
  result.phase = Phase::Compile;
  result.exit_code = 3;
  result.signal = 9;
  result.out = {"grüß", 40, true};
  result.err = {"\xff", 1, false};
  result.started_at = std::chrono::system_clock::time_point(milliseconds(1'700'000'000'007));
  result.duration_ms = 12.5;
  result.usage = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  result.limits["memory"] = {"1 GiB", "cgroup"};
  result.where = "host";
  result.why = "because";
  result.language = LanguageUse{"python", "3.11", "host", "note"};
  result.started = false;
  result.files = {{"a", "/tmp/a", 5}, {"b", "", 9, "\xff\xfe", true}};
  result.results = {{true, {{"text", "42"}, {"json", {{"a", 1}}}}, "id"}};
  result.denials = {{"connect", "no network"}};
  result.context_id = "c";
  result.error = CodeError{"KeyError", "'a'", "Traceback"};
  return result;
}

ExecRecord record_with(std::string result) {
  ExecRecord record;
  record.id = "e";
  record.sandbox_id = "s";
  record.state = kExecEnded;
  record.spec = "{}";
  record.result = std::move(result);
  record.started_ms = 1'700'000'000'007;
  return record;
}

TEST(ResultCodec, ForgetsNoField) {
  const ExecResult before = full_result();
  const ExecResult after = result_of(record_with(result_text(before)));
  EXPECT_EQ(to_json(after, JsonLayout::Line), to_json(before, JsonLayout::Line));
  EXPECT_EQ(after.started, before.started);
  EXPECT_EQ(after.results[0].display_id, "id");
  EXPECT_EQ(result_text(after), result_text(before));
}

TEST(ResultCodec, KnowsWhatIsNotThere) {
  const ExecResult after = result_of(record_with(result_text(ExecResult())));
  EXPECT_FALSE(after.exit_code || after.signal || after.language || after.error);
  EXPECT_TRUE(after.started);
  EXPECT_EQ(after.context_id, "");
}

// As earlier versions of Cove wrote it: what the API answered.
TEST(ResultCodec, ReadsRecordsOfEarlierVersions) {
  const ExecResult old = result_of(record_with(
      R"({"exec_id":"e","sandbox_id":"s","status":"oom_killed","phase":"run","exit_code":null,"signal":9,
          "stdout":{"text":"a","bytes":1,"truncated":false},"stderr":{"base64":"/w==","bytes":9,"truncated":true},
          "started_at":"2023-11-14T22:13:20.007Z","duration_ms":1.235,"usage":{"cpu_user_ms":7},
          "limits":{"memory":{"value":"1 GiB","enforced_by":"cgroup"}},"where":"sandbox","why":"too much","files":[],
          "language":{"name":"python","version":null,"image":"host","note":null},
          "results":[{"main":false,"formats":{"png":"cG5n"}}],"denials":[{"what":"w","why":"y"}]})"));
  EXPECT_EQ(old.exec_id, "e");
  EXPECT_EQ(old.status, ExecStatus::OomKilled);
  EXPECT_EQ(old.signal, 9);
  EXPECT_FALSE(old.exit_code);
  EXPECT_EQ(old.err.data, "\xff");
  EXPECT_EQ(old.usage.cpu_user_ms, 7u);
  EXPECT_EQ(old.language->version, "");
  EXPECT_EQ(old.results[0].formats, Json({{"png", "cG5n"}}));
  EXPECT_EQ(old.denials[0].why, "y");
  EXPECT_THAT(to_json(old, JsonLayout::Line), HasSubstr("2023-11-14T22:13:20.007Z"));
}

TEST(ResultCodec, SaysWhichRecordCannotBeRead) {
  for (const char* bad : {"{", "[]", "{}", R"({"status":"fine"})", R"({"status":"error","why":1})",
                          R"({"status":"error","stdout":{"base64":"*"}})"}) {
    Result<ExecInfo> info = info_of(record_with(bad));
    ASSERT_FALSE(info) << bad;
    EXPECT_THAT(info.error().message(), HasSubstr("exec e cannot be read"));
  }
}

TEST(ResultCodec, AnExecWithoutAResultHasNone) { EXPECT_FALSE(info_of(record_with(""))->result); }

}  // namespace
}  // namespace cove::engine
