#include "init/hash_plan.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>

namespace cove::init {
namespace {

using namespace hashes;

constexpr uint64_t kMostReferences = 1ull << 31;  // beyond it the word is no count, but an address in freed memory
constexpr uint64_t kMostText = 64 << 20;          // more than any copy has
constexpr uint64_t kMostSlots = 1 << 22;          // of a set; beyond it there is none in a copy
constexpr size_t kFewestTexts = 1000;             // of any interpreter that has started
constexpr uint32_t kFirstTuple = 1u << 31;
constexpr uint64_t kDetours = 128;  // steps of a walk before it goes through the whole table in order

uint64_t load(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// As CPython makes a hash of an address.
uint64_t hash_of_address(uint64_t address) { return address >> 4 | address << 60; }

// A hash made of addresses or of a number that is not large. Not one of 2^15 that come of the seed looks like it.
bool is_plain(uint64_t hash) {
  constexpr uint64_t kNear = 1ull << 48;
  return hash < kNear || hash > ~kNear || (hash << 4 | hash >> 60) < kNear;
}

// Whose hash this is, of all that come of the seed.
class HashIndex {
 public:
  // For the texts that so many words of memory may hold.
  explicit HashIndex(uint64_t words)
      : slots_(std::bit_ceil(std::clamp<uint64_t>(words / 8, kFewestSlots, kMostSlots))), bits_(kBits / 64) {}

  bool put(uint64_t hash, uint32_t owner) {
    if (++count_ > slots_.size() / 2) return false;
    size_t at = hash % slots_.size();
    while (slots_[at].hash != 0) at = (at + 1) % slots_.size();
    slots_[at] = {hash, owner};
    bits_[hash % kBits / 64] |= 1ull << hash % 64;
    return true;
  }
  const uint32_t* find(uint64_t hash) const {
    if (!(bits_[hash % kBits / 64] >> hash % 64 & 1)) return nullptr;
    for (size_t at = hash % slots_.size(); slots_[at].hash != 0; at = (at + 1) % slots_.size())
      if (slots_[at].hash == hash) return &slots_[at].owner;
    return nullptr;
  }

 private:
  static constexpr uint64_t kFewestSlots = 1 << 14, kMostSlots = 1 << 19;
  static constexpr size_t kBits = 1 << 17;  // few enough for the processor's first cache
  struct Slot {
    uint64_t hash = 0;  // nobody's
    uint32_t owner = 0;
  };
  std::vector<Slot> slots_;
  std::vector<uint64_t> bits_;
  size_t count_ = 0;
};

class Search {
 public:
  Search(const HashFacts& facts, const ProgramPages& pages) : facts_(facts), pages_(pages), index_(pages.words()) {}

  std::optional<HashPlan> plan() {
    if (!find_secret() || !look_through() || !take_tables() || !take_sets()) return std::nullopt;
    find_places();
    plan_.head.texts = static_cast<uint32_t>(plan_.texts.size());
    plan_.head.tuples = static_cast<uint32_t>(plan_.tuples.size());
    plan_.head.items = static_cast<uint32_t>(plan_.items.size());
    plan_.head.places = static_cast<uint32_t>(plan_.places.size());
    plan_.head.tables = static_cast<uint32_t>(plan_.tables.size());
    plan_.head.sets = static_cast<uint32_t>(plan_.sets.size());
    if (plan_.head.size() > kMostPlanBytes) return std::nullopt;
    return std::move(plan_);
  }

 private:
  static constexpr std::string_view kKnown = "__builtins__";
  struct Place {
    uint64_t address;
    const char* data;
  };

  // Calls `look` with the address and the place of each word that `size` bytes follow in the same piece; ends where it
  // says false.
  template <typename Look>
  bool each_word(uint64_t size, Look look) const {
    for (const ProgramPages::Piece& piece : pages_.pieces())
      for (uint64_t at = 0; at + size <= piece.size; at += sizeof(uint64_t))
        if (!look(piece.start + at, piece.data + at)) return false;
    return true;
  }

  // What every interpreter has: a text whose hash it knows.
  uint64_t known_hash() const {
    uint64_t hash = kNoHash;
    each_word(kTextState + 8, [&](uint64_t address, const char* at) {
      if (load(at + kObjectType) != facts_.text_type || load(at + kTextLength) != kKnown.size()) return true;
      const char* text = pages_.find(address + kAsciiData, kKnown.size());
      if (text && std::memcmp(text, kKnown.data(), kKnown.size()) == 0) hash = load(at + kTextHash);
      return hash == kNoHash || hash == 0;
    });
    return hash;
  }

  // The seed is what makes of that text what the interpreter makes of it. It is a variable of the program that has the
  // types, too.
  bool find_secret() {
    const auto* known = reinterpret_cast<const unsigned char*>(kKnown.data());
    const uint64_t hash = known_hash();
    constexpr uint64_t kFar = 16 << 20;
    return !each_word(kSecretSize, [&](uint64_t address, const char* at) {
      const bool near = address + kFar >= facts_.text_type && address <= facts_.text_type + kFar;
      if (!near || load(at) == 0) return true;
      secret_ = {load(at), load(at + 8)};
      plan_.head.secret = address;
      return SipHash::of(secret_, known, kKnown.size()) != hash;
    });
  }

  uint64_t hash_of(const char* data, uint64_t size) const {
    return SipHash::of(secret_, reinterpret_cast<const unsigned char*>(data), size);
  }

  // Takes the texts and bytes whose hash is known, and notes what may be a table or a set.
  bool look_through() {
    bool room = true;
    each_word(kTableIndices, [&](uint64_t address, const char* at) {
      const uint64_t word = load(at + kObjectType);
      if (word == 0) return true;
      static_assert(kObjectType == kTableShape);
      if (may_be_shape(word)) tables_.push_back({address, at});
      if (word == facts_.text_type || is_other_text(word)) room = take_text(at, text_data(address, at));
      if (word == facts_.bytes_type) room = take_text(at, {address + kBytesData, load(at + kBytesLength)});
      if (word == facts_.set_type || word == facts_.frozen_set_type) sets_.push_back({address, at});
      return room;
    });
    return room && plan_.texts.size() >= kFewestTexts;
  }

  bool is_other_text(uint64_t type) const {
    return std::find(facts_.other_texts.begin(), facts_.other_texts.end(), type) != facts_.other_texts.end();
  }

  static bool may_be_shape(uint64_t word) {
    constexpr uint64_t kSmallest = 3, kLargest = 24;
    const uint64_t size = word & 0xff;
    if (size - kSmallest > kLargest - kSmallest) return false;
    const uint64_t wider = size < 8 ? 0 : size < 16 ? 1 : 2;
    return (word >> 8 & 0xff) == size + wider && (word >> 16 & 0xff) <= static_cast<uint8_t>(TableKind::SharedTexts);
  }

  struct Data {
    uint64_t start = 0, size = 0;
  };

  Data text_data(uint64_t address, const char* at) const {
    const uint64_t state = pages_.word(address + kTextState), length = load(at + kTextLength);
    const uint64_t width = state >> 2 & 7;
    const bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    if (length > kMostText || (width != 1 && width != 2 && width != 4)) return {};
    if (compact) return {address + (ascii ? kAsciiData : kOtherData), length * width};
    return {pages_.word(address + kOtherData), length * width};
  }

  // What is no object, or one of which only a part is left in freed memory, has a hash that is not right. False where
  // there are too many.
  bool take_text(const char* at, Data data) {
    static_assert(kTextHash == kBytesHash);
    const uint64_t hash = load(at + kTextHash);
    if (hash == kNoHash || hash == 0 || !is_count(load(at))) return true;
    if (data.size == 0 || data.size > kMostText || index_.find(hash)) return true;
    const char* text = pages_.find(data.start, data.size);
    if (!text || hash_of(text, data.size) != hash) return true;
    if (!index_.put(hash, static_cast<uint32_t>(plan_.texts.size()))) return false;
    plan_.texts.push_back({data.start, static_cast<uint32_t>(data.size), 0});
    return true;
  }

  // Whatever is a hash of one of them: in the texts themselves, in entries of dictionaries and sets, and where
  // somebody has noted it. No other word has one of these values.
  void find_places() {
    std::vector<std::pair<uint32_t, uint64_t>> found;
    each_word(sizeof(uint64_t), [&](uint64_t address, const char* at) {
      if (const uint32_t* owner = index_.find(load(at))) found.push_back({*owner, address});
      return true;
    });
    std::sort(found.begin(), found.end());
    for (const auto& [owner, address] : found) {
      ++(owner < kFirstTuple ? plan_.texts[owner].places : plan_.tuples[owner - kFirstTuple].places);
      plan_.places.push_back(address);
    }
  }

  enum class Kind { None, Fixed, Seeded, Unknown };

  Kind kind_of(uint64_t hash, uint64_t key) {
    if (index_.find(hash)) return Kind::Seeded;
    if (is_plain(hash)) return Kind::Fixed;
    return pages_.word(key + kObjectType) == facts_.tuple_type ? take_tuple(hash, key) : Kind::Unknown;
  }

  // What its hash is made of can be told by making it.
  Kind take_tuple(uint64_t hash, uint64_t tuple) {
    constexpr uint64_t kMostItems = 64;
    std::vector<ItemHash> items;
    TupleHash sum;
    bool seeded = false;
    const uint64_t length = std::min(pages_.word(tuple + kTupleLength), kMostItems);
    for (uint64_t i = 0; i < length; ++i) {
      items.push_back(item_hash(pages_.word(tuple + kTupleItems + i * sizeof(uint64_t))));
      sum.add(items.back().value);
      seeded = seeded || items.back().place != 0;
    }
    if (sum.end() != hash) return Kind::Unknown;
    if (!seeded) return Kind::Fixed;
    if (!index_.put(hash, kFirstTuple + static_cast<uint32_t>(plan_.tuples.size()))) return Kind::Unknown;
    plan_.tuples.push_back({static_cast<uint32_t>(items.size()), 0});
    plan_.items.insert(plan_.items.end(), items.begin(), items.end());
    return Kind::Seeded;
  }

  // Where it is of neither a text nor a number, it is taken to be that of its address.
  ItemHash item_hash(uint64_t item) const {
    const uint64_t type = pages_.word(item + kObjectType);
    if (type == facts_.text_type || type == facts_.bytes_type) {
      const uint64_t hash = pages_.word(item + kTextHash);
      return {hash == 0 ? 0 : item + kTextHash, hash};
    }
    if (type != facts_.number_type) return {0, hash_of_address(item)};
    const uint64_t digit = pages_.word(item + kNumberDigits) & 0xffff'ffff;
    const uint64_t length = pages_.word(item + kNumberLength);
    constexpr uint64_t kMinusOne = ~0ull, kHashOfMinusOne = ~1ull;
    if (length == kMinusOne) return {0, digit == 1 ? kHashOfMinusOne : ~digit + 1};
    return {0, length == 0 ? 0 : digit};
  }

  struct Table {
    TableShape shape;
    uint64_t entries = 0;  // how many
    const unsigned char* indices = nullptr;
    const char* first = nullptr;  // entry

    uint64_t entry_size() const { return shape.is_general() ? sizeof(GeneralEntry) : sizeof(TextEntry); }
    uint64_t key(uint64_t number) const {
      const uint64_t at = shape.is_general() ? offsetof(GeneralEntry, key) : offsetof(TextEntry, key);
      return load(first + number * entry_size() + at);
    }
  };

  bool take_tables() {
    for (const Place& place : tables_) {
      Table table;
      if (!is_table(place, table)) continue;
      const Kind kind = judge(table);
      if (kind == Kind::Unknown && has_owner(place.address)) return false;
      if (kind == Kind::Seeded) plan_.tables.push_back(place.address);
    }
    return true;
  }

  static bool is_count(uint64_t references) { return references > 0 && references <= kMostReferences; }

  // Otherwise it was freed.
  bool is_known(uint64_t object) const {
    return !each_word(sizeof(uint64_t), [&](uint64_t, const char* at) { return load(at) != object; });
  }

  // Whether a dictionary that is alive has this table, or a type for its objects. Otherwise it was freed; then others
  // may still know it, as whoever keeps some for later does.
  bool has_owner(uint64_t table) const {
    return !each_word(sizeof(uint64_t), [&](uint64_t address, const char* at) {
      if (load(at) != table) return true;
      const bool of_dictionary = is_count(pages_.word(address - kDictionaryTable));
      const bool of_type = is_count(pages_.word(address - kTypeTable));
      return !of_dictionary && !of_type;
    });
  }

  // The table of a dictionary, by its shape: each entry stands once among the indices.
  bool is_table(const Place& place, Table& table) {
    const char* at = place.data;
    std::memcpy(&table.shape, at + kTableShape, sizeof table.shape);
    const TableShape& shape = table.shape;
    table.entries = load(at + kTableEntries);
    const uint64_t usable = load(at + kTableUsable), most = (shape.size() << 1) / 3;
    if (!is_count(load(at)) || table.entries == 0) return false;
    if (table.entries > most || usable > most - table.entries) return false;
    const uint64_t size = kTableIndices + shape.index_bytes() + table.entries * table.entry_size();
    const char* whole = pages_.find(place.address, size);
    if (!whole) return false;
    table.indices = reinterpret_cast<const unsigned char*>(whole + kTableIndices);
    table.first = whole + kTableIndices + shape.index_bytes();
    return has_each_once(table);
  }

  bool has_each_once(const Table& table) {
    constexpr int64_t kRemoved = -2;
    seen_.assign(table.entries, false);
    uint64_t count = 0;
    for (uint64_t i = 0; i < table.shape.size(); ++i) {
      const int64_t number = index_at(table.indices, i, table.shape.index_width());
      if (number < kRemoved || number >= static_cast<int64_t>(table.entries)) return false;
      if (number < 0) continue;
      const auto entry = static_cast<uint64_t>(number);
      if (seen_[entry] || table.key(entry) == 0) return false;
      seen_[entry] = true;
      ++count;
    }
    for (uint64_t i = 0; i < table.entries; ++i) count += table.key(i) == 0 ? 1 : 0;
    return count == table.entries;
  }

  // Whether the order of its indices depends on the seed, and is what the seed makes of it. One that has a key which is
  // gone was freed.
  Kind judge(const Table& table) {
    Kind all = Kind::Fixed;
    for (uint64_t i = 0; i < table.entries; ++i) {
      if (table.key(i) == 0) continue;
      if (pages_.find(table.key(i), sizeof(uint64_t)) && !is_count(pages_.word(table.key(i)))) return Kind::None;
      const bool general = table.shape.is_general();
      const uint64_t hash =
          general ? load(table.first + i * table.entry_size()) : pages_.word(table.key(i) + kTextHash);
      const Kind one = kind_of(hash, table.key(i));
      const bool is_text = general || one == Kind::Seeded || hash == 0;
      if (one == Kind::Unknown || !is_text || !is_found(table, i, hash)) return Kind::Unknown;
      if (one == Kind::Seeded) all = one;
    }
    return all;
  }

  static bool is_found(const Table& table, uint64_t number, uint64_t hash) {
    TableWalk walk(hash, table.shape.size() - 1);
    for (uint64_t i = 0; i < table.shape.size() + kDetours; ++i, walk.next()) {
      const int64_t found = index_at(table.indices, walk.at(), table.shape.index_width());
      if (found == static_cast<int64_t>(number)) return true;
      if (found == -1) return false;
    }
    return false;
  }

  bool take_sets() {
    for (const Place& place : sets_) {
      const char* whole = pages_.find(place.address, kSetSmall);
      const Kind kind = whole ? judge_set(whole) : Kind::None;
      if (kind == Kind::Unknown && is_known(place.address)) return false;
      if (kind == Kind::Seeded) plan_.sets.push_back(place.address);
    }
    return true;
  }

  Kind judge_set(const char* at) {
    const uint64_t mask = load(at + kSetMask), used = load(at + kSetUsed), fill = load(at + kSetFill);
    if (!is_count(load(at)) || used > fill || fill > mask) return Kind::None;
    if ((mask & (mask + 1)) != 0 || mask >= kMostSlots) return Kind::None;
    const char* first = pages_.find(load(at + kSetTable), (mask + 1) * sizeof(SetEntry));
    if (!first) return Kind::None;
    if (mask >= kMostSetBytes / sizeof(SetEntry)) return Kind::Unknown;
    uint64_t live = 0, removed = 0;
    Kind all = Kind::Fixed;
    for (uint64_t i = 0; i <= mask; ++i) {
      const uint64_t key = load(first + i * sizeof(SetEntry));
      const uint64_t hash = load(first + i * sizeof(SetEntry) + sizeof(uint64_t));
      if (key == 0) continue;
      if (hash == kNoHash) {
        ++removed;
        continue;
      }
      ++live;
      const Kind one = kind_of(hash, key);
      if (one == Kind::Unknown || !is_in_set(first, mask, key, hash)) return Kind::Unknown;
      if (one == Kind::Seeded) all = one;
    }
    return live == used && live + removed == fill ? all : Kind::None;
  }

  static bool is_in_set(const char* first, uint64_t mask, uint64_t key, uint64_t hash) {
    SetWalk walk(hash, mask);
    for (uint64_t i = 0; i <= mask + kDetours; ++i, walk.next()) {
      const uint64_t found = load(first + walk.at() * sizeof(SetEntry));
      if (found == key) return true;
      if (found == 0) return false;
    }
    return false;
  }

  const HashFacts& facts_;
  const ProgramPages& pages_;
  Secret secret_ = {};
  std::vector<Place> tables_, sets_;  // that may be some
  HashIndex index_;
  std::vector<bool> seen_;
  HashPlan plan_;
};

}  // namespace

ProgramPages::ProgramPages(const copy::Header& header, const char* pages) {
  // Areas that touch are one here: an object may lie across their border.
  for (uint32_t i = 0; i < header.runs; ++i) {
    const copy::Run& run = header.run[i];
    Piece* last = pieces_.empty() ? nullptr : &pieces_.back();
    if (last && last->start + last->size == run.start)
      last->size += run.size;
    else
      pieces_.push_back({run.start, run.size, pages});
    pages += run.size;
  }
}

const char* ProgramPages::find(uint64_t address, uint64_t size) const {
  auto holds = [&](const Piece& piece) {
    return address >= piece.start && address - piece.start < piece.size && size <= piece.size - (address - piece.start);
  };
  if (last_ < pieces_.size() && holds(pieces_[last_])) return pieces_[last_].data + (address - pieces_[last_].start);
  auto after = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                                [](uint64_t value, const Piece& piece) { return value < piece.start; });
  if (after == pieces_.begin() || !holds(*--after)) return nullptr;
  last_ = static_cast<size_t>(after - pieces_.begin());
  return after->data + (address - after->start);
}

uint64_t ProgramPages::words() const {
  uint64_t sum = 0;
  for (const Piece& piece : pieces_) sum += piece.size / sizeof(uint64_t);
  return sum;
}

uint64_t ProgramPages::word(uint64_t address) const {
  const char* found = find(address, sizeof(uint64_t));
  return found ? load(found) : 0;
}

std::optional<HashFacts> HashFacts::parse(std::string_view text) {
  constexpr std::string_view kVersion = "python 3.11:";
  constexpr size_t kFixed = 6, kMost = 24;
  if (!text.starts_with(kVersion)) return std::nullopt;
  const std::string rest(text.substr(kVersion.size()));
  std::vector<uint64_t> numbers;
  char* end = nullptr;
  for (const char* at = rest.c_str(); numbers.size() <= kMost; at = end) {
    const uint64_t number = std::strtoull(at, &end, 16);
    if (end == at) break;
    numbers.push_back(number);
  }
  if (numbers.size() < kFixed || numbers.size() > kMost || *end != '\0') return std::nullopt;
  return HashFacts{numbers[0],
                   numbers[1],
                   numbers[2],
                   numbers[3],
                   numbers[4],
                   numbers[5],
                   {numbers.begin() + kFixed, numbers.end()}};
}

std::optional<HashPlan> plan_hashes(const HashFacts& facts, const ProgramPages& pages) {
  return Search(facts, pages).plan();
}

}  // namespace cove::init
