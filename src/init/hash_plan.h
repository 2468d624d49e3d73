#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "init/copy_format.h"
#include "init/hash_format.h"

namespace cove::init {

// The pages of a program that is copied, by their addresses there. Does not own them.
class ProgramPages {
 public:
  // `pages`: those of the header's runs, one after the other.
  ProgramPages(const copy::Header& header, const char* pages);

  struct Piece {
    uint64_t start;
    uint64_t size;
    const char* data;
  };
  const std::vector<Piece>& pieces() const { return pieces_; }
  // Null where any of it is not among the pages, or lies on the border of two runs.
  const char* find(uint64_t address, uint64_t size) const;
  // 0 where there is none.
  uint64_t word(uint64_t address) const;
  uint64_t words() const;  // in all

 private:
  std::vector<Piece> pieces_;
  mutable size_t last_ = 0;
};

// What an interpreter says of its hashes: where its types are.
struct HashFacts {
  uint64_t text_type = 0, bytes_type = 0, tuple_type = 0, number_type = 0, set_type = 0, frozen_set_type = 0;
  std::vector<uint64_t> other_texts;  // types that are derived of text

  // A mark that ends with this is followed by them.
  static constexpr std::string_view kStart = "; hashes of ";
  // "python 3.11: 9f2a40 … …", numbers in the order of the fields, in base 16.
  static std::optional<HashFacts> parse(std::string_view text);
};

// How the copies of an interpreter come to seeds of their own.
struct HashPlan {
  hashes::Plan head = {};
  std::vector<hashes::HashedText> texts;
  std::vector<hashes::HashedTuple> tuples;
  std::vector<hashes::ItemHash> items;
  std::vector<uint64_t> places;
  std::vector<uint64_t> tables;
  std::vector<uint64_t> sets;
};

// Finds the seed, all hashes that come of it, and all tables that are sorted by them. Nothing where there is any key of
// a dictionary or a set whose hash cannot be told from its value, or anything is not as CPython 3.11 has it: every hash
// and every table is checked against the seed before it counts.
std::optional<HashPlan> plan_hashes(const HashFacts& facts, const ProgramPages& pages);

}  // namespace cove::init
