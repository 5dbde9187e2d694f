// What is known of places in the user's code, by the site that was met.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "core/base/object.h"
#include "core/tensor/tensor.h"

namespace clew::bind {

template <class Value>
class SiteMap {
public:
    Value* find(const Site& site) {
        const auto found = entries_.find(key_of(site));
        return found != entries_.end() && found->second.code.get() == site.code ? &found->second.value : nullptr;
    }
    Value& put(const Site& site, Value value) {
        const auto entry =
            entries_.insert_or_assign(key_of(site), Entry{Handle::borrow(site.code), std::move(value)}).first;
        return entry->second.value;
    }

private:
    struct Entry {
        Handle code;  // kept, so that its address means the same
        Value value;
    };
    static std::uint64_t key_of(const Site& site) {
        // An instruction's offset takes fewer bits than a code object takes bytes.
        return reinterpret_cast<std::uintptr_t>(site.code) * 0x9e3779b97f4a7c15u ^
               static_cast<std::uint64_t>(static_cast<std::uint32_t>(site.instruction));
    }
    std::unordered_map<std::uint64_t, Entry> entries_{};
};

}  // namespace clew::bind
