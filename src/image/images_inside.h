#pragma once

#include "base/text.h"
#include "image/images.h"
#include "unpack/sha256.h"

// Shared by the implementation files of Images.
namespace cove {

inline std::string sha256_hex(std::string_view text) {
  unpack::Sha256 digest;
  digest.update(text);
  return digest.hex();
}

// The key of a layer whose unpacked form depends on those below it; the topmost first.
inline std::string dependent_key(const std::string& digest, const std::vector<std::string>& parents) {
  return sha256_hex(concat(digest, "\n", join(parents, "\n")));
}

// The state of a layer that an image needs.
struct Images::LayerWork {
  std::string key;  // empty until the layer exists
  unpack::Report report;
  Archive archive;  // fetched, to be unpacked on top of those below it
};

// Prevents a sweep from removing these keys and digests while this exists.
class Images::Pins {
 public:
  explicit Pins(Images& images) : images_(images) {}
  ~Pins() {
    std::lock_guard lock(images_.pins_mutex_);
    for (const std::string& name : names_)
      if (auto found = images_.pinned_.find(name); found != images_.pinned_.end()) images_.pinned_.erase(found);
  }
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

  void add(const std::string& name) {
    std::lock_guard lock(images_.pins_mutex_);
    images_.pinned_.insert(name);
    names_.push_back(name);
  }

 private:
  Images& images_;
  std::vector<std::string> names_;
};

// Only one thread works on a layer; others wait and then find it complete.
class Images::Turn {
 public:
  Turn(Images& images, std::string digest) : images_(images), digest_(std::move(digest)) {
    std::unique_lock lock(images_.turns_mutex_);
    images_.turn_over_.wait(lock, [&] { return !images_.turns_.contains(digest_); });
    images_.turns_.insert(digest_);
  }
  ~Turn() {
    {
      std::lock_guard lock(images_.turns_mutex_);
      images_.turns_.erase(digest_);
    }
    images_.turn_over_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Images& images_;
  std::string digest_;
};

}  // namespace cove
