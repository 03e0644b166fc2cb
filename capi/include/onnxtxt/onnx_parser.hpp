// The surface of the reference's parser (`onnx/defs/parser.h`) over onnxtxt, for programs that switch: `OnnxParser parser(text)`, `Parse(model)`, and
// `OnnxParser::Parse(model, text)`. Include the messages of protobuf (`onnx/onnx_pb.h`) first. More than one error is in the message of the status,
// each with its lines.
#ifndef ONNXTXT_ONNX_PARSER_HPP
#define ONNXTXT_ONNX_PARSER_HPP

#include "../onnxtxt.hpp"

#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif

namespace onnxtxt {

/// As `onnx::Common::Status`.
class Status {
public:
    Status() = default;
    explicit Status(std::string message) : message_(std::move(message)), is_ok_(false) {}
    bool IsOK() const { return is_ok_; }
    const std::string& ErrorMessage() const { return message_; }
    std::string ToString() const { return is_ok_ ? "OK" : message_; }

private:
    std::string message_;
    bool is_ok_ = true;
};

class OnnxParser {
public:
    explicit OnnxParser(std::string_view text) : rest_(text) {}

    Status Parse(ONNX_NAMESPACE::ModelProto& model) { return read(ONNXTXT_KIND_MODEL, model); }
    Status Parse(ONNX_NAMESPACE::GraphProto& graph) { return read(ONNXTXT_KIND_GRAPH, graph); }
    Status Parse(ONNX_NAMESPACE::FunctionProto& function) { return read(ONNXTXT_KIND_FUNCTION, function); }
    Status Parse(ONNX_NAMESPACE::NodeProto& node) { return read(ONNXTXT_KIND_NODE, node); }
    Status Parse(ONNX_NAMESPACE::TypeProto& type) { return read(ONNXTXT_KIND_TYPE, type); }
    Status Parse(ONNX_NAMESPACE::AttributeProto& attribute) { return read(ONNXTXT_KIND_ATTRIBUTE, attribute); }
    /// Whether all of the text was read.
    bool EndOfInput() const { return rest_.empty(); }

    template <class Message>
    static Status Parse(Message& message, std::string_view text) {
        OnnxParser parser(text);
        return parser.Parse(message);
    }

private:
    template <class Message>
    Status read(onnxtxt_kind kind, Message& message) {
        const Model model = Model::parse_part(kind, rest_);
        if (model.is_partial()) return Status(model.check(ONNXTXT_CHECK_LEVEL_SYNTAX).rendered());
        Result<std::string> bytes = model.encode();
        if (!bytes) return Status(bytes.error().rendered());
        if (!message.ParseFromString(*bytes)) return Status("the message is too large for protobuf");
        rest_ = std::string_view();
        return Status();
    }
    std::string_view rest_;
};

}  // namespace onnxtxt

#endif
