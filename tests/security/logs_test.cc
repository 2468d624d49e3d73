// The output of programs, which the server keeps on the host's disk.
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
  static uint64_t counted() { return call("GET", "/v1/usage").json().value("logs", uint64_t{0}); }
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

TEST_F(KeptOutput, CountsToTheProjectUntilTheSandboxIsDeleted) {
  const uint64_t before = counted();
  std::string sandbox = make();
  write(sandbox, 5);
  EXPECT_GE(counted(), before + 5 * kMiB);
  EXPECT_EQ(call("DELETE", sandbox).status, 204);
  EXPECT_LE(counted(), before);
}

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
