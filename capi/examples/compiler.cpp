// A small compiler: reads ONNX text, checks it, lowers it to instructions of its own, and reports what it cannot lower where the text says it.
//
//     compiler model.onnxtxt
#include <onnxtxt.hpp>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

/// What this compiler lowers to: registers, and instructions on them.
struct Instruction {
    std::string op;
    int result;
    std::vector<int> operands;
    std::string type;
    /// Line and column in the text, for a debugger.
    unsigned line, column;
};

struct Function {
    std::vector<Instruction> instructions;
    std::vector<std::pair<std::string, int>> inputs, outputs;
    std::vector<std::pair<int, std::vector<float>>> constants;
};

class Compiler {
public:
    explicit Compiler(const onnxtxt::Model& model) : model_(model) {}

    Function lower() {
        onnxtxt::Graph graph = model_.main_graph();
        for (const onnxtxt::Port& input : graph.inputs()) {
            if (!input.type.is_tensor() || input.type.elem_type() != 1) {
                onnxtxt::Draft(model_, true, "MY001", "only tensors of float are inputs of this machine", input.place,
                               "this is " + input.type.text())
                    .add_to(findings_);
            }
            function_.inputs.emplace_back(input.name, reg(input.value));
        }
        for (onnxtxt::Value weight : graph.initializers()) {
            onnxtxt::Result<onnxtxt::Data> data = weight.initializer().data();
            if (data && data->elem_type() == 1) {
                function_.constants.emplace_back(reg(weight), data->elements<float>().to_vector());
            }
        }
        for (onnxtxt::Node node : graph.nodes()) instruction(node);
        for (const onnxtxt::Port& output : graph.outputs()) function_.outputs.emplace_back(output.name, reg(output.value));
        return function_;
    }

    const onnxtxt::Findings& findings() const { return findings_; }

private:
    void instruction(const onnxtxt::Node& node) {
        static const std::map<std::string, std::string, std::less<>> known = {
            {"Add", "fadd"}, {"Mul", "fmul"}, {"Relu", "fmax0"}, {"MatMul", "gemm"}, {"Softmax", "softmax"},
        };
        auto op = known.find(node.op());
        if (op == known.end() || !node.domain().empty()) {
            onnxtxt::Draft(model_, true, "MY002", "this machine has no `" + std::string(node.op()) + "`",
                           node.place_of_operator(), "no instruction for it")
                .help("decompose it before")
                .add_to(findings_);
            return;
        }
        if (node.op() == "Softmax" && node.int_or("axis", -1) != -1) {
            onnxtxt::Attribute axis = node.attribute("axis");
            onnxtxt::Draft(model_, true, "MY003", "softmax of this machine is over the last axis", axis.place(),
                           "this is axis " + std::to_string(axis.as_int()))
                .label(node.place_of_input(0), "of this operand")
                .add_to(findings_);
            return;
        }
        Instruction made{op->second, reg(node.output(0)), {}, node.output(0).type().text(), 0, 0};
        for (onnxtxt::Value operand : node.inputs()) made.operands.push_back(operand ? reg(operand) : -1);
        if (auto span = model_.span(node.place())) {
            made.line = span->line;
            made.column = span->column;
        }
        function_.instructions.push_back(made);
    }

    int reg(const onnxtxt::Value& value) {
        auto [at, is_new] = registers_.try_emplace(value.id().index, static_cast<int>(registers_.size()));
        return at->second;
    }

    const onnxtxt::Model& model_;
    Function function_;
    onnxtxt::Findings findings_;
    std::map<std::uint32_t, int> registers_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: compiler model.onnxtxt\n";
        return 2;
    }
    std::ifstream file(argv[1]);
    if (!file) {
        std::cerr << "cannot read " << argv[1] << '\n';
        return 2;
    }
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    onnxtxt::Model model = onnxtxt::Model::parse(text, argv[1]);
    onnxtxt::Findings found = model.check();
    std::cerr << found;
    if (found.has_errors()) return 1;
    model.infer();
    Compiler compiler(model);
    Function function = compiler.lower();
    std::cerr << compiler.findings();
    if (compiler.findings().has_errors()) return 1;
    for (const auto& [name, at] : function.inputs) std::cout << "input  r" << at << " = " << name << '\n';
    for (const auto& [at, elements] : function.constants) {
        std::cout << "const  r" << at << " = " << elements.size() << " floats\n";
    }
    for (const Instruction& made : function.instructions) {
        std::cout << made.op << " r" << made.result << " :" << made.type;
        for (int operand : made.operands) std::cout << " r" << operand;
        std::cout << "    ; " << made.line << ':' << made.column << '\n';
    }
    for (const auto& [name, at] : function.outputs) std::cout << "output " << name << " = r" << at << '\n';
    return 0;
}
