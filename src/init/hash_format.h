#pragma once

#include <cstdint>

// Where the seed of Python's hashes is in a program that is copied, and all that depends on it: so that each copy can
// have a seed of its own. docs/formats/program-copy.md describes it. The one who copies writes it (hash_plan.cc); the
// program in front of the copy goes by it (hash_renewal.cc), and links to nothing: what is here must do without a
// library.
namespace cove::init::hashes {

// As the C header of CPython 3.11 has them: offsets in bytes.
inline constexpr uint64_t kObjectType = 8;
inline constexpr uint64_t kTextLength = 16, kTextHash = 24, kTextState = 32, kAsciiData = 48, kOtherData = 72;
inline constexpr uint64_t kTupleLength = 16, kTupleItems = 24, kNumberLength = 16, kNumberDigits = 24;
inline constexpr uint64_t kBytesLength = 16, kBytesHash = 24, kBytesData = 32;
inline constexpr uint64_t kTableShape = 8, kTableUsable = 16, kTableEntries = 24, kTableIndices = 32;
inline constexpr uint64_t kSetFill = 16, kSetUsed = 24, kSetMask = 32, kSetTable = 40, kSetHash = 48, kSetSmall = 64;
inline constexpr uint64_t kDictionaryTable = 32, kTypeTable = 872;  // where a dictionary and a type have theirs
inline constexpr uint64_t kSecretSize = 24;                         // two keys, and one of expat's
inline constexpr uint64_t kNoHash = ~0ull;

// What a table's entries are. Texts have their hash themselves.
enum class TableKind : uint8_t { General = 0, Texts = 1, SharedTexts = 2 };

// The first eight bytes of a dictionary's table behind its count of references.
struct TableShape {
  uint8_t log2_size;
  uint8_t log2_index_bytes;
  uint8_t kind;
  uint8_t anything;  // nobody sets it
  uint32_t version;

  bool is_general() const { return kind == static_cast<uint8_t>(TableKind::General); }
  uint64_t size() const { return 1ull << log2_size; }
  uint64_t index_width() const { return 1ull << (log2_index_bytes - log2_size); }
  uint64_t index_bytes() const { return 1ull << log2_index_bytes; }
};

struct GeneralEntry {
  uint64_t hash, key, value;
};
struct TextEntry {
  uint64_t key, value;
};
struct SetEntry {
  uint64_t key, hash;
};

// A piece of text; its hash stands at so many of the places, which follow those of the text before.
struct HashedText {
  uint64_t start;
  uint32_t size;
  uint32_t places;
};

// A tuple that has texts in it; its items' hashes follow those of the tuple before, and its places likewise.
struct HashedTuple {
  uint32_t items;
  uint32_t places;
};

// The hash of a tuple's item: where it stands, or, where no seed is in it, itself.
struct ItemHash {
  uint64_t place;  // 0: none
  uint64_t value;
};

// In the header of the copy. In the file there are, one after the other from `offset` on: texts, tuples, items, places
// (of the texts, then of the tuples), tables, sets.
struct Plan {
  uint64_t secret;  // 0: it has none
  uint64_t offset;  // a whole page
  uint32_t texts, tuples, items, places, tables, sets;

  uint64_t size() const {
    return texts * sizeof(HashedText) + tuples * sizeof(HashedTuple) + items * sizeof(ItemHash) +
           (uint64_t{places} + tables + sets) * sizeof(uint64_t);
  }
};

inline constexpr uint64_t kMostPlanBytes = 6 << 20;
inline constexpr uint64_t kMostSetBytes = 1 << 20;  // of one set's table

struct Secret {
  uint64_t first, second;
};

// SipHash with one round for each word and three at the end, as CPython has it from 3.11 on.
class SipHash {
 public:
  explicit SipHash(Secret secret)
      : a_(secret.first ^ 0x736f'6d65'7073'6575ull),
        b_(secret.second ^ 0x646f'7261'6e64'6f6dull),
        c_(secret.first ^ 0x6c79'6765'6e65'7261ull),
        d_(secret.second ^ 0x7465'6462'7974'6573ull) {}

  // Never kNoHash.
  static uint64_t of(Secret secret, const unsigned char* data, uint64_t size) {
    SipHash state(secret);
    uint64_t rest = size << 56;
    for (; size >= 8; size -= 8, data += 8) state.add(word_at(data));
    for (uint64_t i = 0; i < size; ++i) rest |= uint64_t{data[i]} << 8 * i;
    state.add(rest);
    const uint64_t hash = state.end();
    return hash == kNoHash ? kNoHash - 1 : hash;
  }

 private:
  static uint64_t word_at(const unsigned char* data) {
    uint64_t word;
    __builtin_memcpy(&word, data, sizeof word);
    return word;
  }
  static uint64_t turned(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

  void mix() {
    a_ += b_, b_ = turned(b_, 13) ^ a_, a_ = turned(a_, 32);
    c_ += d_, d_ = turned(d_, 16) ^ c_;
    a_ += d_, d_ = turned(d_, 21) ^ a_;
    c_ += b_, b_ = turned(b_, 17) ^ c_, c_ = turned(c_, 32);
  }
  void add(uint64_t word) {
    d_ ^= word;
    mix();
    a_ ^= word;
  }
  uint64_t end() {
    c_ ^= 0xff;
    mix(), mix(), mix();
    return a_ ^ b_ ^ c_ ^ d_;
  }

  uint64_t a_, b_, c_, d_;
};

// Of tuples, from the hashes of their items.
class TupleHash {
 public:
  void add(uint64_t item) {
    sum_ += item * 0xc2b2'ae3d'27d4'eb4full;
    sum_ = (sum_ << 31 | sum_ >> 33) * 0x9e37'79b1'85eb'ca87ull;
    ++count_;
  }
  uint64_t end() const {
    constexpr uint64_t kInPlaceOfNone = 1'546'275'796;
    const uint64_t hash = sum_ + (count_ ^ kStart ^ 3'527'539);
    return hash == kNoHash ? kInPlaceOfNone : hash;
  }

 private:
  static constexpr uint64_t kStart = 0x27d4'eb2f'1656'67c5ull;
  uint64_t sum_ = kStart;
  uint64_t count_ = 0;
};

// Where a dictionary looks for a hash, one place after the other.
class TableWalk {
 public:
  TableWalk(uint64_t hash, uint64_t mask) : perturb_(hash), mask_(mask), at_(hash & mask) {}
  uint64_t at() const { return at_; }
  void next() {
    perturb_ >>= 5;
    at_ = (at_ * 5 + perturb_ + 1) & mask_;
  }

 private:
  uint64_t perturb_, mask_, at_;
};

// The same for a set: it looks at some neighbours first.
class SetWalk {
 public:
  SetWalk(uint64_t hash, uint64_t mask) : perturb_(hash), mask_(mask), start_(hash & mask) { look_at_neighbours(); }
  uint64_t at() const { return at_; }
  void next() {
    if (neighbours_ > 0) {
      ++at_, --neighbours_;
      return;
    }
    perturb_ >>= 5;
    start_ = (start_ * 5 + 1 + perturb_) & mask_;
    look_at_neighbours();
  }

 private:
  void look_at_neighbours() {
    constexpr uint64_t kNeighbours = 9;
    at_ = start_;
    neighbours_ = start_ + kNeighbours <= mask_ ? kNeighbours : 0;
  }

  uint64_t perturb_, mask_, start_, at_ = 0, neighbours_ = 0;
};

// An index of `width` bytes; those that are negative say that nothing is there.
inline int64_t index_at(const unsigned char* indices, uint64_t at, uint64_t width) {
  switch (width) {
    case 1:
      return static_cast<int8_t>(indices[at]);
    case 2:
      return reinterpret_cast<const int16_t*>(indices)[at];
    default:
      return reinterpret_cast<const int32_t*>(indices)[at];
  }
}

}  // namespace cove::init::hashes
