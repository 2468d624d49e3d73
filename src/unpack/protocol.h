#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "init/protocol.h"

// Between cove-unpack and whoever started it. cove-unpack reads a stranger's archive: what it says is taken as hostile.
namespace cove::unpack {

// Its descriptors.
inline constexpr int kArchiveFd = 0;
inline constexpr int kReportFd = 1;  // where the report is written, in one piece, at the end
inline constexpr int kReadyFd = 3;   // a byte from it: its libraries are loaded
inline constexpr int kGoFd = 4;      // a byte to it: its root stands

// What its root holds.
inline constexpr const char* kLayerFolder = "/layer";      // to be written, or to be read for a digest
inline constexpr const char* kParentsFolder = "/parents";  // the layers below it as one tree, where they were asked for

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
  std::string tree;  // digest of what lies there
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
