// A hash table without an allocation for each entry.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace clew {

// From pointers or numbers that are not zero. What find() gives stays where it is until the next insert or erase.
template <class Key, class Value>
class FlatTable {
public:
    const Value* find(Key key) const {
        const std::size_t place = place_of(key);
        return place != kNone && entries_[place].key == key ? &entries_[place].value : nullptr;
    }
    bool contains(Key key) const { return find(key) != nullptr; }
    // Whether it is new; one that is there stays as it is.
    bool insert(Key key, Value value) {
        if (size_ * 10 >= entries_.size() * 7) resize(entries_.empty() ? kFirst : 2 * entries_.size());
        Entry& entry = entries_[place_of(key)];
        if (entry.key == key) return false;
        entry = {key, std::move(value)};
        ++size_;
        return true;
    }
    void erase(Key key) {
        std::size_t free = place_of(key);
        if (free == kNone || entries_[free].key != key) return;
        // Those behind that would not be found across the gap move up.
        const std::size_t mask = entries_.size() - 1;
        for (std::size_t i = (free + 1) & mask; entries_[i].key != Key{}; i = (i + 1) & mask)
            if (((i - home_of(entries_[i].key)) & mask) >= ((i - free) & mask))
                entries_[std::exchange(free, i)] = std::move(entries_[i]);
        entries_[free] = {};
        if (--size_ == 0 && entries_.size() > kMostEmpty) entries_ = {};
    }
    std::size_t size() const { return size_; }

private:
    struct Entry {
        Key key{};
        Value value{};
    };
    static constexpr std::size_t kNone = ~std::size_t{0}, kFirst = 64, kMostEmpty = 4096;

    static std::uint64_t number_of(Key key) {
        if constexpr (std::is_pointer_v<Key>)
            return reinterpret_cast<std::uintptr_t>(key);
        else
            return key;
    }
    std::size_t home_of(Key key) const { return (number_of(key) * 0x9e3779b97f4a7c15u >> 20) & (entries_.size() - 1); }
    // Of its entry, or of the free one where it would go.
    std::size_t place_of(Key key) const {
        if (entries_.empty()) return kNone;
        std::size_t i = home_of(key);
        while (entries_[i].key != Key{} && entries_[i].key != key) i = (i + 1) & (entries_.size() - 1);
        return i;
    }
    void resize(std::size_t count) {
        std::vector<Entry> before(count);
        before.swap(entries_);
        for (Entry& entry : before)
            if (entry.key != Key{}) entries_[place_of(entry.key)] = std::move(entry);
    }

    std::vector<Entry> entries_;  // a power of two; those without a key are free
    std::size_t size_ = 0;
};

}  // namespace clew
