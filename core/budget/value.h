// What a budget knows of the bytes of a storage: how they were made, so that they can be dropped and made again.
//
// Note [Values and recipes]
// A value is what a storage holds between two writes. One that the block made by an operation has a recipe: the
// operation, its attributes, and the values that it read. Recipes own the values that they read; a value does not own
// its storage, so that memory goes as it does without a budget: the value stays, as long as a recipe reads it, and can
// be computed again. Values from before the block have no recipe: recipes that read them keep their storage alive.
// A write makes another value of the same storage, whose recipe reads the one before.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/allocator.h"
#include "core/base/random.h"
#include "core/ops/dispatch.h"

namespace clew::budget {

struct Account;
struct Recipe;
struct Value;
void retain(Value* value);
void release(Value* value);
void retain(Recipe* recipe);
void release(Recipe* recipe);
void retain(Account* account);
void release(Account* account);
using ValueRef = Ref<Value>;

// A tensor as a recipe reads it.
struct Operand {
    ValueRef value{};  // null: there is no tensor, or it stands for a number of Python's
    LayoutRef layout{};
    std::int64_t offset = 0;  // in elements
    DType dtype{};
    bool is_number = false;
    char number[16]{};

    Tensor number_tensor() const;
};

struct Recipe : Pooled {
    explicit Recipe(const OpCall& call);
    std::uint32_t references = 1;
    const OpDef* op;
    bool in_place;
    std::vector<char> attributes;
    std::vector<Operand> operands{};
    std::vector<std::uint32_t> order{};  // of operands, as operand_at() has chosen it
    std::vector<Value*> results{};       // weak
    bool draws = false;
    std::string generator_state{};
    double cost = 0;  // ns

    // Whether the operation writes this operand, and so gets a copy of it.
    bool writes(std::size_t operand) const {
        return (in_place && operand == 0) || (op->written_by(attributes.data()) >> operand & 1);
    }
};

// Values that are dropped and read each other, with what it costs to compute all of them: an approximation, as nothing
// is taken apart when one of them is computed again.
struct Dropped {
    double cost;
    std::shared_ptr<Dropped> joined{};
};

// By a call that was not shown: outside the block, on another thread, in a plain backward. The value is lost to its
// readers, unless it has a recipe.
bool was_written(const Value& value);

struct Value : Pooled {
    Value(Account& of, Storage& storage);
    std::uint32_t references = 1;
    std::uint32_t locks = 0;  // it is an operand of what is being computed
    Ref<Account> account;
    Storage* storage = nullptr;  // weak; null: it is gone, or written over
    StorageRef kept{};           // computed again, a copy, or from before the block: owned
    bool older = false;          // from before the block: not in the account
    bool lives = false;          // its storage owns a reference to it
    std::int64_t bytes = 0;
    std::int64_t counted = 0;  // of these, in the account now
    std::int64_t counted_without_drops = 0;
    std::uint32_t version = 0;  // of the storage, while it holds the value
    std::uint64_t born = 0;     // by the clock that numbers writes
    std::int64_t last_use = 0;  // ns
    int depth = 0;              // how many recipes lie behind it
    Ref<Recipe> recipe{};
    std::vector<Value*> readers{};  // weak: results of recipes that read it
    std::shared_ptr<Dropped> dropped{};
    std::size_t place = kNowhere;  // in Account::present

    static constexpr std::size_t kNowhere = ~std::size_t{0};
    bool present() const { return storage && storage->data; }
    // Nothing but slots and this account holds it, and it can be computed again.
    bool can_go() const {
        return recipe && locks == 0 && present() && !was_written(*this) && (kept || !storage->in_place) &&
               storage->references == storage->saved + (kept ? 1 : 0);
    }
};

Value* find(const Storage& storage);           // null: not known
Value* present_value(const Storage& storage);  // null, too, if it was written without being shown
ValueRef new_value(Account& account, Storage& storage);
ValueRef older_value(Account& account, const Tensor& tensor);
StorageRef copy_of(const Storage& storage);  // its bytes, in memory of their own
// The bytes are about to be written: from now on the value is without a storage.
void part_from_storage(Value& value, bool copy);
void look_at(Value& value, Storage& storage);  // the value is what this storage holds now
void keep(Value& value);                       // it has no recipe, but somebody else's reads it
void give_recipe(Value& value, const Ref<Recipe>& recipe, std::size_t result);
void recount(Value& value);
void forget_recipe(Value& value);
void note_dropped(Value& value);
void note_present(Value& value);
double cost_of_dropping(const Value& value);
// Note [The order of operands]
// While an operand is computed, those before it stay. So one that another is made from comes first, as it is needed
// for that anyway; else the one with more recipes behind it, as computing it takes more.
Value* operand_at(const Value& value, std::size_t place);  // null: there is no tensor
bool reads(const Value& value, const Value& other);        // by the few recipes that are looked at
void watch_storages();                                     // once

}  // namespace clew::budget
