// What the C++ interface promises, each a check of its own; prints the first that fails.
#include <onnxtxt.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

#include "check.hpp"

using namespace onnxtxt;

static const char* HEAD = "<ir_version: 10, opset_import: [\"\": 21, \"my\": 1]>\n";

static void parses_and_prints() {
    Model model = Model::parse(std::string(HEAD) + "g (float[N,3] x) => (float[N,3] y) { y = Relu(x) }");
    CHECK(!model.is_partial());
    CHECK(model.check().empty());
    std::string text = model.text().value();
    CHECK(text.find("y = Relu(x)") != std::string::npos);
    std::string bytes = model.encode().value();
    Model again = Model::decode(bytes);
    CHECK(again.encode().value() == bytes);
    CHECK(again.text().value() == text);
    CHECK(model.encode(ONNXTXT_ENCODING_JSON).value().find("\"Relu\"") != std::string::npos);
    CHECK(model.clone().text().value() == text);
}

static void parts_are_messages() {
    Model node = Model::parse_part(ONNXTXT_KIND_NODE, "y = LeakyRelu <alpha = 0.1> (x)");
    std::string bytes = node.encode().value();
    CHECK(bytes.find("LeakyRelu") != std::string::npos);
    CHECK(Model::decode(bytes, ONNXTXT_KIND_NODE).text().value().find("alpha") != std::string::npos);
    const std::pair<onnxtxt_kind, const char*> parts[] = {
        {ONNXTXT_KIND_GRAPH, "g (float[N] x) => (float[N] y) { y = Relu(x) }"},
        {ONNXTXT_KIND_FUNCTION, "<domain: \"d\", opset_import: [\"\": 21]> f (x) => (y) { y = Relu(x) }"},
        {ONNXTXT_KIND_NODE, "y = Softmax <axis = 0> (x)"},
        {ONNXTXT_KIND_TYPE, "seq(float[N, 3])"},
        {ONNXTXT_KIND_VALUE, "float[N, 3] x"},
        {ONNXTXT_KIND_ATTRIBUTE, "axes = [0, -1]"},
    };
    for (const auto& [kind, text] : parts) {
        Model part = Model::parse_part(kind, text);
        CHECK(!part.is_partial());
        std::string message = part.encode().value();
        Model again = Model::decode(message, kind);
        CHECK(again.encode().value() == message);
        CHECK(Model::parse_part(kind, again.text().value()).encode().value() == message);
    }
    Model wrong = Model::parse_part(ONNXTXT_KIND_TYPE, "flaot[2]");
    CHECK(wrong.is_partial());
    Result<std::string> refused = wrong.encode();
    CHECK(!refused);
    CHECK(refused.error()[0].code() == "E0113");
}

static void findings_have_places_labels_and_fixes() {
    std::string text = std::string(HEAD) + "g (float[N] x) => (float[N] y) {\n    y = Rleu(x)\n}\n";
    Model model = Model::parse(text, "a.onnxtxt");
    Findings found = model.check();
    CHECK(found.size() == 1 && found.has_errors());
    Finding first = found[0];
    CHECK(first.is_error() && first.path() == "a.onnxtxt");
    CHECK(first.place().has_value() && first.place()->line == 3 && first.place()->column == 9);
    CHECK(text.substr(first.place()->start, 4) == "Rleu");
    CHECK(first.rendered().find("a.onnxtxt:3:9") != std::string_view::npos);
    CHECK(first.rendered(true).find("\x1b[") != std::string_view::npos);
    CHECK(!first.labels().empty());
}

static void own_findings_look_like_ours() {
    std::string text = std::string(HEAD) + "g (float[N] x) => (float[N] y) {\n    y = Softmax <axis = 0> (x)\n}\n";
    Model model = Model::parse(text, "b.onnxtxt");
    Node node = model.main_graph().nodes()[0];
    Findings found;
    Draft(model, true, "MY007", "softmax is over the last axis here", node.attribute("axis").place(), "this is axis 0")
        .label(node.place_of_input(0), "of this operand")
        .help("transpose it before")
        .add_to(found);
    CHECK(found.size() == 1);
    std::string shown(found[0].rendered());
    CHECK(shown.find("error[MY007]: softmax is over the last axis here") != std::string::npos);
    CHECK(shown.find("b.onnxtxt:3:18") != std::string::npos);
    CHECK(shown.find("of this operand") != std::string::npos && shown.find("transpose it before") != std::string::npos);
    CHECK(model.span(node.place())->line == 3);
    CHECK(!Model::decode(model.encode().value()).span(node.place()).has_value());
    // A place that the model does not have gives no draft, and nothing is added.
    Draft(model, true, "MY008", "nothing", Place{ONNXTXT_PLACE_KIND_NODE, 7, 7, 0}).add_to(found);
    CHECK(found.size() == 1);
    CHECK(onnxtxt_draft_new(model.get(), true, to_c("A"), to_c("b"), Place{99, 0, 0, 0}, to_c("")) == nullptr);
}

static void walks_everything() {
    Model model = Model::parse(R"(<ir_version: 10, opset_import: ["": 21, "local": 1], producer_name: "me", metadata_props: ["k": "v"]>
g (float[N,2] x, bool c) => (y)
<float[2] w = {1, 2}>
{
    a = Add(x, w)
    b = local.f <k = 3> (a)
    y = If (c) <then_branch = t () => (float[N,2] u) { u = Neg(b) }, else_branch = e () => (float[N,2] v) { v = Clip(b, , w) }>
}
<domain: "local", opset_import: ["": 21]>
f <k> (p) => (q) { q = Constant <value_ints = [1, 2, 3]> () }
)");
    CHECK(!model.is_partial());
    CHECK(to_view(model.header().producer_name) == "me" && model.header().metadata == 1);
    Graph graph = model.main_graph();
    CHECK(graph.name() == "g" && graph.inputs().size() == 2 && graph.opset() == 21 && graph.opset("local") == 1);
    CHECK(graph.inputs()[0].type.text() == "float[N,2]" && graph.inputs()[0].type.symbol(0) == "N" && graph.inputs()[0].type.size(1) == 2);
    Value w = graph.initializers()[0];
    CHECK(w.name() == "w" && w.initializer().dims().size() == 1 && w.initializer().dims()[0] == 2);
    Data data = w.initializer().data().value();
    CHECK(data.elements<float>()[1] == 2.0f);
    Node add = graph.nodes()[0], call = graph.nodes()[1], branch = graph.nodes()[2];
    CHECK(add.is("Add") && add.input(1) == w && add.output(0).producer()->id().index == add.id().index);
    CHECK(call.is("f", "local") && call.int_or("k", 0) == 3 && call.int_or("z", 5) == 5);
    Graph then = branch.attribute("then_branch").graph();
    CHECK(then.nodes().size() == 1 && then.nodes()[0].input(0) == call.output(0));
    Node clip = branch.attribute("else_branch").graph().nodes()[0];
    CHECK(clip.inputs().size() == 3 && !clip.input(1) && clip.input(2) == w);
    CHECK(model.functions().size() == 1 && model.functions()[0].domain == "local");
    Node constant = model.functions()[0].graph.nodes()[0];
    CHECK(constant.attribute("value_ints").ints().size() == 3 && constant.attribute("value_ints").ints()[2] == 3);
    std::size_t seen = 0;
    for (Node node : graph.nodes()) seen += node.outputs().size();
    CHECK(seen == 3);
    model.infer();
    CHECK(graph.nodes()[0].output(0).type().text() == "float[N,2]");
}

static void changes_models() {
    Model model = Model::parse("<ir_version: 8, opset_import: [\"\": 13]> g (float[2] x) => (float[2] y) { a = Relu(x) dead = Neg(x) y = Abs(a) }");
    CHECK(model.run_pass("dead-code"));
    CHECK(model.main_graph().nodes().size() == 2);
    CHECK(model.convert_opset(21));
    CHECK(model.main_graph().opset() == 21);
    Done refused = model.run_pass("no-such-pass");
    CHECK(!refused && refused.error().rendered().find("no-such-pass") != std::string::npos);
}

static void runs() {
    Model model = Model::parse(std::string(HEAD) + "g (float[N,2] x) => (float[N,2] y, int64[2] s) { y = Relu(x) s = Shape(x) }");
    Session session = Session::compile(model).value();
    CHECK(session.inputs().size() == 1 && session.inputs()[0].type_text == "float[N,2]" && session.inputs()[0].dims[0] == -1);
    std::vector<float> memory{-1, 2, -3, 4};
    std::vector<std::size_t> dims{2, 2};
    Data x = Data::borrow(dims, memory.data(), memory.size()).value();
    auto results = session.run({{"x", &x}}).value();
    CHECK(results[0].elements<float>()[1] == 2.0f && results[0].elements<float>()[2] == 0.0f);
    CHECK(results[1].elements<std::int64_t>()[0] == 2);
    const float* at = results[0].elements<float>().data();
    memory[0] = 7;
    auto again = session.run({{"x", &x}}, nullptr, std::move(results)).value();
    CHECK(again[0].elements<float>().data() == at && again[0].elements<float>()[0] == 7.0f);
    std::vector<std::size_t> wrong{4};
    Data flat = Data::copy(wrong, memory).value();
    auto refused = session.run({{"x", &flat}});
    CHECK(!refused && refused.error()[0].message() == "input `x` is float[4], expected float[N,2]");
    CHECK(!session.run({}) && !session.run({{"x", &x}, {"x", &x}}) && !session.run({{"z", &x}}));
    std::vector<std::size_t> bad{3};
    CHECK(!Data::copy(bad, memory));
    std::vector<std::size_t> huge{static_cast<std::size_t>(-1), 2};
    CHECK(!Data::zeros<float>(huge));
}

static void results_are_in_memory_of_the_caller() {
    Model model = Model::parse(std::string(HEAD) + "g (float[N] x) => (float[N] y, int64[1] s) { y = Neg(x) s = Shape(x) }");
    Session session = Session::compile(model).value();
    std::vector<std::size_t> three{3}, one{1}, four{4};
    std::vector<float> x{1, -2, 3}, y(4, 99.0f);
    std::vector<std::int64_t> s{0, 99};
    Data given = Data::borrow(three, x.data(), x.size()).value();
    CHECK(session.run_in_memory({{"x", &given}}, {Data::memory(three, y.data(), 3), Data::memory(one, s.data(), 1)}));
    CHECK(y[0] == -1.0f && y[1] == 2.0f && y[2] == -3.0f && y[3] == 99.0f && s[0] == 3 && s[1] == 99);
    // Over the input itself.
    CHECK(session.run_in_memory({{"x", &given}}, {Data::memory(three, x.data(), 3), Data::memory(one, s.data(), 1)}));
    CHECK(x[0] == -1.0f && x[1] == 2.0f && x[2] == -3.0f);
    auto refused = session.run_in_memory({{"x", &given}}, {Data::memory(four, y.data(), 4), Data::memory(one, s.data(), 1)});
    CHECK(!refused && refused.error()[0].message() == "output `y` is float[3], but the memory for it is float[4]");
    auto small = session.run_in_memory({{"x", &given}}, {Data::memory(three, y.data(), 2), Data::memory(one, s.data(), 1)});
    CHECK(!small && small.error()[0].message().find("the memory for output `y`: ") == 0);
    auto other = session.run_in_memory({{"x", &given}}, {Data::memory(three, s.data(), 1), Data::memory(one, s.data(), 1)});
    CHECK(!other);
    // One in memory, the other as a value.
    onnxtxt_memory places[2] = {Data::memory(three, y.data(), 3), onnxtxt_memory{}};
    onnxtxt_data* values[2] = {nullptr, nullptr};
    onnxtxt_feed feed{to_c("x"), given.get()};
    CHECK(onnxtxt_run_in_memory(session.get(), &feed, 1, places, values, nullptr, nullptr) == ONNXTXT_STATUS_OK);
    CHECK(values[0] == nullptr && Data(values[1]).elements<std::int64_t>()[0] == 3 && y[0] == 1.0f);
    CHECK(onnxtxt_run_in_memory(session.get(), &feed, 1, places, nullptr, nullptr, nullptr) == ONNXTXT_STATUS_ARGUMENT);
    CHECK(onnxtxt_run_in_memory(session.get(), &feed, 1, nullptr, values, nullptr, nullptr) == ONNXTXT_STATUS_ARGUMENT);
}

/// The threads of this process.
static std::size_t threads_of_the_process() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("Threads:", 0) == 0) return std::stoul(line.substr(8));
    }
    return 0;
}

static void sessions_share_threads() {
    Model model = Model::parse(std::string(HEAD) + "g (float[N,256] x) => (float[N,256] y) { t = Tanh(x) y = Exp(t) }");
    std::vector<std::size_t> dims{512, 256};
    Data x = Data::zeros<float>(dims).value();
    onnxtxt_call_options options{};
    options.threads = 4;
    std::vector<Session> sessions;
    std::size_t threads = 0;
    for (int i = 0; i < 8; ++i) {
        sessions.push_back(Session::compile(model).value());
        CHECK(sessions.back().run({{"x", &x}}, &options));
        if (i == 0) threads = threads_of_the_process();
    }
    // Runs at the same time, too: as many as there are here, and those that call.
    std::vector<std::thread> callers;
    for (Session& session : sessions) {
        callers.emplace_back([&] { CHECK(session.run({{"x", &x}}, &options)); });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(threads_of_the_process() == threads);
}

static void strings_and_sequences() {
    Model model = Model::parse(std::string(HEAD) + "g (string[N] x, seq(float[2]) l) => (string[M] y, float[K] z) { y = Concat <axis = 0> (x, x) z = ConcatFromSequence <axis = 0> (l) }");
    Session session = Session::compile(model).value();
    std::vector<std::size_t> one{1}, two{2};
    Data x = Data::strings(one, {"grün"}).value();
    std::vector<Data> items;
    items.push_back(Data::copy(two, std::vector<float>{1, 2}).value());
    items.push_back(Data::copy(two, std::vector<float>{3, 4}).value());
    Data list = Data::sequence(items);
    CHECK(list.kind() == ONNXTXT_DATA_KIND_SEQUENCE && list.items().size() == 2);
    auto results = session.run({{"x", &x}, {"l", &list}}).value();
    CHECK(results[0].string(1) == "grün" && results[1].elements<float>()[3] == 4.0f);
}

static void operators_of_the_caller() {
    Model model = Model::parse(std::string(HEAD) + "g (float[N] x) => (float[N] y) { y = my.Scale <by = 2.5> (x) }");
    CHECK(!Session::compile(model));
    std::atomic<int> prepared{0};
    Operators operators;
    operators.add("my", "Scale", [&](const Prepared& node) -> Operators::Run {
        ++prepared;
        float by = node.float_or("by", 1);
        return [by](Call& call) {
            Data x = call.input(0);
            Span<float> from = x.elements<float>();
            if (from.empty()) throw std::runtime_error("nothing to scale");
            Data y = Data::zeros(x.elem_type(), x.dims()).value();
            float* to = y.mutable_elements<float>();
            for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] * by;
            call.set_output(0, std::move(y));
        };
    });
    Session session = Session::compile(model, &operators).value();
    CHECK(prepared == 1);
    std::vector<std::size_t> two{2}, none{0};
    Data x = Data::copy(two, std::vector<float>{2, 4}).value();
    CHECK(session.run({{"x", &x}}).value()[0].elements<float>()[1] == 10.0f);
    Data empty = Data::copy(none, std::vector<float>{}).value();
    auto failed = session.run({{"x", &empty}});
    CHECK(!failed && failed.error()[0].message().find("nothing to scale") != std::string_view::npos);
}

/// A product with packed weights of a megabyte, so that they are kept.
static void packed_weights_are_kept() {
    namespace fs = std::filesystem;
    std::string text = std::string(HEAD) + "g (float[2,512] x) => (float[2,512] y) <float[512,512] w = {";
    for (int i = 0; i < 512 * 512; ++i) text += (i == 0 ? "" : ",") + std::to_string((i * 7919) % 1009);
    Model model = Model::parse(text + "}> { y = MatMul(x, w) }");
    std::vector<std::size_t> dims{2, 512};
    std::vector<float> numbers(2 * 512);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 13);
    Data x = Data::copy(dims, numbers).value();
    auto product = [&](const Session& session) {
        auto results = session.run({{"x", &x}}).value();
        Span<float> y = results[0].elements<float>();
        return std::vector<float>(y.begin(), y.end());
    };
    auto expected = product(Session::compile(model).value());
    fs::path folder = fs::current_path() / "weights-of-api";
    fs::remove_all(folder);
    std::string path = folder.string();
    onnxtxt_session_options options{};
    options.cache = true;
    options.cache_folder = to_c(path);
    for (int start = 0; start < 2; ++start) {
        Findings warnings;
        CHECK(product(Session::compile(model, options, &warnings).value()) == expected && warnings.empty());
        CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
    }
    fs::remove_all(folder);
    // A file is in the place of the folder.
    std::ofstream(path) << "mine";
    Findings warnings;
    CHECK(product(Session::compile(model, options, &warnings).value()) == expected);
    CHECK(warnings.size() == 1 && !warnings.has_errors());
    CHECK(warnings[0].message().find("packed weights are not kept") == 0);
    fs::remove(folder);
}

static void runs_are_cancelled_and_limited() {
    Model model = Model::parse(std::string(HEAD) + R"(g (int64 n, float[64,64] x) => (float[64,64] y) {
    t = Constant <value = bool {1}> ()
    y = Loop (n, t, x) <body = b (int64 i, bool c, float[64,64] s) => (bool d, float[64,64] r) { d = Identity(c) m = MatMul(s, s) r = Tanh(m) }>
})");
    Session session = Session::compile(model).value();
    std::vector<std::size_t> scalar, square{64, 64};
    Data n = Data::copy(scalar, std::vector<std::int64_t>{100'000'000}).value();
    Data x = Data::zeros<float>(square).value();
    Cancel cancel;
    onnxtxt_call_options options{};
    options.cancel = cancel.get();
    options.fuel = 1'000'000'000'000;
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        cancel.set();
    });
    auto ended = session.run({{"n", &n}, {"x", &x}}, &options);
    other.join();
    CHECK(!ended && ended.error().rendered().find("cancel") != std::string::npos);
    cancel.set(false);
    Data few = Data::copy(scalar, std::vector<std::int64_t>{3}).value();
    std::size_t peak = 0;
    options.peak = &peak;
    CHECK(session.run({{"n", &few}, {"x", &x}}, &options) && peak > 0);
    options.max_memory = 1000;
    CHECK(!session.run({{"n", &few}, {"x", &x}}, &options));
}

static void nothing_is_survived(int texts) {
    CHECK(onnxtxt_abi_version() == ONNXTXT_ABI_VERSION && std::strlen(onnxtxt_version()) > 0);
    onnxtxt_model_free(nullptr);
    onnxtxt_findings_free(nullptr);
    onnxtxt_data_free(nullptr);
    onnxtxt_session_free(nullptr);
    CHECK(onnxtxt_check(nullptr, ONNXTXT_CHECK_LEVEL_TYPES) == nullptr);
    CHECK(onnxtxt_run_pass(nullptr, to_c("x"), nullptr) == ONNXTXT_STATUS_ARGUMENT);
    CHECK(onnxtxt_run(nullptr, nullptr, 0, nullptr, nullptr, nullptr) == ONNXTXT_STATUS_ARGUMENT);
    CHECK(onnxtxt_encode(nullptr, 0, nullptr) == nullptr && onnxtxt_compile(nullptr, nullptr, nullptr) == nullptr);
    CHECK(onnxtxt_run_in_memory(nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr) == ONNXTXT_STATUS_ARGUMENT);
    CHECK(onnxtxt_set_allocator(onnxtxt_allocator{}) == ONNXTXT_STATUS_ARGUMENT);
    CHECK(onnxtxt_parse_part(99, to_c("x"), to_c("")) == nullptr);
    Model model = Model::parse("g (float[N] x) => (float[N] y) { y = Relu(x) }");
    CHECK(onnxtxt_encode(model.get(), 99, nullptr) == nullptr);
    onnxtxt_node_view view;
    CHECK(!onnxtxt_node_get(model.get(), onnxtxt_node{0, 99}, &view) && !onnxtxt_node_get(model.get(), onnxtxt_node{99, 0}, &view));
    CHECK(!onnxtxt_node_get(model.get(), onnxtxt_node{0, 0}, nullptr));
    CHECK(!Model::open("/no/such/file.onnx"));
    Model empty = Model::parse(std::string_view());
    CHECK(empty.is_partial() && !empty.main_graph());
    std::string junk;
    unsigned state = 7;
    for (int i = 0; i < texts; ++i) {
        junk.clear();
        for (int k = 0; k < i % 97; ++k) {
            state = state * 1664525u + 1013904223u;
            junk += static_cast<char>(state >> 24);
        }
        Model::parse(junk).check();
        Model::decode(junk).check();
    }
}

int main(int argc, char** argv) {
    const bool is_short = argc > 1 && std::string(argv[1]) == "short";
    parses_and_prints();
    parts_are_messages();
    findings_have_places_labels_and_fixes();
    own_findings_look_like_ours();
    walks_everything();
    changes_models();
    runs();
    results_are_in_memory_of_the_caller();
    sessions_share_threads();
    strings_and_sequences();
    operators_of_the_caller();
    packed_weights_are_kept();
    runs_are_cancelled_and_limited();
    nothing_is_survived(is_short ? 30 : 3000);
    std::cout << "ok\n";
}
