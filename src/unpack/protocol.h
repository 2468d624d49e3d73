#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "init/protocol.h"

// The protocol between cove-unpack and its parent. Reports are untrusted, because cove-unpack reads untrusted archives.
namespace cove::unpack {

// Its descriptors.
inline constexpr int kArchiveFd = 0;
inline constexpr int kReportFd = 1;  // the report is written here at the end
inline constexpr int kReadyFd = 3;   // a byte from it: its libraries are loaded
inline constexpr int kGoFd = 4;      // a byte to it: its root is ready

// The content of its root.
inline constexpr const char* kLayerFolder = "/layer";      // written, or read for a digest
inline constexpr const char* kParentsFolder = "/parents";  // the merged layers below it, if requested

// Its arguments: cove-unpack VERSION TASK BYTES ENTRIES LETTERS.
inline constexpr const char* kTaskUnpack = "unpack";
inline constexpr const char* kTaskDigest = "digest";
inline constexpr char kLetterParents = 'p';   // there are parents
inline constexpr char kLetterLowest = 'l';    // it is the lowest layer
inline constexpr char kLetterOneId = '1';     // files cannot be given to their owners
inline constexpr char kLetterReported = 'r';  // opaque folders are reported

inline constexpr size_t kLongestReport = 64 << 20;

struct Report {
  std::string diff_id;
  std::string tree;  // digest of the unpacked files
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t devices_left_out = 0;
  uint64_t owners_out_of_range = 0;
  uint64_t attributes_left_out = 0;
  bool needs_parents = false;
  std::vector<std::string> opaque_folders;

  std::string encode() const {
    wire::Writer out;
    out.text(diff_id).text(tree).number(entries).number(bytes).number(devices_left_out).number(owners_out_of_range);
    out.number(attributes_left_out).number(needs_parents ? 1 : 0).texts(opaque_folders);
    return out.data();
  }
  bool decode(wire::Reader& in) {
    diff_id = in.text();
    tree = in.text();
    entries = in.number();
    bytes = in.number();
    devices_left_out = in.number();
    owners_out_of_range = in.number();
    attributes_left_out = in.number();
    needs_parents = in.number() != 0;
    opaque_folders = in.texts();
    return in.done();
  }
};

}  // namespace cove::unpack
