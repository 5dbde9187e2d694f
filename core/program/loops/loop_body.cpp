#include "core/program/loops/loop_body.h"

#include <algorithm>
#include <utility>

#include "core/program/replay/guards.h"

namespace clew {

using Kind = LoopMemory::Kind;

void LoopFrames::keep(int step, int output, std::int64_t bytes) {
    const std::int64_t align = bytes <= 16 ? 16 : bytes <= 32 ? 32 : kLine;
    const auto [place, fresh] = places_.try_emplace({step, output}, (bytes_ + align - 1) / align * align);
    if (fresh) bytes_ = place->second + bytes;
}

void LoopBody::make() {
    Program& body = loop_.body;
    std::size_t next = 0;
    for (int i = 0; i < of().period; ++i) {
        const Step& step = program_.steps[static_cast<std::size_t>(of().begin + of().shown * of().period + i)];
        if (of().moves[static_cast<std::size_t>(i)]) {  // who reads the view is told where it looks
            next += step.inputs.size() + step.outputs.size();
            places_.push_back(-1);
            continue;
        }
        const int now = static_cast<int>(body.steps.size());
        places_.push_back(now);
        const Action*& action = actions_[step.action];
        if (action == nullptr) action = body.keep(Action(*step.action));
        Numbers inputs, outputs;
        Few<KeptWrite, 1> writes;
        for (const int reg : step.inputs) inputs.push_back(input_register(of().operands[next++], reg));
        for (const int reg : step.outputs) outputs.push_back(output_register(of().operands[next++], reg));
        for (const KeptWrite& written : step.writes) {
            const LoopMemory& what = of().operands[next++];
            writes.push_back({input_register(what, written.reg), 0, -1});
            const int memory = body.of(writes.back().reg).memory;
            body.memories[static_cast<std::size_t>(memory)].writers.push_back(now);
            for (const Loop::Buffer& binding : loop_.bindings)
                if (binding.memory == memory && binding.input != Loop::kOwn)
                    loop_.reaches[static_cast<std::size_t>(binding.input)].written = true;
        }
        Step& made = body.steps.emplace_back(action, std::move(inputs), std::move(outputs));
        made.writes = std::move(writes);
    }
    pin();
    note_apart();
    body.forget_known();
    body.finished = body.is_body = true;
}

// What the program made outside of all loops, if the iterations see it in one way, and this loop's frames.
void LoopBody::note_apart() {
    Program& body = loop_.body;
    std::map<std::int64_t, int> ways;
    for (const auto& [key, memory] : memories_)
        if (key[0] == static_cast<std::int64_t>(Kind::Fixed)) ++ways[key[1]];
    for (const auto& [key, memory] : memories_) {
        const int input = body.memories[static_cast<std::size_t>(memory)].input;
        if (input < 0) continue;
        bool apart = key[0] == static_cast<std::int64_t>(Kind::Own);
        if (key[0] == static_cast<std::int64_t>(Kind::Fixed)) {
            const int made = program_.memories[static_cast<std::size_t>(key[1])].made_by;
            apart = made >= 0 && finder_.loop_of_step(made) < 0 && ways[key[1]] == 1;
        }
        body.inputs[static_cast<std::size_t>(input)].apart = apart;
    }
}

int LoopBody::new_memory(std::int64_t bytes, int made_by) {
    loop_.body.memories.emplace_back(bytes, -1, made_by);
    return static_cast<int>(loop_.body.memories.size()) - 1;
}

// The body's memory; `memory` is the program's in the iteration that is shown. What the iteration makes is there
// already.
int LoopBody::memory_of(const LoopMemory& what, int memory) {
    const auto kind = static_cast<std::int64_t>(what.kind);
    Key key{kind, what.memory, what.shift};
    if (what.kind == Kind::Own) key = {kind, what.lag ? -1 : what.step, what.lag ? 0 : what.output};
    if (what.kind == Kind::Other) key = {kind, what.loop, what.sign};
    const auto [known, fresh] = memories_.try_emplace(key, -1);
    if (!fresh) return known->second;
    const std::int64_t bytes = program_.memories[static_cast<std::size_t>(memory)].bytes;
    const LoopFrames& own = frames_[index_];
    if (what.kind == Kind::Own && what.lag) {
        known->second = new_memory(own.bytes(of().iterations), -1);
        loop_.bindings.push_back({known->second, Loop::kOwn, own.frame_of(0), own.stride()});
    } else if (what.kind == Kind::Own) {
        known->second = new_memory(bytes, places_[static_cast<std::size_t>(what.step)]);
    } else if (what.kind == Kind::Other) {
        const auto loop = static_cast<std::size_t>(what.loop);
        const int base = bases_[{what.loop, what.sign}] = what.iteration - what.sign * what.at;
        known->second = new_memory(frames_[loop].bytes(found_[loop].iterations), -1);
        const Inputs::At at = inputs_.of_loop(what.loop);
        loop_.bindings.push_back(
            {known->second, at.input, at.begin + frames_[loop].frame_of(base), what.sign * frames_[loop].stride()});
    } else {
        known->second = new_memory(bytes, -1);
        if (finder_.constant_of(what.memory) >= 0) return known->second;
        const Inputs::At at = inputs_.of_memory(what.memory);
        loop_.bindings.push_back({known->second, at.input, at.begin - what.shift * of().shown, what.shift});
    }
    return known->second;
}

// From where the body's memory begins.
std::int64_t LoopBody::offset_of(const LoopMemory& what, const KeptRegister& reg) const {
    if (what.kind == Kind::Own && what.lag)
        return reg.offset + frames_[index_].place_of(what.step, what.output) - what.lag * frames_[index_].stride();
    if (what.kind != Kind::Other) return reg.offset;
    const LoopFrames& frames = frames_[static_cast<std::size_t>(what.loop)];
    const int iterations = what.iteration - what.sign * what.at - bases_.at({what.loop, what.sign});
    return reg.offset + frames.place_of(what.step, what.output) + iterations * frames.stride();
}

int LoopBody::find(int memory, const KeptRegister& like, std::int64_t offset) const {
    const Program& body = loop_.body;
    for (int reg = body.memories[static_cast<std::size_t>(memory)].last; reg >= 0; reg = body.of(reg).before)
        if (body.of(reg).offset == offset && body.of(reg).number == like.number &&
            same_geometry(*like.layout, like.dtype, body.of(reg)))
            return reg;
    return -1;
}

int LoopBody::add_register(int memory, const KeptRegister& like, std::int64_t offset, int made_by) {
    return loop_.body.add_register({like.layout, offset, memory, made_by, like.dtype, like.number});
}

// What a iteration finds there where it has not made it is an input, or a constant.
int LoopBody::input_register(const LoopMemory& what, int reg) {
    if (what.kind == Kind::None) return -1;
    Program& body = loop_.body;
    const KeptRegister& like = program_.of(reg);
    const int memory = memory_of(what, like.memory);
    const std::int64_t offset = offset_of(what, like);
    if (const int known = find(memory, like, offset); known >= 0) return known;
    const int made = add_register(memory, like, offset, -1);
    if (what.kind == Kind::Fixed && finder_.constant_of(what.memory) >= 0) {
        body.constants.emplace_back(
            made, program_.constants[static_cast<std::size_t>(finder_.constant_of(what.memory))].second);
        return made;
    }
    int& first = body.memories[static_cast<std::size_t>(memory)].input;
    if (first < 0) first = static_cast<int>(body.inputs.size());
    body.inputs.push_back({{}, false, made, false, 0, 0});
    return made;
}

int LoopBody::output_register(const LoopMemory& what, int reg) {
    if (what.kind == Kind::None) return -1;
    const KeptRegister& like = program_.of(reg);
    const int memory = memory_of(what, like.memory);
    const std::int64_t offset = offset_of(what, like);
    const int known = find(memory, like, offset);
    return known >= 0 && loop_.body.of(known).made_by >= 0 ? known : add_register(memory, like, offset, places_.back());
}

// Where what is read outside of the iteration is to lie; and which bytes of each input the iterations touch.
void LoopBody::pin() {
    Program& body = loop_.body;
    const LoopFrames& own = frames_[index_];
    for (const auto& [made, place] : own.places()) {
        const int into = memory_of({.kind = Kind::Own, .lag = 1}, 0);
        const int memory = memories_.at({static_cast<std::int64_t>(Kind::Own), made.first, made.second});
        const int step = places_[static_cast<std::size_t>(made.first)];
        const Numbers& outputs = body.steps[static_cast<std::size_t>(step)].outputs;
        body.pinned.push_back({memory, into, place, outputs[static_cast<std::size_t>(made.second)]});
    }
    // Memory that is only pinned to needs a register to be known by.
    for (const Pinned& one : body.pinned) {
        int& first = body.memories[static_cast<std::size_t>(one.into)].input;
        if (first >= 0) continue;
        first = static_cast<int>(body.inputs.size());
        KeptRegister like = body.of(one.reg);
        body.inputs.push_back({{}, false, add_register(one.into, like, one.place, -1), false, 0, 0});
    }
    for (const Loop::Buffer& binding : loop_.bindings) {
        if (binding.input == Loop::kOwn) continue;
        Loop::Reach& reach = loop_.reaches[static_cast<std::size_t>(binding.input)];
        for (int reg = body.memories[static_cast<std::size_t>(binding.memory)].last; reg >= 0;
             reg = body.of(reg).before) {
            const Bytes bytes = body.of(reg).bytes();
            for (const int iteration : {0, loop_.iterations - 1}) {
                const std::int64_t at = binding.start + iteration * binding.stride;
                reach.add(at + bytes.begin, at + bytes.end);
            }
        }
    }
}

}  // namespace clew
