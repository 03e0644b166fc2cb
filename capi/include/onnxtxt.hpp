// onnxtxt for C++17: handles that free themselves, views, and results that are a value or findings. Over `onnxtxt.h`; nothing else is needed.
//
//     onnxtxt::Model model = onnxtxt::Model::parse(text, "model.onnxtxt");
//     if (onnxtxt::Findings found = model.check(); found.has_errors()) std::cerr << found.rendered();
//     for (onnxtxt::Node node : model.main_graph().nodes()) std::cout << node.op() << '\n';
//
// Views (Graph, Node, Value, Attribute, Type, StoredTensor, strings) belong to their model: they are valid until it is changed or destroyed.
#ifndef ONNXTXT_HPP
#define ONNXTXT_HPP

#include "onnxtxt.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace onnxtxt {

inline onnxtxt_str to_c(std::string_view text) { return onnxtxt_str{text.data(), text.size()}; }
inline std::string_view to_view(onnxtxt_str text) {
    return text.len == 0 ? std::string_view() : std::string_view(text.data, text.len);
}

/// Elements that belong to someone else, as `std::span` has them.
template <class T>
class Span {
public:
    Span() = default;
    Span(const T* data, std::size_t size) : data_(data), size_(size) {}
    Span(const std::vector<T>& all) : data_(all.data()), size_(all.size()) {}
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T& operator[](std::size_t at) const { return data_[at]; }
    const T* begin() const { return data_; }
    const T* end() const { return size_ == 0 ? data_ : data_ + size_; }
    std::vector<T> to_vector() const { return std::vector<T>(begin(), end()); }

private:
    const T* data_ = nullptr;
    std::size_t size_ = 0;
};

namespace detail {
template <class T, void (*Free)(T*)>
struct Deleter {
    void operator()(T* object) const { Free(object); }
};
template <class T, void (*Free)(T*)>
using Handle = std::unique_ptr<T, Deleter<T, Free>>;

/// A list whose elements are made when they are asked for.
template <class T>
class List {
public:
    using Make = T (*)(const void* of, std::uint32_t body, std::uint32_t index, std::size_t at);
    List(Make make, const void* of, std::uint32_t body, std::uint32_t index, std::size_t size)
        : make_(make), of_(of), body_(body), index_(index), size_(size) {}
    class iterator {
    public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = T;
        using iterator_category = std::input_iterator_tag;
        iterator(const List* list, std::size_t at) : list_(list), at_(at) {}
        T operator*() const { return (*list_)[at_]; }
        iterator& operator++() {
            ++at_;
            return *this;
        }
        iterator operator++(int) {
            iterator before = *this;
            ++at_;
            return before;
        }
        bool operator==(const iterator& other) const { return at_ == other.at_; }
        bool operator!=(const iterator& other) const { return at_ != other.at_; }

    private:
        const List* list_;
        std::size_t at_;
    };
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T operator[](std::size_t at) const { return make_(of_, body_, index_, at); }
    iterator begin() const { return iterator(this, 0); }
    iterator end() const { return iterator(this, size_); }

private:
    Make make_;
    const void* of_;
    std::uint32_t body_, index_;
    std::size_t size_;
};
}  // namespace detail

using Place = onnxtxt_place_t;
using TextSpan = onnxtxt_span;

/// A finding: an error or a warning. Belongs to its list.
class Finding {
public:
    explicit Finding(onnxtxt_finding view, const onnxtxt_findings* list, std::size_t at)
        : view_(view), list_(list), at_(at) {}
    bool is_error() const { return view_.is_error; }
    std::string_view code() const { return to_view(view_.code); }
    std::string_view name() const { return to_view(view_.name); }
    std::string_view message() const { return to_view(view_.message); }
    std::string_view help() const { return to_view(view_.help); }
    std::string_view path() const { return to_view(view_.path); }
    /// With the lines that it is about.
    std::string_view rendered(bool colored = false) const {
        return to_view(colored ? view_.colored : view_.rendered);
    }
    std::optional<TextSpan> place() const {
        return view_.has_place ? std::optional<TextSpan>(view_.place) : std::nullopt;
    }
    std::vector<std::pair<std::string_view, std::optional<TextSpan>>> labels() const {
        std::vector<std::pair<std::string_view, std::optional<TextSpan>>> all;
        for (std::size_t i = 0; i < view_.labels; ++i) {
            onnxtxt_label label;
            if (onnxtxt_findings_label(list_, at_, i, &label)) {
                all.emplace_back(to_view(label.message),
                                 label.has_place ? std::optional<TextSpan>(label.place) : std::nullopt);
            }
        }
        return all;
    }
    struct Edit {
        std::uint32_t start, end;
        std::string_view text;
    };
    struct Fix {
        std::string_view title;
        bool is_safe;
        std::vector<Edit> edits;
        /// The text with the edits.
        std::string apply(std::string_view text) const {
            std::string out;
            std::size_t at = 0;
            for (const Edit& edit : edits) {
                if (edit.start < at || edit.end < edit.start || edit.end > text.size()) {
                    throw std::out_of_range("the fix is for another text");
                }
                out.append(text.substr(at, edit.start - at)).append(edit.text);
                at = edit.end;
            }
            return out.append(text.substr(at));
        }
    };
    std::vector<Fix> fixes() const {
        std::vector<Fix> all;
        for (std::size_t i = 0; i < view_.fixes; ++i) {
            onnxtxt_fix view;
            if (!onnxtxt_findings_fix(list_, at_, i, &view)) continue;
            Fix fix{to_view(view.title), view.is_safe, {}};
            for (std::size_t k = 0; k < view.edits; ++k) {
                onnxtxt_edit edit;
                if (onnxtxt_findings_edit(list_, at_, i, k, &edit)) {
                    fix.edits.push_back(Edit{edit.start, edit.end, to_view(edit.text)});
                }
            }
            all.push_back(std::move(fix));
        }
        return all;
    }

private:
    onnxtxt_finding view_;
    const onnxtxt_findings* list_;
    std::size_t at_;
};

/// A list of findings.
class Findings {
public:
    Findings() = default;
    explicit Findings(onnxtxt_findings* list) : list_(list) {}
    std::size_t size() const { return onnxtxt_findings_count(list_.get()); }
    bool empty() const { return size() == 0; }
    bool has_errors() const { return onnxtxt_findings_has_errors(list_.get()); }
    Finding operator[](std::size_t at) const {
        onnxtxt_finding view;
        if (!onnxtxt_findings_get(list_.get(), at, &view)) throw std::out_of_range("no such finding");
        return Finding(view, list_.get(), at);
    }
    /// All of them, as a terminal shows them.
    std::string rendered(bool colored = false) const {
        std::string out;
        for (std::size_t i = 0; i < size(); ++i) out.append((*this)[i].rendered(colored));
        return out;
    }
    onnxtxt_findings* get() const { return list_.get(); }
    /// The list, made if there is none yet.
    onnxtxt_findings* made() {
        if (!list_) list_.reset(onnxtxt_findings_new());
        return list_.get();
    }

private:
    detail::Handle<onnxtxt_findings, onnxtxt_findings_free> list_;
};

/// A value, or the findings that say why there is none.
template <class T>
class Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Findings why) : state_(std::in_place_index<1>, std::move(why)) {}
    bool has_value() const { return state_.index() == 0; }
    explicit operator bool() const { return has_value(); }
    /// The value; throws `std::runtime_error` with the rendered findings if there is none.
    T& value() & {
        if (!has_value()) throw std::runtime_error(error().rendered());
        return *std::get_if<0>(&state_);
    }
    T&& value() && { return std::move(value()); }
    T& operator*() { return *std::get_if<0>(&state_); }
    T* operator->() { return std::get_if<0>(&state_); }
    const Findings& error() const { return *std::get_if<1>(&state_); }

private:
    std::variant<T, Findings> state_;
};

/// Done, or the findings that say why not.
using Done = Result<std::monostate>;

class Model;
class Node;
class Graph;

/// A type of a value.
class Type {
public:
    Type(const onnxtxt_model* model, std::uint32_t id) : model_(model), id_(id) {
        is_known_ = onnxtxt_type_get(model, id, &view_);
    }
    explicit operator bool() const { return is_known_; }
    bool is_tensor() const { return is_known_ && view_.category == ONNXTXT_CATEGORY_TENSOR; }
    onnxtxt_category category() const { return is_known_ ? view_.category : ONNXTXT_CATEGORY_UNSET; }
    /// A number of `TensorProto.DataType`; 0 if it is not known.
    std::int32_t elem_type() const { return is_known_ ? view_.elem_type : 0; }
    bool has_shape() const { return is_known_ && view_.has_shape; }
    std::size_t rank() const { return is_known_ ? view_.rank : 0; }
    /// -1 for a symbol, and if it is not known.
    std::int64_t size(std::size_t axis) const {
        onnxtxt_dim dim;
        return onnxtxt_type_dim(model_, id_, axis, &dim) ? dim.size : -1;
    }
    std::string_view symbol(std::size_t axis) const {
        onnxtxt_dim dim;
        return onnxtxt_type_dim(model_, id_, axis, &dim) ? to_view(dim.symbol) : std::string_view();
    }
    Type inner() const { return Type(model_, is_known_ ? view_.inner : ONNXTXT_NONE); }
    /// As text, such as `float[N,3]`.
    std::string text() const {
        detail::Handle<onnxtxt_buffer, onnxtxt_buffer_free> text(onnxtxt_type_text(model_, id_));
        return std::string(to_view(onnxtxt_buffer_bytes(text.get())));
    }

private:
    const onnxtxt_model* model_;
    std::uint32_t id_;
    bool is_known_;
    onnxtxt_type view_{};
};

/// A value of a run: a tensor, a sequence, a map, an optional.
class Data {
public:
    Data() = default;
    explicit Data(onnxtxt_data* data) : data_(data) {}

    /// A copy of elements, whose type is that of ONNX with the same size and kind.
    template <class T>
    static Result<Data> copy(Span<std::size_t> dims, const T* elements, std::size_t count) {
        onnxtxt_findings* why = nullptr;
        onnxtxt_data* made = onnxtxt_data_copy(type_of<T>(), dims.data(), dims.size(), elements,
                                               count * sizeof(T), &why);
        return of(made, why);
    }
    template <class T>
    static Result<Data> copy(Span<std::size_t> dims, const std::vector<T>& elements) {
        return copy(dims, elements.data(), elements.size());
    }
    /// Over memory of the caller, which must stay as it is until the value, and all that were made of it, are destroyed.
    template <class T>
    static Result<Data> borrow(Span<std::size_t> dims, const T* elements, std::size_t count) {
        onnxtxt_findings* why = nullptr;
        onnxtxt_data* made = onnxtxt_data_borrow(type_of<T>(), dims.data(), dims.size(), elements,
                                                 count * sizeof(T), nullptr, nullptr, &why);
        return of(made, why);
    }
    template <class T>
    static Result<Data> zeros(Span<std::size_t> dims) {
        return zeros(type_of<T>(), dims);
    }
    static Result<Data> zeros(std::int32_t elem_type, Span<std::size_t> dims) {
        onnxtxt_findings* why = nullptr;
        onnxtxt_data* made = onnxtxt_data_zeros(elem_type, dims.data(), dims.size(), &why);
        return of(made, why);
    }
    static Result<Data> strings(Span<std::size_t> dims, const std::vector<std::string>& texts) {
        std::vector<onnxtxt_str> all;
        for (const std::string& text : texts) all.push_back(to_c(text));
        onnxtxt_findings* why = nullptr;
        onnxtxt_data* made = onnxtxt_data_strings(dims.data(), dims.size(), all.data(), all.size(), &why);
        return of(made, why);
    }
    static Data sequence(const std::vector<Data>& values) {
        std::vector<const onnxtxt_data*> all;
        for (const Data& value : values) all.push_back(value.get());
        return Data(onnxtxt_data_sequence(all.data(), all.size()));
    }

    /// Memory of the caller for a result of this shape, for `Session::run_in_memory`. `dims` and `elements` must stay until the run ends.
    template <class T>
    static onnxtxt_memory memory(Span<std::size_t> dims, T* elements, std::size_t count) {
        return onnxtxt_memory{type_of<T>(), dims.size(), dims.data(), elements, count * sizeof(T)};
    }

    explicit operator bool() const { return data_ != nullptr; }
    onnxtxt_data* get() const { return data_.get(); }
    onnxtxt_data* release() { return data_.release(); }
    onnxtxt_data_kind kind() const { return onnxtxt_data_get_kind(data_.get()); }
    Data clone() const { return Data(onnxtxt_data_clone(data_.get())); }
    std::int32_t elem_type() const { return view().elem_type; }
    Span<std::size_t> dims() const {
        onnxtxt_data_view seen = view();
        return Span<std::size_t>(seen.dims, seen.rank);
    }
    /// The number of elements of a tensor.
    std::size_t size() const { return view().count; }
    /// The elements of a tensor; throws `std::invalid_argument` if they have another type.
    template <class T>
    Span<T> elements() const {
        onnxtxt_data_view seen = view();
        if (seen.elem_type != type_of<T>()) {
            throw std::invalid_argument("the elements have type " +
                                        std::string(to_view(onnxtxt_elem_type_name(seen.elem_type))));
        }
        return Span<T>(static_cast<const T*>(seen.bytes), seen.count);
    }
    /// The elements for writing; memory that is shared is copied first.
    template <class T>
    T* mutable_elements() {
        (void)elements<T>();
        return static_cast<T*>(onnxtxt_data_bytes(data_.get()));
    }
    std::string_view string(std::size_t at) const { return to_view(onnxtxt_data_string(data_.get(), at)); }
    /// The values in a sequence, map (keys and values) or optional.
    std::vector<Data> items() const {
        std::vector<Data> all;
        for (std::size_t i = 0; i < onnxtxt_data_count(data_.get()); ++i) {
            all.emplace_back(onnxtxt_data_item(data_.get(), i));
        }
        return all;
    }

    /// The number of `TensorProto.DataType` for a type of C++.
    template <class T>
    static constexpr std::int32_t type_of() {
        if constexpr (std::is_same_v<T, float>) return 1;
        else if constexpr (std::is_same_v<T, double>) return 11;
        else if constexpr (std::is_same_v<T, bool>) return 9;
        else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            return sizeof(T) == 1 ? 3 : sizeof(T) == 2 ? 5 : sizeof(T) == 4 ? 6 : 7;
        } else {
            static_assert(std::is_integral_v<T>, "ONNX has no tensors of this type");
            return sizeof(T) == 1 ? 2 : sizeof(T) == 2 ? 4 : sizeof(T) == 4 ? 12 : 13;
        }
    }

private:
    static Result<Data> of(onnxtxt_data* made, onnxtxt_findings* why) {
        Findings found(why);
        if (made == nullptr) return found;
        return Data(made);
    }
    onnxtxt_data_view view() const {
        onnxtxt_data_view seen{};
        onnxtxt_data_get(data_.get(), &seen);
        return seen;
    }
    detail::Handle<onnxtxt_data, onnxtxt_data_free> data_;
};

/// A tensor that a model stores.
class StoredTensor {
public:
    StoredTensor(const onnxtxt_model* model, onnxtxt_tensor id) : model_(model), id_(id) {
        is_known_ = onnxtxt_tensor_get(model, id, &view_);
    }
    explicit operator bool() const { return is_known_; }
    std::string_view name() const { return to_view(view_.name); }
    std::int32_t elem_type() const { return view_.elem_type; }
    Span<std::int64_t> dims() const { return Span<std::int64_t>(view_.dims, view_.rank); }
    bool is_external() const { return view_.is_external; }
    /// The elements, in the memory of the model where that is possible.
    Result<Data> data() const {
        onnxtxt_findings* why = nullptr;
        onnxtxt_data* data = onnxtxt_tensor_data(model_, id_, &why);
        Findings found(why);
        if (data == nullptr) return found;
        return Data(data);
    }

private:
    const onnxtxt_model* model_;
    onnxtxt_tensor id_;
    bool is_known_;
    onnxtxt_tensor_view view_{};
};

/// A value of a model.
class Value {
public:
    Value(const onnxtxt_model* model, onnxtxt_value id) : model_(model), id_(id) {
        is_known_ = onnxtxt_value_get(model, id, &view_);
    }
    /// Whether there is one: an operand may be left out.
    explicit operator bool() const { return is_known_; }
    std::string_view name() const { return to_view(view_.name); }
    onnxtxt_definition definition() const { return is_known_ ? view_.definition : ONNXTXT_DEFINITION_NOTHING; }
    bool is_input() const { return is_known_ && view_.definition == ONNXTXT_DEFINITION_INPUT; }
    /// The node that computes it, if one does.
    std::optional<Node> producer() const;
    std::uint32_t producer_output() const { return view_.output; }
    /// The declared type; `Model::infer` declares types of all values.
    Type type() const { return Type(model_, is_known_ ? view_.ty : ONNXTXT_NONE); }
    /// The tensor of an initializer.
    StoredTensor initializer() const { return StoredTensor(model_, is_known_ ? view_.tensor : onnxtxt_tensor{ONNXTXT_NONE, ONNXTXT_NONE}); }
    onnxtxt_value id() const { return id_; }
    bool operator==(const Value& other) const { return id_.body == other.id_.body && id_.index == other.id_.index; }
    bool operator!=(const Value& other) const { return !(*this == other); }

private:
    const onnxtxt_model* model_;
    onnxtxt_value id_;
    bool is_known_;
    onnxtxt_value_view view_{};
};

/// An attribute of a node.
class Attribute {
public:
    Attribute(const onnxtxt_model* model, onnxtxt_node node, std::size_t at) : model_(model), node_(node), at_(at) {
        is_known_ = onnxtxt_node_attribute(model, node, at, &view_);
    }
    explicit operator bool() const { return is_known_; }
    std::string_view name() const { return to_view(view_.name); }
    /// A number of `AttributeProto.AttributeType`.
    std::int32_t kind() const { return view_.kind; }
    /// The parameter of the function that provides the value.
    std::string_view reference() const { return to_view(view_.reference); }
    std::size_t size() const { return view_.count; }
    float as_float() const { return view_.float_value; }
    std::int64_t as_int() const { return view_.int_value; }
    Span<float> floats() const { return Span<float>(view_.floats, view_.floats == nullptr ? 0 : view_.count); }
    Span<std::int64_t> ints() const { return Span<std::int64_t>(view_.ints, view_.ints == nullptr ? 0 : view_.count); }
    std::string_view string(std::size_t at = 0) const { return to_view(item(at).string_value); }
    StoredTensor tensor(std::size_t at = 0) const { return StoredTensor(model_, item(at).tensor); }
    Graph graph(std::size_t at = 0) const;
    Type type(std::size_t at = 0) const { return Type(model_, item(at).ty); }
    Place place() const {
        return Place{ONNXTXT_PLACE_KIND_ATTRIBUTE, node_.body, node_.index, static_cast<std::uint32_t>(at_)};
    }

private:
    onnxtxt_attribute_item item(std::size_t at) const {
        onnxtxt_attribute_item item{};
        item.tensor = item.sparse_values = item.sparse_indices = onnxtxt_tensor{ONNXTXT_NONE, ONNXTXT_NONE};
        item.graph = onnxtxt_graph{ONNXTXT_NONE, ONNXTXT_NONE};
        item.ty = ONNXTXT_NONE;
        onnxtxt_attribute_get_item(model_, node_, at_, at, &item);
        return item;
    }
    const onnxtxt_model* model_;
    onnxtxt_node node_;
    std::size_t at_;
    bool is_known_;
    onnxtxt_attribute view_{};
};

/// A node of a graph.
class Node {
public:
    Node(const onnxtxt_model* model, onnxtxt_node id) : model_(model), id_(id) { onnxtxt_node_get(model, id, &view_); }
    std::string_view op() const { return to_view(view_.op); }
    /// The domain of the operator; that of ONNX is empty.
    std::string_view domain() const { return to_view(view_.domain); }
    std::string_view name() const { return to_view(view_.name); }
    std::string_view overload() const { return to_view(view_.overload); }
    bool is(std::string_view op, std::string_view domain = "") const { return this->op() == op && this->domain() == domain; }
    Value input(std::size_t at) const { return Value(model_, onnxtxt_node_input(model_, id_, at)); }
    Value output(std::size_t at) const { return Value(model_, onnxtxt_node_output(model_, id_, at)); }
    detail::List<Value> inputs() const {
        return {[](const void* model, std::uint32_t body, std::uint32_t index, std::size_t at) {
                    auto of = static_cast<const onnxtxt_model*>(model);
                    return Value(of, onnxtxt_node_input(of, onnxtxt_node{body, index}, at));
                },
                model_, id_.body, id_.index, view_.inputs};
    }
    detail::List<Value> outputs() const {
        return {[](const void* model, std::uint32_t body, std::uint32_t index, std::size_t at) {
                    auto of = static_cast<const onnxtxt_model*>(model);
                    return Value(of, onnxtxt_node_output(of, onnxtxt_node{body, index}, at));
                },
                model_, id_.body, id_.index, view_.outputs};
    }
    detail::List<Attribute> attributes() const {
        return {[](const void* model, std::uint32_t body, std::uint32_t index, std::size_t at) {
                    return Attribute(static_cast<const onnxtxt_model*>(model), onnxtxt_node{body, index}, at);
                },
                model_, id_.body, id_.index, view_.attributes};
    }
    /// The attribute of a name; false in a condition if the node has none.
    Attribute attribute(std::string_view name) const {
        return Attribute(model_, id_, onnxtxt_node_find_attribute(model_, id_, to_c(name)));
    }
    std::int64_t int_or(std::string_view name, std::int64_t otherwise) const {
        Attribute found = attribute(name);
        return found && found.kind() == 2 ? found.as_int() : otherwise;
    }
    float float_or(std::string_view name, float otherwise) const {
        Attribute found = attribute(name);
        return found && found.kind() == 1 ? found.as_float() : otherwise;
    }
    Place place() const { return Place{ONNXTXT_PLACE_KIND_NODE, id_.body, id_.index, 0}; }
    Place place_of_operator() const { return Place{ONNXTXT_PLACE_KIND_OPERATOR, id_.body, id_.index, 0}; }
    Place place_of_input(std::size_t at) const {
        return Place{ONNXTXT_PLACE_KIND_INPUT, id_.body, id_.index, static_cast<std::uint32_t>(at)};
    }
    Place place_of_output(std::size_t at) const {
        return Place{ONNXTXT_PLACE_KIND_OUTPUT, id_.body, id_.index, static_cast<std::uint32_t>(at)};
    }
    onnxtxt_node id() const { return id_; }

private:
    const onnxtxt_model* model_;
    onnxtxt_node id_;
    onnxtxt_node_view view_{};
};

/// A declaration of a graph.
struct Port {
    std::string_view name;
    Value value;
    Type type;
    Place place;
};

/// A graph.
class Graph {
public:
    Graph(const onnxtxt_model* model, onnxtxt_graph id) : model_(model), id_(id) {
        is_known_ = onnxtxt_graph_get(model, id, &view_);
    }
    explicit operator bool() const { return is_known_; }
    std::string_view name() const { return to_view(view_.name); }
    detail::List<Node> nodes() const {
        return {[](const void* model, std::uint32_t body, std::uint32_t index, std::size_t at) {
                    auto of = static_cast<const onnxtxt_model*>(model);
                    return Node(of, onnxtxt_graph_node(of, onnxtxt_graph{body, index}, at));
                },
                model_, id_.body, id_.index, view_.nodes};
    }
    detail::List<Value> initializers() const {
        return {[](const void* model, std::uint32_t body, std::uint32_t index, std::size_t at) {
                    auto of = static_cast<const onnxtxt_model*>(model);
                    return Value(of, onnxtxt_graph_initializer(of, onnxtxt_graph{body, index}, at));
                },
                model_, id_.body, id_.index, view_.initializers};
    }
    std::vector<Port> inputs() const { return ports(ONNXTXT_PORTS_INPUTS, ONNXTXT_PLACE_KIND_GRAPH_INPUT, view_.inputs); }
    std::vector<Port> outputs() const { return ports(ONNXTXT_PORTS_OUTPUTS, ONNXTXT_PLACE_KIND_GRAPH_OUTPUT, view_.outputs); }
    /// The version of an operator set that the graph may use; 0 for none.
    std::int64_t opset(std::string_view domain = "") const { return onnxtxt_opset_version(model_, id_, to_c(domain)); }
    Place place() const { return Place{ONNXTXT_PLACE_KIND_GRAPH, id_.body, id_.index, 0}; }
    onnxtxt_graph id() const { return id_; }

private:
    std::vector<Port> ports(onnxtxt_ports list, onnxtxt_place_kind kind, std::size_t count) const {
        std::vector<Port> all;
        for (std::size_t at = 0; at < count; ++at) {
            onnxtxt_port port;
            if (onnxtxt_graph_port(model_, id_, list, at, &port)) {
                all.push_back(Port{to_view(port.name), Value(model_, port.value), Type(model_, port.ty),
                                   Place{static_cast<std::uint32_t>(kind), id_.body, id_.index, static_cast<std::uint32_t>(at)}});
            }
        }
        return all;
    }
    const onnxtxt_model* model_;
    onnxtxt_graph id_;
    bool is_known_;
    onnxtxt_graph_view view_{};
};

inline Graph Attribute::graph(std::size_t at) const { return Graph(model_, item(at).graph); }
inline std::optional<Node> Value::producer() const {
    if (!is_known_ || view_.definition != ONNXTXT_DEFINITION_OUTPUT) return std::nullopt;
    return Node(model_, view_.node);
}

/// A function of a model.
struct Function {
    std::string_view name, domain, overload;
    Graph graph;
};

/// A model, or a part of one by itself.
class Model {
public:
    /// There is always a model: what could be read; `check` has the findings.
    static Model parse(std::string_view text, std::string_view name = "") {
        return of(onnxtxt_parse(to_c(text), to_c(name)));
    }
    static Model parse_part(onnxtxt_kind kind, std::string_view text, std::string_view name = "") {
        return of(onnxtxt_parse_part(kind, to_c(text), to_c(name)));
    }
    static Model decode(std::string_view bytes, onnxtxt_kind kind = ONNXTXT_KIND_MODEL, std::string_view name = "") {
        return of(onnxtxt_decode(kind, to_c(bytes), to_c(name)));
    }
    static Result<Model> open(std::string_view path) {
        onnxtxt_findings* why = nullptr;
        onnxtxt_model* model = onnxtxt_open(to_c(path), &why);
        Findings found(why);
        if (model == nullptr) return found;
        return Model(model);
    }
    Model clone() const { return of(onnxtxt_model_clone(model_.get())); }
    bool is_partial() const { return onnxtxt_model_is_partial(model_.get()); }
    Findings check(onnxtxt_check_level level = ONNXTXT_CHECK_LEVEL_TYPES) const {
        return Findings(onnxtxt_check(model_.get(), level));
    }
    Findings infer() { return Findings(onnxtxt_infer(model_.get())); }
    Done run_pass(std::string_view pass) {
        onnxtxt_findings* why = nullptr;
        const onnxtxt_status status = onnxtxt_run_pass(model_.get(), to_c(pass), &why);
        return done(status, why);
    }
    Done convert_opset(std::int64_t version, std::string_view domain = "") {
        onnxtxt_findings* why = nullptr;
        const onnxtxt_status status = onnxtxt_convert_opset(model_.get(), to_c(domain), version, &why);
        return done(status, why);
    }
    Done load_weights() {
        onnxtxt_findings* why = nullptr;
        const onnxtxt_status status = onnxtxt_load_weights(model_.get(), &why);
        return done(status, why);
    }
    Result<std::string> encode(onnxtxt_encoding encoding = ONNXTXT_ENCODING_BINARY) const {
        onnxtxt_findings* why = nullptr;
        detail::Handle<onnxtxt_buffer, onnxtxt_buffer_free> bytes(onnxtxt_encode(model_.get(), encoding, &why));
        Findings found(why);
        if (!bytes) return found;
        return std::string(to_view(onnxtxt_buffer_bytes(bytes.get())));
    }
    Result<std::string> text() const { return encode(ONNXTXT_ENCODING_TEXT); }
    Done save(std::string_view path) {
        onnxtxt_findings* why = nullptr;
        const onnxtxt_status status = onnxtxt_save(model_.get(), to_c(path), &why);
        return done(status, why);
    }
    Graph main_graph() const { return Graph(model_.get(), onnxtxt_main_graph(model_.get())); }
    onnxtxt_header header() const {
        onnxtxt_header header{};
        onnxtxt_header_get(model_.get(), &header);
        return header;
    }
    std::vector<Function> functions() const {
        std::vector<Function> all;
        onnxtxt_function_view view;
        for (std::size_t at = 0; onnxtxt_function(model_.get(), at, &view); ++at) {
            all.push_back(Function{to_view(view.name), to_view(view.domain), to_view(view.overload), Graph(model_.get(), view.graph)});
        }
        return all;
    }
    /// Where a part is in the text that the model was parsed from.
    std::optional<TextSpan> span(Place place) const {
        TextSpan span;
        return onnxtxt_place(model_.get(), place, &span) ? std::optional<TextSpan>(span) : std::nullopt;
    }
    onnxtxt_model* get() const { return model_.get(); }

private:
    explicit Model(onnxtxt_model* model) : model_(model) {}
    static Model of(onnxtxt_model* model) {
        if (model == nullptr) throw std::bad_alloc();
        return Model(model);
    }
    static Done done(onnxtxt_status status, onnxtxt_findings* why) {
        Findings found(why);
        if (status != ONNXTXT_STATUS_OK) return found;
        return std::monostate();
    }
    friend class Session;
    detail::Handle<onnxtxt_model, onnxtxt_model_free> model_;
};

/// A finding of the caller, shown as ours are.
class Draft {
public:
    Draft(const Model& model, bool is_error, std::string_view code, std::string_view message, Place place, std::string_view label = "")
        : model_(&model),
          draft_(onnxtxt_draft_new(model.get(), is_error, to_c(code), to_c(message), place, to_c(label))) {}
    Draft& label(Place place, std::string_view text) {
        onnxtxt_draft_label(draft_.get(), model_->get(), place, to_c(text));
        return *this;
    }
    Draft& help(std::string_view text) {
        onnxtxt_draft_help(draft_.get(), to_c(text));
        return *this;
    }
    void add_to(Findings& findings) { onnxtxt_draft_add(draft_.release(), model_->get(), findings.made()); }

private:
    const Model* model_;
    detail::Handle<onnxtxt_draft, onnxtxt_draft_free> draft_;
};

/// A call of an operator of the caller.
class Call {
public:
    explicit Call(onnxtxt_call* call) : call_(call) {}
    std::size_t inputs() const { return onnxtxt_call_inputs(call_); }
    std::size_t outputs() const { return onnxtxt_call_outputs(call_); }
    /// Another handle of an input; empty if it is left out.
    Data input(std::size_t at) const { return Data(onnxtxt_data_clone(onnxtxt_call_input(call_, at))); }
    void set_output(std::size_t at, Data data) { onnxtxt_call_set_output(call_, at, data.release()); }
    void fail(std::string_view message) { onnxtxt_call_fail(call_, to_c(message)); }

private:
    onnxtxt_call* call_;
};

/// A node of an operator of the caller while it is prepared.
class Prepared {
public:
    explicit Prepared(onnxtxt_prepared* node) : node_(node) {}
    std::int64_t int_or(std::string_view name, std::int64_t otherwise) const { return onnxtxt_prepared_int(node_, to_c(name), otherwise); }
    float float_or(std::string_view name, float otherwise) const { return onnxtxt_prepared_float(node_, to_c(name), otherwise); }
    std::string_view string(std::string_view name) const { return to_view(onnxtxt_prepared_string(node_, to_c(name))); }
    Span<std::int64_t> ints(std::string_view name) const {
        const std::int64_t* values = nullptr;
        std::size_t count = onnxtxt_prepared_ints(node_, to_c(name), &values);
        return Span<std::int64_t>(values, count);
    }
    Span<float> floats(std::string_view name) const {
        const float* values = nullptr;
        std::size_t count = onnxtxt_prepared_floats(node_, to_c(name), &values);
        return Span<float>(values, count);
    }
    Data tensor(std::string_view name) const { return Data(onnxtxt_prepared_tensor(node_, to_c(name))); }

private:
    onnxtxt_prepared* node_;
};

/// Operators of the caller.
class Operators {
public:
    Operators() : operators_(onnxtxt_operators_new()) {}
    using Run = std::function<void(Call&)>;
    /// `prepare` reads the attributes of a node, and returns the function that computes it. Several threads may call that at once. An exception
    /// of either becomes a finding about the node.
    void add(std::string_view domain, std::string_view name, std::function<Run(const Prepared&)> prepare) {
        using Prepare = std::function<Run(const Prepared&)>;
        onnxtxt_operator_functions functions{};
        functions.user = new Prepare(std::move(prepare));
        functions.free_user = [](void* user) { delete static_cast<Prepare*>(user); };
        functions.prepare = [](void* user, onnxtxt_prepared* node) -> void* {
            try {
                return new Run((*static_cast<Prepare*>(user))(Prepared(node)));
            } catch (const std::exception& why) {
                onnxtxt_prepared_fail(node, to_c(why.what()));
            } catch (...) {
                onnxtxt_prepared_fail(node, to_c("an exception"));
            }
            return nullptr;
        };
        functions.free_state = [](void*, void* state) { delete static_cast<Run*>(state); };
        functions.run = [](void*, void* state, onnxtxt_call* raw) {
            Call call(raw);
            try {
                (*static_cast<Run*>(state))(call);
            } catch (const std::exception& why) {
                call.fail(why.what());
            } catch (...) {
                call.fail("an exception");
            }
        };
        onnxtxt_operators_add(operators_.get(), to_c(domain), to_c(name), functions);
    }
    const onnxtxt_operators* get() const { return operators_.get(); }

private:
    detail::Handle<onnxtxt_operators, onnxtxt_operators_free> operators_;
};

/// A flag that ends runs, from any thread.
class Cancel {
public:
    Cancel() : cancel_(onnxtxt_cancel_new()) {}
    void set(bool is_set = true) const { onnxtxt_cancel_set(cancel_.get(), is_set); }
    const onnxtxt_cancel* get() const { return cancel_.get(); }

private:
    detail::Handle<onnxtxt_cancel, onnxtxt_cancel_free> cancel_;
};

/// An input or output of a session.
struct Interface {
    std::string_view name, type_text;
    std::int32_t elem_type;
    bool has_shape;
    Span<std::int64_t> dims;
    bool has_default;
};

/// A model that is ready to be run, by any number of threads at once.
class Session {
public:
    static Result<Session> compile(const Model& model, const Operators* operators = nullptr, bool exact = false, bool unchecked = false) {
        onnxtxt_session_options options{};
        options.operators = operators == nullptr ? nullptr : operators->get();
        options.exact = exact;
        options.unchecked = unchecked;
        return compile(model, options);
    }
    /// With all options. `warnings` receives what does not prevent it, such as a cache that cannot be used.
    static Result<Session> compile(const Model& model, const onnxtxt_session_options& options, Findings* warnings = nullptr) {
        onnxtxt_findings* why = nullptr;
        onnxtxt_session* session = onnxtxt_compile(model.get(), &options, &why);
        Findings found(why);
        if (session == nullptr) return found;
        if (warnings != nullptr) *warnings = std::move(found);
        return Session(session);
    }
    std::vector<Interface> inputs() const { return interfaces(false, onnxtxt_session_inputs(session_.get())); }
    std::vector<Interface> outputs() const { return interfaces(true, onnxtxt_session_outputs(session_.get())); }

    using Feeds = std::vector<std::pair<std::string_view, const Data*>>;
    /// Computes the outputs, in order. `into` may have tensors that receive them.
    Result<std::vector<Data>> run(const Feeds& feeds, const onnxtxt_call_options* options = nullptr, std::vector<Data> into = {}) const {
        std::vector<onnxtxt_feed> inputs;
        for (const auto& [name, data] : feeds) inputs.push_back(onnxtxt_feed{to_c(name), data->get()});
        std::vector<onnxtxt_data*> raw(onnxtxt_session_outputs(session_.get()), nullptr);
        for (std::size_t i = 0; i < raw.size() && i < into.size(); ++i) raw[i] = into[i].release();
        onnxtxt_findings* why = nullptr;
        onnxtxt_status status = onnxtxt_run(session_.get(), inputs.data(), inputs.size(), raw.data(), options, &why);
        Findings found(why);
        if (status != ONNXTXT_STATUS_OK) return found;
        std::vector<Data> results;
        for (onnxtxt_data* data : raw) results.emplace_back(data);
        return results;
    }
    /// Computes the outputs in memory of the caller: an entry for each output, made by `Data::memory`.
    Done run_in_memory(const Feeds& feeds, const std::vector<onnxtxt_memory>& results, const onnxtxt_call_options* options = nullptr) const {
        std::vector<onnxtxt_feed> inputs;
        for (const auto& [name, data] : feeds) inputs.push_back(onnxtxt_feed{to_c(name), data->get()});
        if (results.size() != onnxtxt_session_outputs(session_.get())) throw std::invalid_argument("expected memory for each output");
        onnxtxt_findings* why = nullptr;
        onnxtxt_status status =
            onnxtxt_run_in_memory(session_.get(), inputs.data(), inputs.size(), results.data(), nullptr, options, &why);
        Findings found(why);
        if (status == ONNXTXT_STATUS_ARGUMENT) throw std::invalid_argument("expected memory for each output");
        if (status != ONNXTXT_STATUS_OK) return found;
        return std::monostate();
    }
    onnxtxt_session* get() const { return session_.get(); }

private:
    explicit Session(onnxtxt_session* session) : session_(session) {}
    std::vector<Interface> interfaces(bool is_output, std::size_t count) const {
        std::vector<Interface> all;
        for (std::size_t at = 0; at < count; ++at) {
            onnxtxt_interface view;
            if (onnxtxt_session_get(session_.get(), is_output, at, &view)) {
                all.push_back(Interface{to_view(view.name), to_view(view.type_text), view.elem_type, view.has_shape,
                                        Span<std::int64_t>(view.dims, view.rank), view.has_default});
            }
        }
        return all;
    }
    detail::Handle<onnxtxt_session, onnxtxt_session_free> session_;
};

inline std::ostream& operator<<(std::ostream& out, const Findings& findings) { return out << findings.rendered(); }

}  // namespace onnxtxt

#endif
