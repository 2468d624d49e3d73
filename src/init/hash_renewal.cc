#include "init/hash_renewal.h"

namespace cove::init::hashes {
namespace {

template <typename T>
T* at_address(uint64_t address) {
  return reinterpret_cast<T*>(address);
}

uint64_t word_at(uint64_t address) { return *at_address<const uint64_t>(address); }

template <typename Index>
void put(unsigned char* indices, uint64_t mask, uint64_t hash, uint64_t number) {
  auto* slots = reinterpret_cast<Index*>(indices);
  TableWalk walk(hash, mask);
  while (slots[walk.at()] != static_cast<Index>(-1)) walk.next();
  slots[walk.at()] = static_cast<Index>(number);
}

void put(unsigned char* indices, const TableShape& shape, uint64_t hash, uint64_t number) {
  const uint64_t mask = shape.size() - 1;
  switch (shape.index_width()) {
    case 1:
      return put<int8_t>(indices, mask, hash, number);
    case 2:
      return put<int16_t>(indices, mask, hash, number);
    default:
      return put<int32_t>(indices, mask, hash, number);
  }
}

// The entries stay where they are; only which of them is looked at first depends on the hash.
void sort_table(uint64_t table) {
  const auto& shape = *at_address<const TableShape>(table + kTableShape);
  auto* indices = at_address<unsigned char>(table + kTableIndices);
  const uint64_t entries = table + kTableIndices + shape.index_bytes();
  const uint64_t count = word_at(table + kTableEntries);
  __builtin_memset(indices, 0xff, shape.index_bytes());
  if (shape.is_general()) {
    const auto* entry = at_address<const GeneralEntry>(entries);
    for (uint64_t i = 0; i < count; ++i)
      if (entry[i].key != 0) put(indices, shape, entry[i].hash, i);
  } else {
    const auto* entry = at_address<const TextEntry>(entries);
    for (uint64_t i = 0; i < count; ++i)
      if (entry[i].key != 0) put(indices, shape, word_at(entry[i].key + kTextHash), i);
  }
}

// What was taken out of a set has left a mark in the table, with no hash; those go.
void sort_set(uint64_t set, SetEntry* scratch) {
  const uint64_t mask = word_at(set + kSetMask);
  auto* table = at_address<SetEntry>(word_at(set + kSetTable));
  __builtin_memcpy(scratch, table, (mask + 1) * sizeof(SetEntry));
  __builtin_memset(table, 0, (mask + 1) * sizeof(SetEntry));
  uint64_t count = 0;
  for (uint64_t i = 0; i <= mask; ++i) {
    if (scratch[i].key == 0 || scratch[i].hash == kNoHash) continue;
    SetWalk walk(scratch[i].hash, mask);
    while (table[walk.at()].key != 0) walk.next();
    table[walk.at()] = scratch[i];
    ++count;
  }
  *at_address<uint64_t>(set + kSetFill) = count;
  *at_address<uint64_t>(set + kSetHash) = kNoHash;
}

}  // namespace

void renew_hashes(const Plan& plan, const unsigned char* seed, const void* tables, void* scratch) {
  __builtin_memcpy(at_address<unsigned char>(plan.secret), seed, kSecretSize);
  const Secret secret = {word_at(plan.secret), word_at(plan.secret + sizeof(uint64_t))};
  const auto* text = static_cast<const HashedText*>(tables);
  const auto* tuple = reinterpret_cast<const HashedTuple*>(text + plan.texts);
  const auto* item = reinterpret_cast<const ItemHash*>(tuple + plan.tuples);
  const auto* place = reinterpret_cast<const uint64_t*>(item + plan.items);
  const auto* table = place + plan.places;
  const auto* set = table + plan.tables;
  auto put = [&](uint64_t hash, uint32_t places) {
    for (uint32_t i = 0; i < places; ++i) *at_address<uint64_t>(*place++) = hash;
  };
  for (const auto* end = text + plan.texts; text != end; ++text)
    put(SipHash::of(secret, at_address<const unsigned char>(text->start), text->size), text->places);
  for (const auto* end = tuple + plan.tuples; tuple != end; ++tuple) {
    TupleHash hash;
    for (uint32_t i = 0; i < tuple->items; ++i, ++item) hash.add(item->place ? word_at(item->place) : item->value);
    put(hash.end(), tuple->places);
  }
  for (const auto* end = table + plan.tables; table != end; ++table) sort_table(*table);
  for (const auto* end = set + plan.sets; set != end; ++set) sort_set(*set, static_cast<SetEntry*>(scratch));
}

}  // namespace cove::init::hashes
