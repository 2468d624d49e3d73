#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cove {

// A value that must not be seen.
struct Masked {
  std::string name;
  std::string value;
};
inline constexpr size_t kLeastMasked = 4;         // bytes; shorter values occur everywhere
inline constexpr size_t kLeastMaskedEncoded = 8;  // from here on, also in other forms

// Finds values in texts: as they are, and in the forms that programs give them: base64 (any of the three alignments,
// both alphabets, wrapped or not), URL-escaped, JSON-escaped, and with the line ends of a terminal. Immutable.
class MaskPatterns {
 public:
  // Null where there is nothing that can be masked. `kept`: texts of a protocol; what is in one of them is not masked.
  static std::shared_ptr<const MaskPatterns> make(std::vector<Masked> values, std::string_view kept = {});
  ~MaskPatterns();

  // The text with "[secret NAME]" in place of each value.
  std::string mask(std::string_view text) const;

  struct Spot {
    size_t begin = 0;
    size_t end = 0;
    size_t value = 0;
  };
  struct Found {
    std::vector<Spot> spots;  // by their beginnings; they may overlap
    size_t settled = 0;       // what follows depends on what comes: it begins like a value
  };
  enum class More { MayCome, Ends };
  Found find(std::string_view text, More more) const;
  // What has been written of a text.
  struct Written {
    size_t to = 0;
    const Masked* last = nullptr;  // the value that it ends in, if it does
  };
  // Writes all that is settled and not written.
  void write(const Found& found, std::string_view text, Written& written, std::string& out) const;
  // Whether so much of what may become a value gives nothing away.
  bool is_harmless(std::string_view beginning) const;

 private:
  struct Pattern {
    std::string text;
    size_t value = 0;
    bool wraps = false;  // line ends may be anywhere in it
  };
  struct Match {
    size_t size = 0;  // of the longest; 0: none
    size_t value = 0;
    bool open = false;  // there may be a longer one, which goes on behind the text
  };
  MaskPatterns() = default;
  void add(std::string text, size_t value, bool wraps, std::string_view kept);
  void add_encoded(size_t value, std::string_view kept);
  bool may_begin(std::string_view text, size_t at) const;
  Match match(std::string_view text) const;
  static Match match(const Pattern& pattern, std::string_view text);

  std::vector<Masked> values_;
  std::vector<Pattern> patterns_;
  std::array<std::vector<uint32_t>, 256> by_first_;
  std::bitset<65536> beginnings_;  // the first two bytes
};

// Masks what comes in pieces, however values are split over them.
class MaskStream {
 public:
  explicit MaskStream(std::shared_ptr<const MaskPatterns> patterns) : patterns_(std::move(patterns)) {}
  // What can be shown of it: all but a last part that begins like a value.
  std::string feed(std::string_view data);
  // Nothing has come for a while: what can be shown all the same, because it is too short to give a value away.
  std::string rest();
  // All that is left.
  std::string finish();
  // Whether `rest` may have something.
  bool waits() const { return shown_.to < held_.size(); }

 private:
  std::string take(MaskPatterns::More more);

  std::shared_ptr<const MaskPatterns> patterns_;
  std::string held_;
  MaskPatterns::Written shown_;  // of that
};

}  // namespace cove
