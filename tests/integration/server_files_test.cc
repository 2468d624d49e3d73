// The server's API as its callers meet it: files, folders and archives of sandboxes.
#include "integration/server_fixture.h"
#include "support/child.h"

namespace cove::test {
namespace {

using ServerFiles = Server;

TEST_F(ServerFiles, WritesReadsAndRemovesFiles) {
  std::string sandbox = make();
  std::string file = sandbox + "/files?path=data.csv";
  HttpResponse written = call("PUT", file, "a,1\nb,2\n");
  EXPECT_EQ(written.status, 201) << written.body;
  EXPECT_EQ(written.json(), json({{"path", "/home/user/data.csv"}, {"bytes", 8}}));
  HttpResponse read = call("GET", file);
  EXPECT_EQ(read.body, "a,1\nb,2\n");
  EXPECT_EQ(read.headers["cove-mode"], "0644");
  EXPECT_EQ(read.headers["cove-owner"], "1000:1000");
  HttpResponse head = call("HEAD", file);
  EXPECT_EQ(head.headers["content-length"], "8");
  EXPECT_EQ(head.headers["etag"], read.headers["etag"]);
  EXPECT_EQ(call("PUT", file, "new").status, 200);
  EXPECT_NE(call("HEAD", file).headers["etag"], read.headers["etag"]);
  EXPECT_EQ(call("DELETE", file).status, 204);
  expect_problem(call("GET", file), 404, "not_found");
  expect_problem(call("DELETE", file), 404, "not_found");
}

TEST_F(ServerFiles, ReadsRanges) {
  std::string sandbox = make();
  std::string file = sandbox + "/files?path=digits";
  call("PUT", file, "0123456789");
  HttpResponse part = call("GET", file, "", {{"range", "bytes=2-4"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_EQ(part.headers["content-range"], "bytes 2-4/10");
  HttpResponse none = call("GET", file, "", {{"range", "bytes=10-"}});
  expect_problem(none, 416, "precondition");
  EXPECT_EQ(none.headers["content-range"], "bytes */10");
}

TEST_F(ServerFiles, RefusesFilesThatCannotBe) {
  std::string sandbox = make();
  run(sandbox, {{"shell", "mkdir -p d/e; mkfifo pipe; ln -s loop loop"}});
  expect_problem(call("PUT", sandbox + "/files?path=no/such/f", "x"), 404, "not_found");
  EXPECT_EQ(call("PUT", sandbox + "/files?path=new/deep/f&parents=true&mode=0755", "x").status, 201);
  EXPECT_EQ(call("HEAD", sandbox + "/files?path=new/deep/f").headers["cove-mode"], "0755");
  expect_problem(call("PUT", sandbox + "/files?path=/etc/by-user", "x"), 403, "denied");
  EXPECT_EQ(call("PUT", sandbox + "/files?path=/etc/by-root&user=root", "x").status, 201);
  for (const char* path : {"d", "pipe", "loop", ""})
    expect_problem(call("GET", sandbox + "/files?path=" + path), 400, "invalid");
  expect_problem(call("GET", sandbox + "/files"), 400, "invalid");
  expect_problem(call("PUT", sandbox + "/files?path=f&mode=9", "x"), 400, "invalid");
  expect_problem(call("GET", sandbox + "/files?path=f&user=nobody-of-that-name"), 404, "not_found");
  expect_problem(call("DELETE", sandbox + "/files?path=d"), 409, "conflict");
  EXPECT_EQ(call("DELETE", sandbox + "/files?path=d&recursive=true").status, 204);
}

TEST_F(ServerFiles, TellsThatTheDiskIsFull) {
  std::string sandbox = make({{"limits", {{"disk", "8m"}}}});
  HttpResponse response = call("PUT", sandbox + "/files?path=big", std::string(20 << 20, 'x'));
  expect_problem(response, 507, "disk_full");
  EXPECT_EQ(response.json()["detail"], "the sandbox's disk is full");
}

TEST_F(ServerFiles, ResolvesLinksInside) {
  std::string sandbox = make();
  run(sandbox, {{"shell", "ln -s /etc/hostname name; ln -s target link; echo old > target"}});
  EXPECT_EQ(call("GET", sandbox + "/files?path=name").body, call("GET", sandbox + "/files?path=/etc/hostname").body);
  EXPECT_EQ(call("PUT", sandbox + "/files?path=link", "new").status, 200);
  EXPECT_EQ(run(sandbox, {{"shell", "cat target; readlink link"}})["stdout"]["text"], "newtarget\n");
}

TEST_F(ServerFiles, LeavesTheOldFileWhenAnUploadBreaks) {
  std::string sandbox = make();
  std::string file = sandbox + "/files?path=kept";
  call("PUT", file, "old");
  send_and_hang_up(socket(), {"PUT", file, {{"content-length", "1000000"}}, "half"});
  auto names = [&] {
    const json listing = call("GET", sandbox + "/entries?path=.").json();
    std::string all;
    for (const json& entry : listing["items"]) all += entry["name"];
    return all;
  };
  for (int i = 0; i < 500 && names().find(".cove-upload") != std::string::npos; ++i) ::usleep(10'000);
  EXPECT_THAT(names(), testing::Not(HasSubstr(".cove-upload")));
  EXPECT_EQ(call("GET", file).body, "old");
}

TEST_F(ServerFiles, ListsAndChangesEntries) {
  std::string sandbox = make();
  run(sandbox, {{"shell", "mkdir -p t/d/e; echo 12345 > t/f; ln -s f t/l; mkfifo t/p; mkdir full; touch full/x"}});
  json one = call("GET", sandbox + "/entries?path=t").json();
  ASSERT_EQ(one["items"].size(), 4u) << one;
  EXPECT_EQ(one["items"][1]["path"], "/home/user/t/f");
  EXPECT_EQ(one["items"][1]["size_bytes"], 6);
  EXPECT_EQ(one["items"][2]["target"], "f");
  EXPECT_EQ(one["items"][3]["type"], "other");
  EXPECT_EQ(call("GET", sandbox + "/entries?path=t&depth=2").json()["items"].size(), 5u);
  EXPECT_EQ(call("GET", sandbox + "/entries?path=t&depth=0").json()["items"][0]["name"], "t");
  expect_problem(call("GET", sandbox + "/entries?path=none"), 404, "not_found");
  expect_problem(call("GET", sandbox + "/entries?path=t&depth=65"), 400, "invalid");

  std::string entries = sandbox + "/entries/";
  EXPECT_EQ(post(entries + "mkdir", {{"path", "a/b"}, {"parents", true}, {"mode", "0777"}}).json()["mode"], "0777");
  expect_problem(post(entries + "mkdir", {{"path", "a"}}), 409, "exists");
  expect_problem(post(entries + "mkdir", {{"path", "/etc/d"}}), 403, "denied");
  EXPECT_EQ(post(entries + "move", {{"from", "t/f"}, {"to", "g"}}).json()["path"], "/home/user/g");
  expect_problem(post(entries + "move", {{"from", "none"}, {"to", "g"}}), 404, "not_found");
  expect_problem(post(entries + "move", {{"from", "a"}, {"to", "full"}}), 409, "conflict");
  EXPECT_EQ(post(entries + "chmod", {{"path", "g"}, {"mode", "600"}}).json()["mode"], "0600");
  expect_problem(post(entries + "chmod", {{"path", "g"}, {"mode", "8"}}), 400, "invalid");
}

TEST_F(ServerFiles, PacksAndUnpacksFolders) {
  std::string sandbox = make();
  run(sandbox, {{"shell",
                 "mkdir -p t/d; echo one > t/f; echo three > t/d/g; chmod 755 t/f; ln -s f t/l; echo x > t/ü; "
                 "head -c 300000 /dev/urandom > t/big; touch $(printf 't/%0200d' 7)"}});
  HttpResponse tar = call("GET", sandbox + "/archive?path=t");
  EXPECT_EQ(tar.status, 200);
  EXPECT_TRUE(tar.whole);
  HttpResponse unpacked = call("PUT", sandbox + "/archive?path=copy", tar.body);
  EXPECT_EQ(unpacked.status, 200) << unpacked.body;
  EXPECT_EQ(unpacked.json()["bytes"], 300'000 + 12);
  json same = run(sandbox, {{"shell", "diff -r t copy && test -x copy/f && readlink copy/l && ls copy | grep ü"}});
  EXPECT_EQ(same["stdout"]["text"], "f\nü\n") << same;
  expect_problem(call("GET", sandbox + "/archive?path=none"), 404, "not_found");
  expect_problem(call("PUT", sandbox + "/archive?path=bad", std::string(2048, 'x')), 400, "invalid");
  expect_problem(call("PUT", sandbox + "/archive?path=/etc", tar.body), 403, "denied");
}

TEST_F(ServerFiles, UnpacksWhatOthersPack) {
  std::string sandbox = make();
  for (const char* format : {"gnu", "pax", "ustar"}) {
    Outcome tar = cove::test::run(
        {"sh", "-c",
         std::string("rm -rf T && mkdir -p T/d && echo 1 > T/d/ü && ln T/d/ü T/hard && tar -c --format=") + format +
             " -C T ."},
        {.cwd = server_->folder()});
    HttpResponse unpacked = call("PUT", sandbox + "/archive?path=" + format, tar.out);
    EXPECT_EQ(unpacked.status, 200) << unpacked.body;
    EXPECT_EQ(run(sandbox, {{"shell", std::string("cat ") + format + "/d/ü " + format + "/hard"}})["stdout"]["text"],
              "1\n1\n")
        << format;
  }
}

TEST_F(ServerFiles, UnpacksNothingOutsideOfTheFolder) {
  std::string sandbox = make();
  const char* script =
      "import io,sys,tarfile\n"
      "t=tarfile.open(fileobj=sys.stdout.buffer,mode='w|')\n"
      "def link(n,to):\n  i=tarfile.TarInfo(n);i.type=tarfile.SYMTYPE;i.linkname=to;t.addfile(i)\n"
      "def file(n):\n  i=tarfile.TarInfo(n);i.size=1;t.addfile(i,io.BytesIO(b'x'))\n"
      "exec(sys.argv[1])\nt.close()\n";
  for (const char* content :
       {"file('../outside')", "file('a/../../outside')", "link('l','/home/user'); file('l/outside')"}) {
    Outcome tar = cove::test::run({"python3", "-c", script, content});
    expect_problem(call("PUT", sandbox + "/archive?path=in", tar.out), 400, "invalid");
  }
  EXPECT_EQ(run(sandbox, {{"shell", "ls outside in/outside"}})["exit_code"], 2);
}

TEST_F(ServerFiles, WatchesFolders) {
  std::string sandbox = make();
  run(sandbox, {{"shell", "mkdir -p w/sub"}});
  HttpStream stream(socket(), {"GET", sandbox + "/watch?path=w&recursive=true", {}, ""});
  ASSERT_EQ(stream.status(), 200);
  EXPECT_EQ(stream.next_event()->name, "ready");
  run(sandbox, {{"shell", "echo x > w/sub/f; mkdir -p w/new/deep; echo y > w/new/deep/g; rm w/sub/f"}});
  std::set<std::string> wanted = {"create /home/user/w/sub/f", "modify /home/user/w/sub/f", "create /home/user/w/new",
                                  "create /home/user/w/new/deep/g", "delete /home/user/w/sub/f"};
  while (!wanted.empty()) {
    auto event = stream.next_event();
    ASSERT_TRUE(event) << *wanted.begin();
    wanted.erase(event->data["type"].get<std::string>() + " " + event->data["path"].get<std::string>());
  }
  expect_problem(call("GET", sandbox + "/watch?path=none"), 404, "not_found");
  expect_problem(call("GET", sandbox + "/watch?path=w", "", {{"accept", "application/json"}}), 406, "not_acceptable");
}

}  // namespace
}  // namespace cove::test
