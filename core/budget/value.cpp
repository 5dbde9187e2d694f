#include "core/budget/value.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/autograd/ledger.h"
#include "core/budget/account.h"

namespace clew::budget {
namespace {

std::unordered_map<const Storage*, Value*>& table() {
    static auto& known = *new std::unordered_map<const Storage*, Value*>;
    return known;
}

void forget(Value& value) {
    const auto found = value.storage ? table().find(value.storage) : table().end();
    if (found != table().end() && found->second == &value) table().erase(found);
}

// Recipes read values, whose recipes read values: a loop takes them down, not recursion.
std::vector<Value*>* to_take_down = nullptr;

void take_down(Value* value) {
    note_present(*value);
    forget_recipe(*value);
    if (value->kept && !value->older && value->storage == value->kept.get()) value->storage->watched = false;
    forget(*value);
    value->storage = nullptr;
    const StorageRef kept = std::move(value->kept);
    recount(*value);
    delete value;
}

}  // namespace

Value* find(const Storage& storage) {
    const auto found = table().find(&storage);
    return found == table().end() ? nullptr : found->second;
}

Value* present_value(const Storage& storage) {
    Value* const value = find(storage);
    if (value == nullptr || !was_written(*value)) return value;
    if (value->older)
        forget(*value);  // its storage tells who reads it that it was written
    else
        part_from_storage(*value, false);
    return nullptr;
}

bool was_written(const Value& value) {
    if (value.storage == nullptr) return false;
    const Storage& storage = *value.storage;
    return storage.version != value.version || (storage.log && storage.log->last.serial > value.born);
}

void keep(Value& value) {
    if (value.recipe || value.kept || value.storage == nullptr) return;
    value.kept = StorageRef(value.storage);
    recount(value);
    if (!value.lives) return;
    value.lives = false;
    release(&value);
}

void give_recipe(Value& value, const Ref<Recipe>& recipe, std::size_t result) {
    recipe->results[result] = &value;
    value.recipe = recipe;
    for (const Operand& operand : recipe->operands) {
        if (!operand.value) continue;
        value.depth = std::max(value.depth, operand.value->depth + 1);
        if (!operand.value->older) operand.value->readers.push_back(&value);
    }
    recount(value);
}

void retain(Value* value) { ++value->references; }
void release(Value* value) {
    if (--value->references) return;
    if (to_take_down) return to_take_down->push_back(value);
    std::vector<Value*> waiting{value};
    to_take_down = &waiting;
    while (!waiting.empty()) {
        Value* const last = waiting.back();
        waiting.pop_back();
        take_down(last);
    }
    to_take_down = nullptr;
}
void retain(Recipe* recipe) { ++recipe->references; }
void release(Recipe* recipe) {
    if (--recipe->references == 0) delete recipe;
}
void retain(Account* account) { ++account->references; }
void release(Account* account) {
    if (--account->references == 0) delete account;
}

void forget_recipe(Value& value) {
    const Ref<Recipe> recipe = std::move(value.recipe);
    if (!recipe) return;
    for (Value*& result : recipe->results)
        if (result == &value) result = nullptr;
    for (const Operand& operand : recipe->operands)
        if (operand.value) std::erase(operand.value->readers, &value);
    recount(value);
}

Recipe::Recipe(const OpCall& call)
    : op(&call.op),
      in_place(call.form == Form::InPlace),
      attributes(static_cast<const char*>(call.attributes),
                 static_cast<const char*>(call.attributes) + call.op.attribute_bytes) {
    operands.reserve(call.inputs.size());
}

Value::Value(Account& of, Storage& storage) : account(Ref<Account>(&of)), bytes(storage.bytes), last_use(of.now) {
    look_at(*this, storage);
}

void look_at(Value& value, Storage& storage) {
    value.storage = &storage;
    value.version = storage.version;
    value.born = tick();
}

Tensor Operand::number_tensor() const {
    const Tensor tensor = empty(layout, dtype);
    std::memcpy(tensor->storage->data, number, item_size(dtype));
    tensor->set(TensorObject::kWrappedNumber, true);
    return tensor;
}

ValueRef new_value(Account& account, Storage& storage) {
    auto* value = new Value(account, storage);
    value->lives = true;
    retain(value);  // the storage's
    storage.watched = true;
    table()[&storage] = value;
    return ValueRef::steal(value);
}

ValueRef older_value(Account& account, const Tensor& tensor) {
    Storage& storage = *tensor->storage;
    auto* value = new Value(account, storage);
    value->kept = tensor->storage;
    value->older = true;
    table()[&storage] = value;
    return ValueRef::steal(value);
}

StorageRef copy_of(const Storage& storage) {
    StorageRef copied = Storage::make(storage.bytes);
    std::memcpy(copied->data, storage.data, static_cast<std::size_t>(storage.bytes));
    return copied;
}

void part_from_storage(Value& value, bool copy) {
    Storage* const storage = value.storage;
    forget(value);
    if (copy) {
        const StorageRef copied = copy_of(*storage);
        look_at(value, *copied);
        value.kept = copied;
        value.older = false;
    } else {
        value.storage = nullptr;
        value.kept = nullptr;
        if (value.recipe) note_dropped(value);
    }
    recount(value);
    if (value.lives) {
        value.lives = false;
        release(&value);
    }
}

void recount(Value& value) {
    Account& account = *value.account;
    const bool holds = !value.older && value.present() && (value.storage->saved > 0 || value.kept);
    const std::int64_t now = holds ? value.bytes : 0;
    account.held += now - value.counted;
    value.counted = now;
    // What is kept and has a recipe was computed again.
    const bool saved = value.storage && value.storage->saved > 0;
    const std::int64_t undropped = !value.older && (value.kept ? !value.recipe : saved) ? value.bytes : 0;
    account.without_drops += undropped - value.counted_without_drops;
    value.counted_without_drops = undropped;
    const bool listed = value.present() && value.recipe;
    std::vector<Value*>& present = account.present;
    if (listed == (value.place != Value::kNowhere)) return;
    if (listed) {
        value.place = present.size();
        present.push_back(&value);
    } else {
        present[value.place] = present.back();
        present[value.place]->place = value.place;
        present.pop_back();
        value.place = Value::kNowhere;
    }
}

// ------------------------------------------------------------------------------------- costs
namespace {

Dropped& whole(const std::shared_ptr<Dropped>& part) {
    Dropped* one = part.get();
    while (one->joined) one = one->joined.get();
    return *one;
}

template <class Visit>
void each_dropped_neighbour(const Value& value, const Visit& visit) {
    if (value.recipe)
        for (const Operand& operand : value.recipe->operands)
            if (operand.value && operand.value->dropped) visit(*operand.value);
    for (const Value* reader : value.readers)
        if (reader->dropped) visit(*reader);
}

}  // namespace

void note_dropped(Value& value) {
    value.dropped = std::make_shared<Dropped>(Dropped{value.recipe->cost});
    each_dropped_neighbour(value, [&](const Value& other) {
        Dropped &mine = whole(value.dropped), &theirs = whole(other.dropped);
        if (&mine == &theirs) return;
        theirs.cost += mine.cost;
        std::shared_ptr<Dropped> into = other.dropped;
        while (into->joined) into = into->joined;
        mine.joined = std::move(into);
    });
}

void note_present(Value& value) {
    if (!value.dropped) return;
    if (value.recipe) whole(value.dropped).cost -= value.recipe->cost;
    value.dropped = nullptr;
}

double cost_of_dropping(const Value& value) {
    double cost = value.recipe->cost;
    constexpr int kFew = 8;
    const Dropped* seen[kFew];
    int count = 0;
    each_dropped_neighbour(value, [&](const Value& other) {
        const Dropped* group = &whole(other.dropped);
        for (int i = 0; i < count; ++i)
            if (seen[i] == group) return;
        if (count < kFew) seen[count++] = group;
        cost += std::max(0.0, group->cost);
    });
    return cost;
}

// ------------------------------------------------------------------------------------- what storages tell
namespace {

void on_saved(Storage& storage) {
    if (Value* value = find(storage)) recount(*value);
}

void on_read(Storage& storage) {
    Value* const value = find(storage);
    if (value == nullptr) return;
    value->last_use = value->account->now = now_ns();
    if (storage.data == nullptr && value->bytes) value->account->restore(*value);
}

void on_death(Storage& storage) {
    Value* const value = find(storage);
    if (value == nullptr) return;
    table().erase(&storage);
    value->storage = nullptr;
    if (value->recipe && !value->dropped) note_dropped(*value);
    recount(*value);
    if (!value->lives) return;
    value->lives = false;
    release(value);
}

}  // namespace

void watch_storages() { storage_watch = {on_saved, on_read, on_death}; }

}  // namespace clew::budget
