// Runs a model from several threads: one session, memory of the caller, results at the same addresses.
//
//     inference model.onnxtxt [THREADS [RUNS]]
#include <onnxtxt.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

/// Inputs of a thread: numbers that depend on it, in its own memory.
struct Inputs {
    std::vector<std::vector<float>> memory;
    std::vector<onnxtxt::Data> data;
    onnxtxt::Session::Feeds feeds;

    Inputs(const onnxtxt::Session& session, int seed) {
        const auto ports = session.inputs();
        memory.reserve(ports.size());
        data.reserve(ports.size());
        for (const onnxtxt::Interface& port : ports) {
            std::vector<std::size_t> dims;
            std::size_t count = 1;
            for (std::int64_t size : port.dims) {
                dims.push_back(size < 0 ? 2 : static_cast<std::size_t>(size));
                count *= dims.back();
            }
            if (port.elem_type != 1) throw std::runtime_error("input `" + std::string(port.name) + "` is not float");
            std::vector<float> numbers(count);
            for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>((i * 7 + seed) % 13) / 13.0f - 0.5f;
            memory.push_back(std::move(numbers));
            data.push_back(onnxtxt::Data::borrow(dims, memory.back().data(), count).value());
            feeds.emplace_back(port.name, &data.back());
        }
    }
};

double sum(const std::vector<onnxtxt::Data>& results) {
    double total = 0;
    for (const onnxtxt::Data& result : results) {
        if (result.elem_type() != 1) continue;
        for (float x : result.elements<float>()) total += x;
    }
    return total;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 2) {
        std::cerr << "usage: inference model.onnxtxt [THREADS [RUNS]]\n";
        return 2;
    }
    const int threads = argc > 2 ? std::stoi(argv[2]) : 4;
    const int runs = argc > 3 ? std::stoi(argv[3]) : 100;
    onnxtxt::Model model = onnxtxt::Model::open(argv[1]).value();
    onnxtxt::Session session = onnxtxt::Session::compile(model).value();
    onnxtxt_call_options options{};
    options.threads = 1;

    std::vector<double> expected(threads);
    for (int i = 0; i < threads; ++i) {
        Inputs inputs(session, i);
        expected[i] = sum(session.run(inputs.feeds, &options).value());
    }

    std::atomic<int> wrong{0};
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; ++i) {
        workers.emplace_back([&, i] {
            Inputs inputs(session, i);
            std::vector<onnxtxt::Data> results;
            for (int run = 0; run < runs; ++run) {
                auto done = session.run(inputs.feeds, &options, std::move(results));
                if (!done) {
                    std::cerr << done.error();
                    ++wrong;
                    return;
                }
                results = std::move(*done);
                if (sum(results) != expected[i]) ++wrong;
            }
        });
    }
    for (std::thread& worker : workers) worker.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::cerr << threads * runs / took.count() << " runs a second\n";
    std::cout << (wrong == 0 ? "all results are equal" : "results differ") << '\n';
    return wrong == 0 ? 0 : 1;
} catch (const std::exception& why) {
    std::cerr << why.what() << '\n';
    return 1;
}
