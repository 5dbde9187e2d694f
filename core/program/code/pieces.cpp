#include "core/program/code/pieces.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/program/code/chunks.h"
#include "core/program/code/functions.h"

namespace clew::code {
namespace {

bool depends(const Statement& later, const Statement& earlier) {
    return std::ranges::any_of(later.accesses, [&](const Access& a) {
        return std::ranges::any_of(earlier.accesses,
                                   [&](const Access& b) { return a.memory == b.memory && (a.written || b.written); });
    });
}

std::vector<Chunk> cut(const std::vector<Statement>& statements) {
    std::vector<Chunk> pieces;
    for (int i = 0; i < static_cast<int>(statements.size()); ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (i > 0 && statements[at].expression && statements[at - 1].expression)
            ++pieces.back().end;
        else
            pieces.push_back({i, i + 1});
    }
    return pieces;
}

// One piece as the body of a function.
class PieceBody {
public:
    PieceBody(const std::vector<Statement>& statements, Functions& functions, std::vector<Entry>& table)
        : statements_(statements), functions_(functions), table_(table), first_(table.size()) {}

    template <class IsKept>
    std::string write(Chunk piece, const IsKept& is_kept) {
        std::map<Element, int> last;  // statement that writes it
        for (int i = piece.begin; i < piece.end; ++i) last[element(at(i).accesses[0])] = i;
        for (int i = piece.begin; i < piece.end; ++i) {
            const Statement& one = at(i);
            const char* const type = type_of(*one.expression);
            std::string arguments;
            for (std::size_t k = 1; k < one.accesses.size(); ++k)
                arguments += (k > 1 ? ", " : "") + read(i, static_cast<int>(k));
            const std::string made = format("v%d", variables_++);
            loop_ += format("    const %s %s = %s;\n", type, made.c_str(),
                            functions_.call(one, std::move(arguments)).c_str());
            values_[element(one.accesses[0])] = made;
            if (is_kept(one.accesses[0].memory) && last.at(element(one.accesses[0])) == i) {
                head_ += format("  %s* const a%zu = p[%zu];\n", type, place(), place());
                loop_ += format("    a%zu[i] = %s;\n", place(), made.c_str());
                table_.push_back({i, 0});
            }
        }
        return head_ + "  VECTORS\n  for (long i = 0; i < n; ++i) {\n" + loop_ + "  }\n";
    }

private:
    using Element = std::pair<int, std::int64_t>;  // memory, offset
    static Element element(const Access& access) { return {access.memory, access.offset}; }
    const Statement& at(int i) const { return statements_[static_cast<std::size_t>(i)]; }
    std::size_t place() const { return table_.size() - first_; }

    std::string read(int i, int k) {
        const Access& access = at(i).accesses[static_cast<std::size_t>(k)];
        // A number for all elements is not what lies at the same place of an array.
        auto& known = access.stride ? values_ : numbers_;
        const auto found = known.find(element(access));
        if (found != known.end()) return found->second;
        const char* const type = type_of(*at(i).expression);
        const std::string name = format("v%d", variables_++);
        if (access.stride == 0) {
            head_ += format("  const %s %s = *(const %s*)p[%zu];\n", type, name.c_str(), type, place());
        } else {
            head_ += format("  const %s* const a%zu = p[%zu];\n", type, place(), place());
            loop_ += format("    const %s %s = a%zu[i];\n", type, name.c_str(), place());
        }
        table_.push_back({i, k});
        return known[element(access)] = name;
    }

    const std::vector<Statement>& statements_;
    Functions& functions_;
    std::vector<Entry>& table_;
    std::size_t first_;
    std::map<Element, std::string> values_, numbers_;
    std::string head_, loop_;
    int variables_ = 0;
};

}  // namespace

std::vector<int> in_few_pieces(const std::vector<Statement>& statements) {
    const int count = static_cast<int>(statements.size());
    std::vector<int> order;
    std::vector<char> is_placed(statements.size());
    const std::function<void(int)> place = [&](int i) {
        if (std::exchange(is_placed[static_cast<std::size_t>(i)], 1)) return;
        for (int before = 0; before < i; ++before)
            if (depends(statements[static_cast<std::size_t>(i)], statements[static_cast<std::size_t>(before)]))
                place(before);
        order.push_back(i);
    };
    for (int i = 0; i < count; ++i)
        if (statements[static_cast<std::size_t>(i)].expression == nullptr) place(i);
    for (int i = 0; i < count; ++i) place(i);
    return order;
}

bool is_worth_it(const std::vector<Statement>& statements) {
    return std::ranges::any_of(cut(statements), [](const Chunk& one) { return one.end - one.begin > 1; });
}

Text write_pieces(std::vector<Statement> statements, const std::vector<MemoryUse>& memories) {
    Text made;
    made.vectors = true;
    Functions functions;
    const std::vector<Chunk> pieces = cut(statements);
    const std::vector<Span> spans = spans_of(statements, pieces, memories.size());
    const auto is_kept = [&](int memory) {
        const Span& span = spans[static_cast<std::size_t>(memory)];
        return memories[static_cast<std::size_t>(memory)].outside || span.first != span.last;
    };
    std::string bodies, cases;
    for (const Chunk& piece : pieces) {
        const std::size_t before = made.table.size(), index = made.repeats.size();
        if (statements[static_cast<std::size_t>(piece.begin)].expression == nullptr) {
            made.table.push_back({piece.begin, -1});
        } else {
            bodies += format("static void s%zu(void* const* p, long n) {\n", index) +
                      PieceBody(statements, functions, made.table).write(piece, is_kept) + "}\n";
            cases += format("  if (n[1] == %zu) s%zu(p, n[0]);\n", index, index);
            made.folded += piece.end - piece.begin;
        }
        made.repeats.push_back(static_cast<long>(made.table.size() - before));
    }
    made.source = functions.text() +
                  "#ifdef __clang__\n#define VECTORS _Pragma(\"clang loop vectorize(assume_safety)\")\n#else\n"
                  "#define VECTORS _Pragma(\"GCC ivdep\")\n#endif\n" +
                  bodies + "void run(void* const* p, const long* n, Call* call) {\n" + cases + "}\n";
    return made;
}

}  // namespace clew::code
