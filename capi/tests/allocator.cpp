// The memory of the library is that of the caller: every byte comes from there, goes back there, and may run out.
#include <onnxtxt.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <string>

#include "check.hpp"

using namespace onnxtxt;

namespace {
/// What was given out.
struct Pool {
    std::mutex mutex;
    std::map<void*, std::pair<std::size_t, std::size_t>> given;
    std::size_t in_use = 0, peak = 0, calls = 0, mistakes = 0;
    std::atomic<std::size_t> limit{static_cast<std::size_t>(-1)};
};

void* allocate(void* user, std::size_t size, std::size_t alignment) {
    Pool& pool = *static_cast<Pool*>(user);
    std::lock_guard<std::mutex> lock(pool.mutex);
    if (size > pool.limit) return nullptr;
    // What the function of C++ asks for.
    std::size_t least = std::max(alignment, sizeof(void*));
    void* memory = std::aligned_alloc(least, (size + least - 1) / least * least);
    pool.given[memory] = {size, alignment};
    pool.in_use += size;
    pool.peak = std::max(pool.peak, pool.in_use);
    ++pool.calls;
    return memory;
}

void release(void* user, void* memory, std::size_t size, std::size_t alignment) {
    Pool& pool = *static_cast<Pool*>(user);
    std::lock_guard<std::mutex> lock(pool.mutex);
    auto found = pool.given.find(memory);
    if (found == pool.given.end() || found->second != std::make_pair(size, alignment)) {
        ++pool.mistakes;
        return;
    }
    pool.in_use -= size;
    pool.given.erase(found);
    std::free(memory);
}
}  // namespace

int main() {
    // In use until the process ends, after `main` too.
    static Pool& pool = *new Pool;
    CHECK(onnxtxt_set_allocator(onnxtxt_allocator{allocate, nullptr, &pool}) == ONNXTXT_STATUS_ARGUMENT);
    CHECK(onnxtxt_set_allocator(onnxtxt_allocator{allocate, release, &pool}) == ONNXTXT_STATUS_OK);
    CHECK(onnxtxt_set_allocator(onnxtxt_allocator{allocate, release, &pool}) == ONNXTXT_STATUS_REFUSED);
    std::size_t kept = 0;
    for (int round = 0; round < 3; ++round) {
        {
            Model model = Model::parse("<ir_version: 10, opset_import: [\"\": 21]> g (float[N,64] x) => (float[N,64] y) { t = Neg(x) y = Exp(t) }");
            CHECK(model.check().empty());
            Session session = Session::compile(model).value();
            std::vector<std::size_t> dims{1024, 64};
            Data x = Data::zeros<float>(dims).value();
            CHECK(session.run({{"x", &x}}).value()[0].elements<float>()[5] == 1.0f);
            CHECK(pool.peak > 2 * 1024 * 64 * sizeof(float));
            // A result that does not fit is a finding, not the end. It is larger than the last one, whose memory is used again.
            std::vector<std::size_t> more{4096, 64};
            Data large = Data::zeros<float>(more).value();
            pool.limit = 4096 * 64 * sizeof(float) - 1;
            auto refused = session.run({{"x", &large}});
            pool.limit = static_cast<std::size_t>(-1);
            CHECK(!refused && refused.error()[0].message().find("memory") != std::string_view::npos);
        }
        // What the first round has made once stays: tables of operators, threads.
        if (round == 1) kept = pool.in_use;
    }
    CHECK(pool.calls > 100 && pool.mistakes == 0);
    CHECK(pool.in_use == kept);
    std::cout << "ok\n";
}
