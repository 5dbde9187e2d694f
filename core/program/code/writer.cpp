#include "core/program/code/writer.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/program/code/chunks.h"
#include "core/program/code/functions.h"

namespace clew::code {
namespace {

// One chunk as the body of a function.
class ChunkBody {
public:
    ChunkBody(const std::vector<Statement>& statements, const std::vector<MemoryUse>& memories,
              const std::vector<Span>& spans, Functions& functions)
        : statements_(statements), memories_(memories), spans_(spans), functions_(functions) {}

    std::string write(Chunk chunk, std::vector<Entry>& table) {
        text_.clear();
        values_.clear();
        variables_ = 0;
        first_ = table.size();
        find_last_writes(chunk);
        for (int i = chunk.begin; i < chunk.end; ++i) {
            if (!at(i).is_call()) {
                at(i).by_elements() ? elements(i, table) : in_memory(i, table);
                continue;
            }
            const int calls = calls_from(i, chunk.end);
            const std::size_t place = table.size() - first_;
            for (int k = i; k < i + calls; ++k) table.push_back({k, -1}), forget(k);
            text_ += calls == 1 ? format("  call(p[%zu]);\n", place)
                                : format("  for (long i = 0; i < %d; ++i) call(p[%zu + i]);\n", calls, place);
            i += calls - 1;
        }
        return std::move(text_);
    }

private:
    using Element = std::pair<int, std::int64_t>;  // memory, offset
    const Statement& at(int i) const { return statements_[static_cast<std::size_t>(i)]; }

    int calls_from(int i, int end) const {
        int calls = 0;
        while (i + calls < end && at(i + calls).is_call()) ++calls;
        return calls;
    }

    static Element element(const Access& access, int i, bool wide) {
        return {access.memory, access.offset + i * access.stride * (wide ? 8 : 4)};
    }

    // Memory that calls and loops of the chunk touch has to be up to date all the time; other memory at the end of the
    // chunk.
    void find_last_writes(Chunk chunk) {
        last_.clear();
        called_.clear();
        for (int i = chunk.begin; i < chunk.end; ++i) {
            const Statement& one = at(i);
            if (!one.by_elements())
                for (const Access& access : one.accesses) called_[access.memory] = true;
            else
                for (int k = 0; k < one.count; ++k) last_[element(one.accesses[0], k, one.expression->wide)] = i;
        }
    }
    bool is_stored(int i, const Element& place) const {
        if (called_.contains(place.first)) return true;
        const Span& span = spans_[static_cast<std::size_t>(place.first)];
        const bool kept = memories_[static_cast<std::size_t>(place.first)].outside || span.first != span.last;
        return kept && last_.at(place) == i;
    }

    // A call may have changed what is known of memory.
    void forget(int i) {
        for (const Access& access : at(i).accesses) {
            if (!access.written) continue;
            const bool input = memories_[static_cast<std::size_t>(access.memory)].input;
            std::erase_if(values_, [&](const auto& one) {
                const int memory = one.first.first;
                return memory == access.memory || (input && memories_[static_cast<std::size_t>(memory)].input);
            });
        }
    }

    void in_memory(int i, std::vector<Entry>& table) {
        const Statement& one = at(i);
        const std::size_t place = table.size() - first_;
        for (std::size_t k = 0; k < one.accesses.size(); ++k) table.push_back({i, static_cast<int>(k)});
        forget(i);
        if (one.expression == nullptr) {
            std::string text = one.block.text;
            for (std::size_t at = 0; (at = text.find('$', at)) != std::string::npos;)
                text.replace(at, 2, format("p[%zu]", place + static_cast<std::size_t>(text[at + 1] - '0')));
            text_ += "  {\n" + text + "  }\n";
            return;
        }
        const char* const type = type_of(*one.expression);
        std::string arguments;
        text_ += format("  {\n%s* const a0 = p[%zu];\n", type, place);
        for (std::size_t k = 1; k < one.accesses.size(); ++k) {
            text_ += format("const %s* const a%zu = p[%zu];\n", type, k, place + k);
            arguments +=
                format("%sa%zu[i * %lld]", k > 1 ? ", " : "", k, static_cast<long long>(one.accesses[k].stride));
        }
        text_ +=
            format("LOOP for (int i = 0; i < %d; ++i) a0[i * %lld] = %s;\n  }\n", one.count,
                   static_cast<long long>(one.accesses[0].stride), functions_.call(one, std::move(arguments)).c_str());
    }

    void elements(int i, std::vector<Entry>& table) {
        const Statement& one = at(i);
        const bool wide = one.expression->wide;
        const char* const type = type_of(*one.expression);
        std::size_t places[kernels::kMaxOperands];
        std::fill_n(places, one.accesses.size(), ~std::size_t{0});
        const auto place = [&](std::size_t k) {
            if (places[k] == ~std::size_t{0}) {
                places[k] = table.size() - first_;
                table.push_back({i, static_cast<int>(k)});
            }
            return places[k];
        };
        std::vector<std::pair<Element, int>> made;
        for (int e = 0; e < one.count; ++e) {
            std::string arguments;
            for (std::size_t k = 1; k < one.accesses.size(); ++k) {
                const Access& access = one.accesses[k];
                const auto [found, fresh] = values_.try_emplace(element(access, e, wide), variables_);
                if (fresh)
                    text_ += format("  const %s v%d = ((const %s*)p[%zu])[%lld];\n", type, variables_++, type, place(k),
                                    static_cast<long long>(e * access.stride));
                arguments += format("%sv%d", arguments.empty() ? "" : ", ", found->second);
            }
            text_ +=
                format("  const %s v%d = %s;\n", type, variables_, functions_.call(one, std::move(arguments)).c_str());
            made.emplace_back(element(one.accesses[0], e, wide), variables_++);
        }
        for (int e = 0; e < one.count; ++e) {
            const auto& [where, variable] = made[static_cast<std::size_t>(e)];
            values_[where] = variable;
            if (is_stored(i, where))
                text_ += format("  ((%s*)p[%zu])[%lld] = v%d;\n", type, place(0),
                                static_cast<long long>(e * one.accesses[0].stride), variable);
        }
    }

    const std::vector<Statement>& statements_;
    const std::vector<MemoryUse>& memories_;
    const std::vector<Span>& spans_;
    Functions& functions_;
    std::string text_;
    std::map<Element, int> values_;
    std::map<Element, int> last_;
    std::unordered_map<int, bool> called_;
    std::size_t first_ = 0;
    int variables_ = 0;
};

bool lie_side_by_side(const std::vector<Statement>& statements) {
    constexpr int kGroup = 4;
    std::int64_t all = 0, grouped = 0;
    for (const Statement& one : statements) {
        if (!one.by_elements()) continue;
        all += one.count;
        if (one.count >= kGroup) grouped += one.count;
    }
    return 2 * grouped > all;
}

}  // namespace

Text write(std::vector<Statement> statements, const std::vector<MemoryUse>& memories) {
    Text made;
    const std::vector<Chunk> chunks = chunks_of(statements);
    made.side_by_side = lie_side_by_side(statements);
    made.loops =
        std::ranges::any_of(statements, [](const Statement& one) { return !one.is_call() && !one.by_elements(); });
    const std::vector<Span> spans = spans_of(statements, chunks, memories.size());
    Functions functions;
    std::vector<std::string> bodies;
    std::unordered_map<std::string, std::size_t> known;
    std::string main;
    ChunkBody body(statements, memories, spans, functions);
    std::size_t last = ~std::size_t{0};
    for (const Chunk& chunk : chunks) {
        const std::size_t before = made.table.size();
        std::string text = body.write(chunk, made.table);
        const auto [found, fresh] = known.try_emplace(std::move(text), bodies.size());
        if (fresh) {
            bodies.push_back(found->first);
            made.folded += chunk.end - chunk.begin;
        }
        if (found->second == last) {
            ++made.repeats.back();
            continue;
        }
        last = found->second;
        main += format("  for (long i = 0; i < n[%zu]; ++i, p += %zu) c%zu(p, call);\n", made.repeats.size(),
                       made.table.size() - before, last);
        made.repeats.push_back(1);
    }
    made.source = functions.text();
    for (std::size_t i = 0; i < bodies.size(); ++i)
        made.source +=
            format("static __attribute__((noinline)) void c%zu(void* const* p, Call* call) {\n", i) + bodies[i] + "}\n";
    made.source += "void run(void* const* p, const long* n, Call* call) {\n" + main + "}\n";
    return made;
}

}  // namespace clew::code
