// The interpreter that writes recipes down while a budget's block runs.
#pragma once
#include "core/budget/account.h"
#include "core/ops/interpreter.h"

namespace clew::budget {

class Budget : public Interpreter {
public:
    explicit Budget(std::int64_t limit);
    ~Budget() override;

    void begin();
    void end();
    void check() { account_->check(0, "in this block"); }  // at its end
    void handle(OpCall& call) override;
    void notice(const Notice& notice) override;
    bool sees_backward() const override { return false; }

    const Report& report() const { return account_->report; }

private:
    void run_and_note(OpCall& call);
    Operand operand_of(const Tensor& tensor, bool written);
    Ref<Recipe> recipe_for(const OpCall& call);  // null: it can't be run again
    void note_results(const OpCall& call, const Ref<Recipe>& recipe);
    void forget_useless();

    Ref<Account> account_;
    bool on_ = false;
    std::size_t recipes_ = 0;  // since forget_useless()
    std::size_t forget_after_ = 1000;
};

}  // namespace clew::budget
