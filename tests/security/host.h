#pragma once

#include <map>
#include <string>
#include <vector>

#include "security/walls.h"

namespace cove::test {

// What an escape would change on the host; equal before and after.
using HostState = std::map<std::string, std::string>;

// The host as the attacker would like to find it: secrets in many places, sockets that listen, a process to hurt,
// descriptors left open. It is made before the first test and removed after the last.
class Host {
 public:
  static constexpr unsigned kOrdinary = 12345;
  static constexpr unsigned kSubordinate = 12346;

  static Host& get();
  void set_up();
  void tear_down();

  // A folder of this test's own.
  const std::string& folder() const { return folder_; }
  // Variables by which testees are told where the secrets are.
  const std::map<std::string, std::string>& settings() const { return settings_; }
  // A file of root's in /opt with mode 0600, removed at the end; returns its path.
  std::string hide(const std::string& folder, const std::string& name, const std::string& text);

  // A folder that belongs to whoever runs Cove, with traps in it.
  std::string workspace(Outside outside) const;

  HostState state() const;

 private:
  void make_homes();
  void hide_files();
  void make_workspaces();
  void open_sockets();
  void leak_descriptors();
  void start_process();
  std::string own_file(const std::string& path, const std::string& text, unsigned mode);

  std::string folder_;
  std::string name_;  // unique on this machine
  std::map<std::string, std::string> settings_;
  std::vector<std::string> files_;
  std::vector<int> fds_;
  int process_ = -1;
};

}  // namespace cove::test
