#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "base/id.h"
#include "runtime/runtime.h"

namespace cove::test {

// A runtime to be held to the suite.
struct RuntimeUnderTest {
  std::string name;
  std::function<Result<std::unique_ptr<Runtime>>()> make;
  std::string asked_for = {};  // by the specs, where it stands for several
  std::string image = "host";  // with python3 and the usual tools
};

// What an exec did.
struct Ran {
  std::optional<ExecEnded> ended;
  std::optional<ExecFailed> failed;
  std::optional<SandboxEnded> gone;
  std::string out;
  std::string err;

  int exit_code() const;  // 128 + signal where one ended it; the failure's where it did not start
};

// The suite that every runtime passes, driven through runtime.h only. What a runtime says it cannot do is skipped.
class Conformance : public testing::TestWithParam<RuntimeUnderTest> {
 protected:
  void SetUp() override;
  void TearDown() override;

  SandboxSpec spec() const;
  // A sandbox with the spec, which stands; the test fails where it does not.
  Sandbox& sandbox(const SandboxSpec& spec);
  Sandbox& sandbox() { return sandbox(spec()); }

  static ExecSpec command(std::vector<std::string> argv);
  static ExecSpec shell(const std::string& script) { return command({"/bin/sh", "-c", script}); }

  // Runs to the end (at most a minute).
  Ran run(Sandbox& sandbox, const ExecSpec& exec, const std::string& input = {});
  Ran finish(Sandbox& sandbox, const std::string& exec_id, Attachment streams, const std::string& input = {});

  // network.cc
  bool has_network();
  NetworkSockets open_network(Sandbox& sandbox);
  // What a program inside hears that connects to the address at port 443, from a server outside that says which address
  // it got the connection for.
  std::string connect_outside(Sandbox& sandbox, const NetworkSockets& network, const std::string& address);

  Runtime& runtime() { return *runtime_; }
  void drop_handle() { sandboxes_.clear(); }

 private:
  std::unique_ptr<Runtime> runtime_;
  std::vector<std::unique_ptr<Sandbox>> sandboxes_;
};

}  // namespace cove::test
