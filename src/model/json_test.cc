#include "model/json.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "model/figures.h"

namespace cove {
namespace {

Json as_json(const ExecResult& result) { return Json::parse(to_json(result, JsonLayout::Line)).value(); }

Json stream_of(const std::string& data) {
  ExecResult result;
  result.out = {data, data.size(), false};
  return as_json(result)["stdout"];
}

TEST(ResultJson, GivesResultsInTheirFormats) {
  ExecResult result;
  result.results = {{false, {{"png", "cG5n"}}, "never shown"}};
  EXPECT_EQ(as_json(result)["results"], Json::parse(R"([{"main": false, "formats": {"png": "cG5n"}}])").value());
}

TEST(Figures, AreAskedForUnlessTheVariableIsSet) {
  Environment env = {{"A", "1"}};
  want_figures(env);
  EXPECT_EQ(env.size(), 2u);
  EXPECT_EQ(env.back().second, "module://cove_figures");
  Environment own = {{"MPLBACKEND", ""}};
  want_figures(own);
  EXPECT_EQ(own.size(), 1u);
}

TEST(Figures, HaveNamesAndABeginning) {
  EXPECT_EQ(figure_name(1), "figure-01.png");
  EXPECT_EQ(figure_name(32), "figure-32.png");
  EXPECT_TRUE(is_png("\x89PNG\r\n\x1a\n..."));
  EXPECT_FALSE(is_png("\x89PNG"));
  EXPECT_FALSE(is_png("GIF89a"));
}

TEST(ResultJson, HasEveryFieldOfTheContract) {
  Json json = as_json({});
  for (const char* name :
       {"exec_id", "sandbox_id", "status", "exit_code", "signal", "stdout", "stderr", "started_at", "duration_ms",
        "usage", "limits", "where", "why", "files", "results", "denials", "phase", "language"})
    EXPECT_TRUE(json.contains(name)) << name;
  EXPECT_EQ(json["usage"].size(), 9u);
  EXPECT_TRUE(json["results"].is_array());
  EXPECT_TRUE(json["limits"].is_object());
  EXPECT_EQ(json["where"], "sandbox");
}

TEST(ResultJson, NamesTheStatus) {
  const std::pair<ExecStatus, const char*> kNames[] = {
      {ExecStatus::Success, "success"}, {ExecStatus::Error, "error"},
      {ExecStatus::Timeout, "timeout"}, {ExecStatus::OomKilled, "oom_killed"},
      {ExecStatus::Killed, "killed"},   {ExecStatus::LimitExceeded, "limit_exceeded"},
  };
  for (const auto& [status, name] : kNames) EXPECT_EQ(as_json({.status = status})["status"], name);
}

TEST(ResultJson, TellsThePhaseAndTheLanguage) {
  EXPECT_EQ(as_json({})["phase"], "run");
  EXPECT_TRUE(as_json({})["language"].is_null());
  EXPECT_EQ(as_json({.phase = Phase::Compile})["phase"], "compile");
  Json language = as_json({.language = LanguageUse{"python", "3.11.2", "host", "why not"}})["language"];
  EXPECT_EQ(language, (Json{{"name", "python"}, {"version", "3.11.2"}, {"image", "host"}, {"note", "why not"}}));
  EXPECT_TRUE(as_json({.language = LanguageUse{"bash", "", "x", ""}})["language"]["version"].is_null());
}

TEST(ResultJson, GivesNullForWhatThereIsNot) {
  Json exited = as_json({.exit_code = 3});
  EXPECT_EQ(exited["exit_code"], 3);
  EXPECT_TRUE(exited["signal"].is_null());
  Json killed = as_json({.signal = 9});
  EXPECT_TRUE(killed["exit_code"].is_null());
  EXPECT_EQ(killed["signal"], 9);
}

TEST(ResultJson, GivesOutputAsTextWhereItIsUtf8) {
  Json stream = stream_of("grüße €\n\U0001F30A");
  EXPECT_EQ(stream["text"], "grüße €\n\U0001F30A");
  EXPECT_FALSE(stream.contains("base64"));
  EXPECT_EQ(stream["truncated"], false);
  EXPECT_EQ(stream_of(std::string("a\0b", 3))["text"], std::string("a\0b", 3));
  EXPECT_EQ(stream_of("")["text"], "");
}

TEST(ResultJson, GivesOutputAsBase64WhereItIsNot) {
  EXPECT_EQ(stream_of("\xff")["base64"], "/w==");
  EXPECT_EQ(stream_of("\xff\xfe")["base64"], "//4=");
  EXPECT_EQ(stream_of("\xff\xfe\xfd")["base64"], "//79");
  for (const char* bad :
       {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "\xf8\x88\x80\x80\x80", "\xe0\x80\x80"})
    EXPECT_TRUE(stream_of(bad).contains("base64"));
}

TEST(ResultJson, CountsWhatWasWrittenNotWhatWasKept) {
  ExecResult result;
  result.err = {"head", 4096, true};
  EXPECT_EQ(as_json(result)["stderr"], Json({{"text", "head"}, {"bytes", 4096}, {"truncated", true}}));
}

TEST(ResultJson, WritesTimesInUtcWithMilliseconds) {
  ExecResult result;
  result.started_at = std::chrono::system_clock::time_point(std::chrono::milliseconds(1700000000007));
  result.duration_ms = 1.23456789;
  EXPECT_EQ(as_json(result)["started_at"], "2023-11-14T22:13:20.007Z");
  EXPECT_EQ(as_json(result)["duration_ms"], 1.235);
}

TEST(ResultJson, ListsLimitsFilesAndDenials) {
  ExecResult result;
  result.limits["memory"] = {"2 GiB", "cgroup"};
  result.files.push_back({"/home/user/a", "/tmp/a", 5});
  result.denials.push_back({"connect", "no network"});
  Json json = as_json(result);
  EXPECT_EQ(json["limits"]["memory"]["enforced_by"], "cgroup");
  EXPECT_EQ(json["files"][0]["bytes"], 5);
  EXPECT_EQ(json["denials"][0]["why"], "no network");
}

TEST(ResultJson, GivesFilesWithTheirContent) {
  ExecResult result;
  result.files.push_back({"a", "", 5, "grüß", true});
  result.files.push_back({"b", "", 2, "\xff\xfe"});
  result.files.push_back({"c", "", 9, "gr\xc3", true});
  Json files = as_json(result)["files"];
  EXPECT_EQ(files[0], Json({{"path", "a"}, {"bytes", 5}, {"text", "grüß"}, {"truncated", true}}));
  EXPECT_EQ(files[1], Json({{"path", "b"}, {"bytes", 2}, {"base64", "//4="}, {"truncated", false}}));
  EXPECT_EQ(files[2]["text"], "gr") << "half a character is left out";
  result.files = {{"none", "", 9, "\xff\xfe\xfd\xfc\xfb", true}};
  EXPECT_TRUE(as_json(result)["files"][0].contains("base64"));
}

TEST(ResultJson, HasAContextAndItsErrorWhereItIsOfOne) {
  EXPECT_FALSE(as_json({}).contains("context_id"));
  EXPECT_FALSE(as_json({}).contains("error"));
  Json fine = as_json({.context_id = "c"});
  EXPECT_EQ(fine["context_id"], "c");
  EXPECT_TRUE(fine["error"].is_null());
  Json raised = as_json({.context_id = "c", .error = CodeError{"KeyError", "'a'", "Traceback"}});
  EXPECT_EQ(raised["error"], Json({{"name", "KeyError"}, {"value", "'a'"}, {"traceback", "Traceback"}}));
}

TEST(ResultJson, SurvivesPathsThatAreNotUtf8) {
  ExecResult result;
  result.files.push_back({"/home/user/\xff", "/tmp/\xff", 5});
  EXPECT_EQ(as_json(result)["files"][0]["path"], "/home/user/\xef\xbf\xbd");
}

TEST(ResultJson, IsOneLineOrIndented) {
  EXPECT_EQ(to_json(ExecResult{}, JsonLayout::Line).find('\n'), std::string::npos);
  EXPECT_NE(to_json(ExecResult{}, JsonLayout::Indented).find("\n  \"status\""), std::string::npos);
}

TEST(DiagnosisJson, NamesTheLevelAndEveryFinding) {
  Diagnosis diagnosis;
  diagnosis.mode = "rootless";
  diagnosis.level = IsolationLevel::Reduced;
  diagnosis.findings.push_back({"cgroups", "control groups", FindingStatus::Weak, "none", "weaker", "log in"});
  Json json = Json::parse(to_json(diagnosis, JsonLayout::Line)).value();
  EXPECT_EQ(json["level"], "reduced");
  EXPECT_EQ(json["mode"], "rootless");
  EXPECT_EQ(json["findings"][0]["name"], "cgroups");
  EXPECT_EQ(json["findings"][0]["standing"], "weak");
  EXPECT_EQ(json["findings"][0]["remedy"], "log in");
}

}  // namespace
}  // namespace cove
