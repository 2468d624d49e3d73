// The output of programs, which the server keeps on the host's disk.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "integration/server_fixture.h"
#include "support/child.h"
#include "sys/file.h"

namespace cove::test {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class KeptOutput : public Server {
 protected:
  void SetUp() override {
    COVE_NEEDS_ROOT();
    Server::SetUp();
  }
  static uint64_t on_disk(const std::string& sandbox) {
    uint64_t bytes = 0;
    const std::string id = sandbox.substr(sandbox.rfind('/') + 1);
    for (const auto& entry : std::filesystem::directory_iterator(server_->folder() + "/state/server/logs/" + id))
      bytes += static_cast<uint64_t>(sys::lstat(entry.path()).value().st_blocks) * 512;
    return bytes;
  }
  static uint64_t counted() { return call("GET", "/v1/usage").json().value("logs_bytes", uint64_t{0}); }
  // Of the child of cove-spawn that serves.
  static uint64_t memory_of_coved() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string path = entry.path();
      std::string text = sys::read_file(path + "/status").value_or("");
      auto field = [&](const std::string& name) {
        size_t at = text.find("\n" + name + ":");
        return at == text.npos ? 0 : std::strtoull(text.c_str() + at + name.size() + 2, nullptr, 10);
      };
      if (text.starts_with("Name:\tcoved\n") && field("PPid") == static_cast<uint64_t>(server_->pid()))
        return field("VmRSS") << 10;
    }
    ADD_FAILURE() << "there is no coved";
    return 0;
  }
  static json write(const std::string& sandbox, int megabytes) {
    return run(sandbox, {{"shell", "head -c " + std::to_string(megabytes) + "M /dev/zero"}});
  }
};

// Five execs once left 319 MiB, forty 2.4 GiB.
TEST_F(KeptOutput, OfASandboxHasABound) {
  std::string sandbox = make();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(write(sandbox, 70)["status"], "success");
  EXPECT_LE(on_disk(sandbox), 256 * kMiB + 32 * kMiB);
}

TEST_F(KeptOutput, OfManyProgramsAtOnceHasABound) {
  std::string sandbox = make();
  for (int i = 0; i < 8; ++i)
    start(sandbox, {{"shell", "head -c 60M /dev/zero; touch /tmp/done" + std::to_string(i) + "; read line"},
                    {"stdin", {{"open", true}}},
                    {"detach", true}});
  run(sandbox, {{"shell", "for i in 0 1 2 3 4 5 6 7; do until [ -e /tmp/done$i ]; do sleep 0.05; done; done"}});
  EXPECT_LE(on_disk(sandbox), 256 * kMiB);
}

TEST_F(KeptOutput, CountsToTheProjectAlsoWhenTheSandboxIsDeleted) {
  ASSERT_EQ(post("/v1/projects", {{"id", "counted"}}).status, 201);
  const HeaderMap header = {{"cove-project", "counted"}, {"content-type", "application/json"}};
  auto kept = [&] { return call("GET", "/v1/usage", "", header).json().value("logs_bytes", uint64_t{0}); };
  EXPECT_EQ(kept(), 0u);
  const std::string id = call("POST", "/v1/sandboxes", "{}", header).json().value("id", "");
  call("POST", "/v1/sandboxes/" + id + "/execs?wait=true", json({{"shell", "head -c 5M /dev/zero"}}).dump(), header);
  const uint64_t before = kept();
  EXPECT_GE(before, 5 * kMiB);
  EXPECT_EQ(call("DELETE", "/v1/sandboxes/" + id, "", header).status, 204);
  EXPECT_GE(kept(), before);
  EXPECT_LE(kept(), before + kMiB);
}

TEST_F(KeptOutput, OfDeletedSandboxesHasABoundInEachProject) {
  for (int i = 0; i < 4; ++i) {
    std::string sandbox = make();
    for (int j = 0; j < 2; ++j) write(sandbox, 60);
    EXPECT_EQ(call("DELETE", sandbox).status, 204);
  }
  EXPECT_LE(counted(), 256 * kMiB);
}

// What is kept of deleted sandboxes makes room for others.
TEST_F(KeptOutput, FillsTheDiskQuotaOfAProject) {
  const std::string project = "kept-output";
  ASSERT_EQ(post("/v1/projects", {{"id", project}, {"quotas", {{"disk", "120m"}}}}).status, 201);
  const HeaderMap header = {{"cove-project", project}, {"content-type", "application/json"}};
  const std::string body = json({{"limits", {{"disk", "50m"}}}}).dump();
  HttpResponse first = call("POST", "/v1/sandboxes", body, header);
  ASSERT_EQ(first.status, 201) << first.body;
  const std::string sandbox = "/v1/sandboxes/" + first.json()["id"].get<std::string>();
  HttpResponse wrote =
      call("POST", sandbox + "/execs?wait=true", json({{"shell", "head -c 30M /dev/zero"}}).dump(), header);
  EXPECT_EQ(wrote.status, 200) << wrote.body;
  HttpResponse second = call("POST", "/v1/sandboxes", body, header);
  EXPECT_EQ(second.status, 429) << second.body;
  EXPECT_EQ(call("DELETE", sandbox, "", header).status, 204);
  second = call("POST", "/v1/sandboxes", body, header);
  EXPECT_EQ(second.status, 201) << second.body;
  call("DELETE", "/v1/sandboxes/" + second.json().value("id", ""), "", header);
}

// Results are on the server's disk as well, and zeros take six bytes each there.
TEST_F(KeptOutput, OfResultsHasTheSameBound) {
  const uint64_t before = counted();
  std::string sandbox = make();
  std::vector<std::string> execs;
  for (int i = 0; i < 6; ++i) {
    HttpResponse ended =
        post(sandbox + "/execs?wait=true", {{"shell", "head -c 8M /dev/zero"}, {"limits", {{"retained", "16m"}}}});
    ASSERT_EQ(ended.status, 200);
    const std::string mark = R"("exec_id":")";
    execs.push_back(sandbox + "/execs/" + ended.body.substr(ended.body.find(mark) + mark.size(), 20));
  }
  EXPECT_LE(counted(), before + 256 * kMiB);
  EXPECT_GE(counted(), before + 128 * kMiB);
  // Dropped by an errand.
  for (int tries = 0; tries < 100 && call("GET", execs.front()).status == 200; ++tries) ::usleep(50'000);
  EXPECT_EQ(call("GET", execs.front()).status, 404);
  EXPECT_EQ(call("GET", execs.back()).status, 200);
  EXPECT_EQ(call("DELETE", sandbox).status, 204);
  EXPECT_LE(counted(), 256 * kMiB);
}

TEST_F(KeptOutput, OfAResultHasABound) {
  std::string sandbox = make();
  HttpResponse refused = post(sandbox + "/execs", {{"shell", "true"}, {"limits", {{"retained", "17m"}}}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, testing::HasSubstr("more than the most (16 MiB)"));
}

// What is removed with a sandbox is not read into memory for it.
TEST_F(KeptOutput, TakesNoMemoryWhenItIsRemoved) {
  auto remove_one = [this] {
    std::string sandbox = make();
    for (int i = 0; i < 8; ++i) write(sandbox, 40);
    EXPECT_EQ(call("DELETE", sandbox).status, 204);
  };
  remove_one();
  const uint64_t before = memory_of_coved();
  for (int i = 0; i < 3; ++i) remove_one();
  EXPECT_LE(memory_of_coved(), before + 128 * kMiB);
}

// What is not kept any more is left out; the result, with the beginning and the end of it, stays.
TEST_F(KeptOutput, OfAnOldExecIsLeftOutAndItsResultStays) {
  std::string sandbox = make();
  std::string old = start(sandbox, {{"shell", "head -c 60M /dev/zero; echo over"}});
  for (int i = 0; i < 5; ++i) write(sandbox, 70);
  HttpResponse output = call("GET", old + "/output?from=1");
  ASSERT_EQ(output.status, 200) << output.body;
  EXPECT_TRUE(output.json()["chunks"].empty());
  EXPECT_TRUE(output.json()["ended"]);
  EXPECT_GT(output.json()["next"], 1);
  EXPECT_EQ(output.json()["result"]["status"], "success");
  HttpStream stream(socket(), {"GET", old + "/output?from=1", {{"accept", "text/event-stream"}}, ""});
  auto event = stream.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->name, "exit");
}

}  // namespace
}  // namespace cove::test
