#include "store/redo_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr std::string_view kMagic = "coveredo";

struct Head {
  uint32_t size;
  uint32_t checksum;
};

// Over the batch, too: what an earlier one left behind this one's end is none of its records.
uint32_t checksum(uint64_t batch, std::string_view record) {
  boost::crc_32_type sum;
  sum.process_bytes(&batch, sizeof batch);
  sum.process_bytes(record.data(), record.size());
  return sum.checksum();
}

template <typename Value>
void add(std::string& to, const Value& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::vector<std::string> split_records(std::string_view bytes, uint64_t batch) {
  std::vector<std::string> records;
  Head head;
  while (bytes.size() >= sizeof head) {
    std::memcpy(&head, bytes.data(), sizeof head);
    bytes.remove_prefix(sizeof head);
    std::string_view record = bytes.substr(0, head.size);
    if (head.size == 0 || record.size() != head.size || checksum(batch, record) != head.checksum) break;
    records.emplace_back(record);
    bytes.remove_prefix(record.size());
  }
  return records;
}

}  // namespace

Result<RedoLog> RedoLog::open(const std::string& path) {
  RedoLog log(COVE_TRY(sys::open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600)), path);
  COVE_TRY(log.read_header());
  for (const std::string& record : COVE_TRY(log.records())) log.end_ += sizeof(Head) + record.size();
  return log;
}

Result<void> RedoLog::read_header() {
  char header[kHeader];
  ssize_t count = ::pread(file_.get(), header, sizeof header, 0);
  if (count < 0) return fail_errno(concat("read ", path_));
  if (count != sizeof header || std::string_view(header, kMagic.size()) != kMagic) return {};
  std::memcpy(&previous_, header + 8, sizeof previous_);
  std::memcpy(&batch_, header + 16, sizeof batch_);
  return {};
}

Result<void> RedoLog::restart(uint64_t previous, uint64_t batch) {
  std::string header(kMagic);
  add(header, previous);
  add(header, batch);
  COVE_TRY(write(header, 0));
  previous_ = previous;
  batch_ = batch;
  end_ = kHeader;
  return {};
}

Result<void> RedoLog::append(std::string_view record) {
  std::string bytes;
  bytes.reserve(sizeof(Head) + record.size());
  add(bytes, Head{static_cast<uint32_t>(record.size()), checksum(batch_, record)});
  bytes += record;
  COVE_TRY(write(bytes, end_));
  end_ += bytes.size();
  return {};
}

Result<std::vector<std::string>> RedoLog::records() const {
  if (batch_ == 0) return std::vector<std::string>();
  if (::lseek(file_.get(), 0, SEEK_SET) < 0) return fail_errno(concat("read ", path_));
  std::string bytes = COVE_TRY_NOTE(concat("read ", path_), sys::read_all(file_.get()));
  return split_records(std::string_view(bytes).substr(std::min<size_t>(bytes.size(), kHeader)), batch_);
}

Result<void> RedoLog::write(std::string_view bytes, uint64_t at) {
  while (!bytes.empty()) {
    ssize_t count = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(concat("write ", path_));
    bytes.remove_prefix(static_cast<size_t>(count));
    at += static_cast<uint64_t>(count);
  }
  return {};
}

}  // namespace cove
