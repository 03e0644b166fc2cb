/*
 * onnxtxt for C: ONNX models as text and as protobuf, parsed, checked, walked, changed and run.
 *
 * Rules that hold for every function:
 * - A handle (`onnxtxt_model *`) that a function returns belongs to the caller, who frees it with the function `..._free` of its type, which does
 *   nothing for a null pointer. Other pointers, and what views point to, belong to the handle that they came from, and are valid until it is
 *   changed or freed.
 * - Functions that take a handle as `const` may be called by several threads at once. One that takes it without `const` changes it, and no other
 *   thread may use it meanwhile.
 * - Nothing unwinds into the caller: an internal error is a finding, or the result that stands for "nothing".
 * - Strings are UTF-8 with a length, not terminated; a null pointer with length 0 is the empty string.
 * - A null pointer where a handle is expected, and a number out of range, give "nothing" or ONNXTXT_STATUS_ARGUMENT.
 * - `out` and `why` are written to, if they are not null pointers: `why` receives a list of findings of the caller, or a null pointer.
 */

#ifndef ONNXTXT_H
#define ONNXTXT_H

/* Generated from capi/src by `cargo xtask capi --header`: do not edit. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * The version of the binary interface that the header describes.
 */
#define ONNXTXT_ABI_VERSION 2

/**
 * The index that stands for "none".
 */
#define ONNXTXT_NONE UINT32_MAX

/**
 * How a call ended.
 */
typedef enum onnxtxt_status {
  /**
   * It did what it says.
   */
  ONNXTXT_STATUS_OK = 0,
  /**
   * It did not, and the findings say why.
   */
  ONNXTXT_STATUS_REFUSED = 1,
  /**
   * An argument is a null pointer or out of range.
   */
  ONNXTXT_STATUS_ARGUMENT = 2,
  /**
   * A mistake of the library: please report it. The findings have the message.
   */
  ONNXTXT_STATUS_INTERNAL = 3,
} onnxtxt_status;

/**
 * The kind of a value.
 */
typedef enum onnxtxt_data_kind {
  /**
   * A tensor.
   */
  ONNXTXT_DATA_KIND_TENSOR = 0,
  /**
   * A sequence of values.
   */
  ONNXTXT_DATA_KIND_SEQUENCE = 1,
  /**
   * A map: a sequence of two values, a tensor of keys and the sequence of their values.
   */
  ONNXTXT_DATA_KIND_MAP = 2,
  /**
   * An optional: a sequence of no or one value.
   */
  ONNXTXT_DATA_KIND_OPTIONAL = 3,
} onnxtxt_data_kind;

/**
 * The kind of a type.
 */
typedef enum onnxtxt_category {
  /**
   * Not set.
   */
  ONNXTXT_CATEGORY_UNSET = 0,
  /**
   * A tensor: it has an element type and a shape.
   */
  ONNXTXT_CATEGORY_TENSOR = 1,
  /**
   * A sparse tensor: it has an element type and a shape.
   */
  ONNXTXT_CATEGORY_SPARSE_TENSOR = 2,
  /**
   * A sequence of `inner`.
   */
  ONNXTXT_CATEGORY_SEQUENCE = 3,
  /**
   * An optional `inner`.
   */
  ONNXTXT_CATEGORY_OPTIONAL = 4,
  /**
   * A map from `elem_type` to `inner`.
   */
  ONNXTXT_CATEGORY_MAP = 5,
  /**
   * A type of another domain.
   */
  ONNXTXT_CATEGORY_OPAQUE = 6,
} onnxtxt_category;

/**
 * The kind of the definition of a value.
 */
typedef enum onnxtxt_definition {
  /**
   * An input of `graph`, which may have an initializer too.
   */
  ONNXTXT_DEFINITION_INPUT = 0,
  /**
   * An initializer of `graph`.
   */
  ONNXTXT_DEFINITION_INITIALIZER = 1,
  /**
   * Output `output` of `node`.
   */
  ONNXTXT_DEFINITION_OUTPUT = 2,
  /**
   * Nothing: the model is wrong, and the name is used in `graph`.
   */
  ONNXTXT_DEFINITION_NOTHING = 3,
} onnxtxt_definition;

/**
 * How much is checked: each level has the findings of those before it.
 */
typedef enum onnxtxt_check_level {
  /**
   * Whether the input can be read at all.
   */
  ONNXTXT_CHECK_LEVEL_SYNTAX = 0,
  /**
   * The rules of the specification that need no types.
   */
  ONNXTXT_CHECK_LEVEL_SPEC = 1,
  /**
   * Signatures of operators, types and shapes.
   */
  ONNXTXT_CHECK_LEVEL_TYPES = 2,
  /**
   * Style and recommendations.
   */
  ONNXTXT_CHECK_LEVEL_STRICT = 3,
} onnxtxt_check_level;

/**
 * How a model is written.
 */
typedef enum onnxtxt_encoding {
  /**
   * The textual syntax.
   */
  ONNXTXT_ENCODING_TEXT = 0,
  /**
   * The wire format of protobuf.
   */
  ONNXTXT_ENCODING_BINARY = 1,
  /**
   * The JSON form of protobuf.
   */
  ONNXTXT_ENCODING_JSON = 2,
  /**
   * The text format of protobuf.
   */
  ONNXTXT_ENCODING_TEXTPROTO = 3,
} onnxtxt_encoding;

/**
 * The kind of a text or message.
 */
typedef enum onnxtxt_kind {
  /**
   * A model, a `ModelProto`.
   */
  ONNXTXT_KIND_MODEL = 0,
  /**
   * A graph: `g (float[N] x) => (float[N] y) { y = Relu(x) }`.
   */
  ONNXTXT_KIND_GRAPH = 1,
  /**
   * A function: `<domain: "local", opset_import: ["": 21]> f (x) => (y) { y = Relu(x) }`.
   */
  ONNXTXT_KIND_FUNCTION = 2,
  /**
   * A node: `y = LeakyRelu <alpha = 0.1> (x)`.
   */
  ONNXTXT_KIND_NODE = 3,
  /**
   * A type: `seq(float[N,3])`.
   */
  ONNXTXT_KIND_TYPE = 4,
  /**
   * The declaration of a value: `float[N,3] image`.
   */
  ONNXTXT_KIND_VALUE = 5,
  /**
   * An attribute: `axes = [0, -1]`.
   */
  ONNXTXT_KIND_ATTRIBUTE = 6,
} onnxtxt_kind;

/**
 * The kind of a place.
 */
typedef enum onnxtxt_place_kind {
  /**
   * The model as a whole.
   */
  ONNXTXT_PLACE_KIND_NOWHERE = 0,
  /**
   * The bytes from `body` to `index` of the text.
   */
  ONNXTXT_PLACE_KIND_BYTES = 1,
  /**
   * The graph with this body and index.
   */
  ONNXTXT_PLACE_KIND_GRAPH = 2,
  /**
   * Its input at `position`.
   */
  ONNXTXT_PLACE_KIND_GRAPH_INPUT = 3,
  /**
   * Its output at `position`.
   */
  ONNXTXT_PLACE_KIND_GRAPH_OUTPUT = 4,
  /**
   * Its `value_info` entry at `position`.
   */
  ONNXTXT_PLACE_KIND_VALUE_INFO = 5,
  /**
   * Its initializer at `position`.
   */
  ONNXTXT_PLACE_KIND_INITIALIZER = 6,
  /**
   * The node with this body and index.
   */
  ONNXTXT_PLACE_KIND_NODE = 7,
  /**
   * The name of its operator.
   */
  ONNXTXT_PLACE_KIND_OPERATOR = 8,
  /**
   * Its input at `position`.
   */
  ONNXTXT_PLACE_KIND_INPUT = 9,
  /**
   * Its output at `position`.
   */
  ONNXTXT_PLACE_KIND_OUTPUT = 10,
  /**
   * Its attribute at `position`.
   */
  ONNXTXT_PLACE_KIND_ATTRIBUTE = 11,
  /**
   * The function with this index.
   */
  ONNXTXT_PLACE_KIND_FUNCTION = 12,
  /**
   * The import at `position` of the model.
   */
  ONNXTXT_PLACE_KIND_OPSET_IMPORT = 13,
} onnxtxt_place_kind;

/**
 * A list of declarations of a graph.
 */
typedef enum onnxtxt_ports {
  /**
   * Its inputs.
   */
  ONNXTXT_PORTS_INPUTS = 0,
  /**
   * Its outputs.
   */
  ONNXTXT_PORTS_OUTPUTS = 1,
  /**
   * Its `value_info`.
   */
  ONNXTXT_PORTS_VALUE_INFOS = 2,
} onnxtxt_ports;

/**
 * Bytes that the caller owns.
 */
typedef struct onnxtxt_buffer onnxtxt_buffer;

/**
 * A call of an operator: its inputs and outputs.
 */
typedef struct onnxtxt_call onnxtxt_call;

/**
 * A flag that ends runs.
 */
typedef struct onnxtxt_cancel onnxtxt_cancel;

/**
 * A value of a run. Elements of numbers are one after the other, the last dimension first, in the byte order of the machine; those of less than
 * 8 bits have a byte each.
 */
typedef struct onnxtxt_data onnxtxt_data;

/**
 * A finding of the caller that is being made. It is about one model.
 */
typedef struct onnxtxt_draft onnxtxt_draft;

/**
 * A list of findings: errors, and warnings about what is legal and probably unintended.
 */
typedef struct onnxtxt_findings onnxtxt_findings;

/**
 * A model, or a part of one by itself, right or wrong, with the text or file that it is from.
 */
typedef struct onnxtxt_model onnxtxt_model;

/**
 * A list of operators of the caller, for [`onnxtxt_compile`](crate::session::onnxtxt_compile).
 */
typedef struct onnxtxt_operators onnxtxt_operators;

/**
 * A node of an operator while it is prepared: its attributes.
 */
typedef struct onnxtxt_prepared onnxtxt_prepared;

/**
 * A model that is ready to be run, by any number of threads at once. All sessions share the threads of the process.
 */
typedef struct onnxtxt_session onnxtxt_session;

/**
 * A string that belongs to another object: UTF-8 if the model is valid, not terminated.
 */
typedef struct onnxtxt_str {
  /**
   * The first byte; may be null if `len` is 0.
   */
  const char *data;
  /**
   * The number of bytes.
   */
  size_t len;
} onnxtxt_str;

/**
 * A node of a model. Of "none", `index` is `ONNXTXT_NONE`.
 */
typedef struct onnxtxt_node {
  /**
   * The main graph or function in which it is.
   */
  uint32_t body;
  /**
   * Its number there.
   */
  uint32_t index;
} onnxtxt_node;

/**
 * A view of an attribute. `kind` is a number of `AttributeProto.AttributeType`.
 */
typedef struct onnxtxt_attribute {
  /**
   * Its name.
   */
  struct onnxtxt_str name;
  /**
   * Its type: 1 float, 2 int, 3 string, 4 tensor, 5 graph, 6 floats, 7 ints, 8 strings, 9 tensors, 10 graphs, 11 sparse tensor, 12 sparse
   * tensors, 13 type, 14 types; 0 if it is not set.
   */
  int32_t kind;
  /**
   * The attribute parameter of the function that provides the value; empty if it has a value of its own.
   */
  struct onnxtxt_str reference;
  /**
   * Its documentation.
   */
  struct onnxtxt_str doc;
  /**
   * The number of elements of a list; 1 for a single value, 0 without a value.
   */
  size_t count;
  /**
   * The value of a float attribute.
   */
  float float_value;
  /**
   * The value of an int attribute.
   */
  int64_t int_value;
  /**
   * The `count` values of a float or floats attribute.
   */
  const float *floats;
  /**
   * The `count` values of an int or ints attribute.
   */
  const int64_t *ints;
} onnxtxt_attribute;

/**
 * A tensor of a model: an initializer, or the value of an attribute. Of "none", `index` is `ONNXTXT_NONE`.
 */
typedef struct onnxtxt_tensor {
  /**
   * The main graph or function in which it is.
   */
  uint32_t body;
  /**
   * Its number there.
   */
  uint32_t index;
} onnxtxt_tensor;

/**
 * A graph of a model. Of "none", `index` is `ONNXTXT_NONE`.
 */
typedef struct onnxtxt_graph {
  /**
   * The main graph or function in which it is nested.
   */
  uint32_t body;
  /**
   * Its number there.
   */
  uint32_t index;
} onnxtxt_graph;

/**
 * An element of an attribute; what does not fit the type of the attribute is empty or none.
 */
typedef struct onnxtxt_attribute_item {
  /**
   * An element of a string or strings attribute.
   */
  struct onnxtxt_str string_value;
  /**
   * An element of a tensor or tensors attribute.
   */
  struct onnxtxt_tensor tensor;
  /**
   * An element of a graph or graphs attribute.
   */
  struct onnxtxt_graph graph;
  /**
   * An element of a type or types attribute.
   */
  uint32_t ty;
  /**
   * The parts of an element of a sparse tensor attribute: its values (`tensor` is none) and their indices.
   */
  struct onnxtxt_tensor sparse_values;
  /**
   * See `sparse_values`.
   */
  struct onnxtxt_tensor sparse_indices;
} onnxtxt_attribute_item;

/**
 * The functions of an operator. They may be called from any thread, `run` by several at once.
 */
typedef struct onnxtxt_operator_functions {
  /**
   * Called once for each node when a model is compiled; its result is the `state` of the calls of `run`. May be null.
   */
  void *(*prepare)(void *user, struct onnxtxt_prepared *node);
  /**
   * Computes the outputs of a node.
   */
  void (*run)(void *user, void *state, struct onnxtxt_call *call);
  /**
   * Frees a state that `prepare` has returned. May be null.
   */
  void (*free_state)(void *user, void *state);
  /**
   * Frees `user` when the operator is used no more. May be null.
   */
  void (*free_user)(void *user);
  /**
   * The first argument of all of them.
   */
  void *user;
} onnxtxt_operator_functions;

/**
 * A view of a tensor.
 */
typedef struct onnxtxt_data_view {
  /**
   * The element type, a number of `TensorProto.DataType`.
   */
  int32_t elem_type;
  /**
   * The number of dimensions.
   */
  size_t rank;
  /**
   * The sizes.
   */
  const size_t *dims;
  /**
   * The number of elements.
   */
  size_t count;
  /**
   * The elements; null for strings.
   */
  const void *bytes;
  /**
   * The number of bytes.
   */
  size_t size;
} onnxtxt_data_view;

/**
 * A part of a model that has a place in its text.
 */
typedef struct onnxtxt_place_t {
  /**
   * Its kind: an `onnxtxt_place_kind`.
   */
  uint32_t kind;
  /**
   * The body of the graph or node.
   */
  uint32_t body;
  /**
   * The index of the graph or node.
   */
  uint32_t index;
  /**
   * The position in the list that the kind says.
   */
  uint32_t position;
} onnxtxt_place_t;

/**
 * A place in the text of a model: bytes, and lines and columns, which count from 1. Columns count characters.
 */
typedef struct onnxtxt_span {
  /**
   * The first byte.
   */
  uint32_t start;
  /**
   * One past the last byte.
   */
  uint32_t end;
  /**
   * The line of the first byte.
   */
  uint32_t line;
  /**
   * The column of the first byte.
   */
  uint32_t column;
  /**
   * The line of the end.
   */
  uint32_t end_line;
  /**
   * The column of the end.
   */
  uint32_t end_column;
} onnxtxt_span;

/**
 * A view of a finding.
 */
typedef struct onnxtxt_finding {
  /**
   * Whether it is an error; otherwise, it is a warning.
   */
  bool is_error;
  /**
   * Whether it has a place in the text; otherwise, it is about the model as a whole.
   */
  bool has_place;
  /**
   * The place. Of a model that was not read from text, it is in the text that the library prints.
   */
  struct onnxtxt_span place;
  /**
   * The code, such as `E0203`.
   */
  struct onnxtxt_str code;
  /**
   * The name of the code, such as `value-undefined`.
   */
  struct onnxtxt_str name;
  /**
   * One sentence, without a full stop.
   */
  struct onnxtxt_str message;
  /**
   * Advice; may be empty.
   */
  struct onnxtxt_str help;
  /**
   * The name of the text or file.
   */
  struct onnxtxt_str path;
  /**
   * The finding with the lines that it is about, as a terminal shows it, and the same with colors.
   */
  struct onnxtxt_str rendered;
  /**
   * See `rendered`.
   */
  struct onnxtxt_str colored;
  /**
   * The number of labels: places with their roles, the one of the finding first.
   */
  size_t labels;
  /**
   * The number of fixes.
   */
  size_t fixes;
} onnxtxt_finding;

/**
 * A view of a place with its role, such as "defined again".
 */
typedef struct onnxtxt_label {
  /**
   * The role; may be empty.
   */
  struct onnxtxt_str message;
  /**
   * Whether it has a place in the text.
   */
  bool has_place;
  /**
   * The place.
   */
  struct onnxtxt_span place;
} onnxtxt_label;

/**
 * A view of a fix: replacements of bytes of the text, in order and without overlap.
 */
typedef struct onnxtxt_fix {
  /**
   * A description, as an imperative.
   */
  struct onnxtxt_str title;
  /**
   * Whether the meaning is certainly kept.
   */
  bool is_safe;
  /**
   * The number of replacements.
   */
  size_t edits;
} onnxtxt_fix;

/**
 * A view of a replacement.
 */
typedef struct onnxtxt_edit {
  /**
   * The first byte that is replaced.
   */
  uint32_t start;
  /**
   * One past the last one.
   */
  uint32_t end;
  /**
   * The new text.
   */
  struct onnxtxt_str text;
} onnxtxt_edit;

/**
 * Functions that provide the memory of the library. Any thread may call them, several at once; they must not call functions of the library.
 */
typedef struct onnxtxt_allocator {
  /**
   * Returns `size` bytes at a multiple of `alignment`, which is a power of two, or null. Null ends a run with a finding where it needs memory for tensors,
   * and the process elsewhere.
   */
  void *(*allocate)(void *user, size_t size, size_t alignment);
  /**
   * Takes back memory that `allocate` has returned for this size and alignment.
   */
  void (*release)(void *user, void *memory, size_t size, size_t alignment);
  /**
   * The first argument of both.
   */
  void *user;
} onnxtxt_allocator;

/**
 * An input of a run.
 */
typedef struct onnxtxt_feed {
  /**
   * The name of the input.
   */
  struct onnxtxt_str name;
  /**
   * Its value.
   */
  const struct onnxtxt_data *data;
} onnxtxt_feed;

/**
 * Options of [`onnxtxt_run`]; all zero are the defaults.
 */
typedef struct onnxtxt_call_options {
  /**
   * The number of threads; 0 for all cores. Results do not depend on it.
   */
  size_t threads;
  /**
   * The most bytes for tensors and working memory; 0 for no limit.
   */
  size_t max_memory;
  /**
   * The most nodes that are run; an iteration of a loop counts as eight. 0 for twenty million.
   */
  uint64_t fuel;
  /**
   * The seed for random operators without one.
   */
  uint64_t seed;
  /**
   * Ends the run when it is set by another thread, or null.
   */
  const struct onnxtxt_cancel *cancel;
  /**
   * Called with a warning about the run, or null. The finding is valid during the call.
   */
  void (*warn)(void *user, const struct onnxtxt_findings *findings);
  /**
   * The argument of `warn`.
   */
  void *user;
  /**
   * Receives the largest number of bytes that were in use, or null.
   */
  size_t *peak;
} onnxtxt_call_options;

/**
 * Memory of the caller for a result, for [`onnxtxt_run_in_memory`].
 */
typedef struct onnxtxt_memory {
  /**
   * The element type, a number of `TensorProto.DataType`.
   */
  int32_t elem_type;
  /**
   * The number of dimensions.
   */
  size_t rank;
  /**
   * The sizes.
   */
  const size_t *dims;
  /**
   * The memory, aligned for its elements; or null, if the result is to be a value.
   */
  void *bytes;
  /**
   * The number of bytes.
   */
  size_t size;
} onnxtxt_memory;

/**
 * Options of [`onnxtxt_compile`]; all zero are the defaults.
 */
typedef struct onnxtxt_session_options {
  /**
   * Whether a model is compiled although errors make its meaning unclear.
   */
  bool unchecked;
  /**
   * Whether floats of 16 bits are rounded after each node, as the operators define it.
   */
  bool exact;
  /**
   * Operators of the caller, or null.
   */
  const struct onnxtxt_operators *operators;
  /**
   * Whether large packed weights are kept in files, so that later programs start faster and all of a machine share their memory.
   */
  bool cache;
  /**
   * The folder of these files; empty for the one that the program `onnxtxt` uses: `$ONNXTXT_CACHE/weights`, otherwise `onnxtxt/weights` in the
   * user's folder for caches.
   */
  struct onnxtxt_str cache_folder;
} onnxtxt_session_options;

/**
 * A view of an input or output of a session.
 */
typedef struct onnxtxt_interface {
  /**
   * Its name.
   */
  struct onnxtxt_str name;
  /**
   * Its type as text, such as `float[N,3]`.
   */
  struct onnxtxt_str type_text;
  /**
   * The element type of a tensor, a number of `TensorProto.DataType`; 0 for others.
   */
  int32_t elem_type;
  /**
   * Whether the rank is known.
   */
  bool has_shape;
  /**
   * The number of dimensions.
   */
  size_t rank;
  /**
   * The sizes; -1 for symbols and unknown ones.
   */
  const int64_t *dims;
  /**
   * Whether an input may be left out because the model has a default.
   */
  bool has_default;
} onnxtxt_interface;

/**
 * A view of a tensor of a model.
 */
typedef struct onnxtxt_tensor_view {
  /**
   * Its name; may be empty.
   */
  struct onnxtxt_str name;
  /**
   * Its documentation.
   */
  struct onnxtxt_str doc;
  /**
   * The element type, a number of `TensorProto.DataType`.
   */
  int32_t elem_type;
  /**
   * The number of dimensions.
   */
  size_t rank;
  /**
   * The sizes.
   */
  const int64_t *dims;
  /**
   * Whether its elements are in another file; `onnxtxt_load_weights` reads them.
   */
  bool is_external;
} onnxtxt_tensor_view;

/**
 * A view of a type.
 */
typedef struct onnxtxt_type {
  /**
   * Its kind.
   */
  enum onnxtxt_category category;
  /**
   * The element type, a number of `TensorProto.DataType`; 0 if it is not known.
   */
  int32_t elem_type;
  /**
   * Whether the rank is known.
   */
  bool has_shape;
  /**
   * The number of dimensions; 0 for a scalar, and if the rank is not known.
   */
  size_t rank;
  /**
   * The type inside, or `ONNXTXT_NONE`.
   */
  uint32_t inner;
  /**
   * The denotation of the value, such as `IMAGE`; may be empty.
   */
  struct onnxtxt_str denotation;
} onnxtxt_type;

/**
 * A dimension: a number, a symbol, or unknown.
 */
typedef struct onnxtxt_dim {
  /**
   * The size; -1 if it is a symbol or unknown.
   */
  int64_t size;
  /**
   * The symbol; empty if it is a number or unknown.
   */
  struct onnxtxt_str symbol;
} onnxtxt_dim;

/**
 * A view of the header of a model.
 */
typedef struct onnxtxt_header {
  /**
   * The version of the format; 0 if it is not set.
   */
  int64_t ir_version;
  /**
   * The version of the model; 0 if it is not set.
   */
  int64_t model_version;
  /**
   * The domain of the model.
   */
  struct onnxtxt_str domain;
  /**
   * The program that made it.
   */
  struct onnxtxt_str producer_name;
  /**
   * The version of that program.
   */
  struct onnxtxt_str producer_version;
  /**
   * Its documentation.
   */
  struct onnxtxt_str doc;
  /**
   * The number of imported operator sets.
   */
  size_t opset_imports;
  /**
   * The number of entries of metadata.
   */
  size_t metadata;
  /**
   * The number of functions.
   */
  size_t functions;
} onnxtxt_header;

/**
 * An imported operator set.
 */
typedef struct onnxtxt_opset {
  /**
   * The domain; that of ONNX is empty.
   */
  struct onnxtxt_str domain;
  /**
   * The version; 0 if it is not set.
   */
  int64_t version;
} onnxtxt_opset;

/**
 * A name with a text.
 */
typedef struct onnxtxt_entry {
  /**
   * The name.
   */
  struct onnxtxt_str key;
  /**
   * The text.
   */
  struct onnxtxt_str value;
} onnxtxt_entry;

/**
 * A view of a function.
 */
typedef struct onnxtxt_function_view {
  /**
   * Name, domain and overload identify it.
   */
  struct onnxtxt_str name;
  /**
   * See `name`.
   */
  struct onnxtxt_str domain;
  /**
   * See `name`.
   */
  struct onnxtxt_str overload;
  /**
   * Its documentation.
   */
  struct onnxtxt_str doc;
  /**
   * Its inputs, outputs and nodes.
   */
  struct onnxtxt_graph graph;
  /**
   * The number of attribute parameters without a default.
   */
  size_t attributes;
} onnxtxt_function_view;

/**
 * A view of a graph.
 */
typedef struct onnxtxt_graph_view {
  /**
   * Its name.
   */
  struct onnxtxt_str name;
  /**
   * Its documentation.
   */
  struct onnxtxt_str doc;
  /**
   * The node whose attribute it is, or none.
   */
  struct onnxtxt_node owner;
  /**
   * The numbers of its parts.
   */
  size_t inputs;
  /**
   * See `inputs`.
   */
  size_t outputs;
  /**
   * Declarations of other values.
   */
  size_t value_infos;
  /**
   * See `inputs`.
   */
  size_t initializers;
  /**
   * See `inputs`.
   */
  size_t nodes;
} onnxtxt_graph_view;

/**
 * A value of a model: what a node computes, an input, an initializer. All uses of one value have the same numbers, those in nested graphs too.
 * Of "none" (an operand that is left out), `index` is `ONNXTXT_NONE`.
 */
typedef struct onnxtxt_value {
  /**
   * The main graph or function in which it is.
   */
  uint32_t body;
  /**
   * Its number there.
   */
  uint32_t index;
} onnxtxt_value;

/**
 * A view of a declaration.
 */
typedef struct onnxtxt_port {
  /**
   * The name.
   */
  struct onnxtxt_str name;
  /**
   * The value that it declares, or none.
   */
  struct onnxtxt_value value;
  /**
   * The type, or `ONNXTXT_NONE`.
   */
  uint32_t ty;
  /**
   * Its documentation.
   */
  struct onnxtxt_str doc;
} onnxtxt_port;

/**
 * A view of a node.
 */
typedef struct onnxtxt_node_view {
  /**
   * The operator.
   */
  struct onnxtxt_str op;
  /**
   * The domain of the operator; that of ONNX is empty.
   */
  struct onnxtxt_str domain;
  /**
   * The overload of a function; may be empty.
   */
  struct onnxtxt_str overload;
  /**
   * The name of the node; may be empty.
   */
  struct onnxtxt_str name;
  /**
   * Its documentation.
   */
  struct onnxtxt_str doc;
  /**
   * The numbers of its parts. Operands that are left out count.
   */
  size_t inputs;
  /**
   * See `inputs`.
   */
  size_t outputs;
  /**
   * See `inputs`.
   */
  size_t attributes;
} onnxtxt_node_view;

/**
 * A view of a value.
 */
typedef struct onnxtxt_value_view {
  /**
   * Its name.
   */
  struct onnxtxt_str name;
  /**
   * The kind of its definition.
   */
  enum onnxtxt_definition definition;
  /**
   * The graph that defines it, unless a node does.
   */
  struct onnxtxt_graph graph;
  /**
   * The node that computes it, or none.
   */
  struct onnxtxt_node node;
  /**
   * Which of the outputs of the node it is.
   */
  uint32_t output;
  /**
   * The declared type, or `ONNXTXT_NONE`. `onnxtxt_infer` declares types of all values.
   */
  uint32_t ty;
  /**
   * The tensor of an initializer, or none.
   */
  struct onnxtxt_tensor tensor;
} onnxtxt_value_view;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The bytes of a buffer, until it is freed.
 */
struct onnxtxt_str onnxtxt_buffer_bytes(const struct onnxtxt_buffer *buffer);

/**
 * Frees a buffer.
 */
void onnxtxt_buffer_free(struct onnxtxt_buffer *buffer);

/**
 * The version of the library, such as `0.1.0`, terminated by a zero byte.
 */
const char *onnxtxt_version(void);

/**
 * The version of the binary interface. It is increased when a function or a structure changes, not when one is added.
 * `ONNXTXT_ABI_VERSION` is that of the header.
 */
uint32_t onnxtxt_abi_version(void);

/**
 * A view of an attribute of a node. Returns whether there is one at this position.
 */
bool onnxtxt_node_attribute(const struct onnxtxt_model *model,
                            struct onnxtxt_node node,
                            size_t at,
                            struct onnxtxt_attribute *out);

/**
 * The position of the attribute of a name; `SIZE_MAX` if the node has none of this name.
 */
size_t onnxtxt_node_find_attribute(const struct onnxtxt_model *model, struct onnxtxt_node node, struct onnxtxt_str name);

/**
 * An element of a string, tensor, graph or type attribute, or of a list of them. Returns whether there is one at this position.
 */
bool onnxtxt_attribute_get_item(const struct onnxtxt_model *model,
                                struct onnxtxt_node node,
                                size_t attribute,
                                size_t at,
                                struct onnxtxt_attribute_item *out);

/**
 * An empty list of operators.
 */
struct onnxtxt_operators *onnxtxt_operators_new(void);

/**
 * Adds an operator; it replaces one of the same name, also one of ONNX. `functions.run` must not be null. `free_user` is called in any case, when
 * the operator is used no more.
 */
enum onnxtxt_status onnxtxt_operators_add(struct onnxtxt_operators *operators,
                                          struct onnxtxt_str domain,
                                          struct onnxtxt_str name,
                                          struct onnxtxt_operator_functions functions);

/**
 * Frees a list. Sessions that were compiled with it keep their operators.
 */
void onnxtxt_operators_free(struct onnxtxt_operators *operators);

/**
 * An int attribute of a node that is prepared, or `otherwise`.
 */
int64_t onnxtxt_prepared_int(const struct onnxtxt_prepared *node, struct onnxtxt_str name, int64_t otherwise);

/**
 * A float attribute of a node that is prepared, or `otherwise`.
 */
float onnxtxt_prepared_float(const struct onnxtxt_prepared *node, struct onnxtxt_str name, float otherwise);

/**
 * A string attribute of a node that is prepared; empty without one.
 */
struct onnxtxt_str onnxtxt_prepared_string(const struct onnxtxt_prepared *node, struct onnxtxt_str name);

/**
 * The elements of an ints attribute of a node that is prepared: returns their number, and their address in `values`; 0 without one.
 */
size_t onnxtxt_prepared_ints(const struct onnxtxt_prepared *node,
                             struct onnxtxt_str name,
                             const int64_t **values);

/**
 * The elements of a floats attribute of a node that is prepared: returns their number, and their address in `values`; 0 without one.
 */
size_t onnxtxt_prepared_floats(const struct onnxtxt_prepared *node,
                               struct onnxtxt_str name,
                               const float **values);

/**
 * A tensor attribute of a node that is prepared, as a value of the caller; a null pointer without one.
 */
struct onnxtxt_data *onnxtxt_prepared_tensor(const struct onnxtxt_prepared *node, struct onnxtxt_str name);

/**
 * Refuses a node that is prepared: the message becomes a finding about it.
 */
void onnxtxt_prepared_fail(struct onnxtxt_prepared *node, struct onnxtxt_str message);

/**
 * The number of inputs of a call.
 */
size_t onnxtxt_call_inputs(const struct onnxtxt_call *call);

/**
 * An input of a call, valid during it; a null pointer if it is left out.
 */
const struct onnxtxt_data *onnxtxt_call_input(const struct onnxtxt_call *call, size_t at);

/**
 * The number of outputs of a call.
 */
size_t onnxtxt_call_outputs(const struct onnxtxt_call *call);

/**
 * Sets an output of a call. The value is taken: the caller does not free it.
 */
enum onnxtxt_status onnxtxt_call_set_output(struct onnxtxt_call *call, size_t at, struct onnxtxt_data *data);

/**
 * Ends the run: the message becomes a finding about the node.
 */
void onnxtxt_call_fail(struct onnxtxt_call *call, struct onnxtxt_str message);

/**
 * A tensor with a copy of elements. `why` receives the reason if the size does not fit the shape.
 */
struct onnxtxt_data *onnxtxt_data_copy(int32_t elem_type,
                                       const size_t *dims,
                                       size_t rank,
                                       const void *bytes,
                                       size_t size,
                                       struct onnxtxt_findings **why);

/**
 * A tensor over memory of the caller, which is not copied if it is aligned for its elements. It must stay readable and unchanged until `release`
 * is called, from any thread, with `user`; without `release`, until the value and all that were made of it are freed. A run copies what it
 * keeps of it. If the size does not fit the shape, the result is a null pointer, `why` receives the reason, and the memory is released.
 */
struct onnxtxt_data *onnxtxt_data_borrow(int32_t elem_type,
                                         const size_t *dims,
                                         size_t rank,
                                         const void *bytes,
                                         size_t size,
                                         void (*release)(void *user),
                                         void *user,
                                         struct onnxtxt_findings **why);

/**
 * A tensor of zeros, to be written to ([`onnxtxt_data_bytes`]) or to receive a result.
 */
struct onnxtxt_data *onnxtxt_data_zeros(int32_t elem_type, const size_t *dims, size_t rank, struct onnxtxt_findings **why);

/**
 * A tensor of `count` strings, which are copied.
 */
struct onnxtxt_data *onnxtxt_data_strings(const size_t *dims,
                                          size_t rank,
                                          const struct onnxtxt_str *strings,
                                          size_t count,
                                          struct onnxtxt_findings **why);

/**
 * A sequence of `count` values, which stay those of the caller; their tensors are shared.
 */
struct onnxtxt_data *onnxtxt_data_sequence(const struct onnxtxt_data *const *values, size_t count);

/**
 * An optional with this value, or without one for a null pointer.
 */
struct onnxtxt_data *onnxtxt_data_optional(const struct onnxtxt_data *value);

/**
 * Another handle of a value; tensors are shared.
 */
struct onnxtxt_data *onnxtxt_data_clone(const struct onnxtxt_data *data);

/**
 * The kind of a value; a tensor for a null pointer.
 */
enum onnxtxt_data_kind onnxtxt_data_get_kind(const struct onnxtxt_data *data);

/**
 * A view of a tensor. Returns whether the value is one.
 */
bool onnxtxt_data_get(const struct onnxtxt_data *data, struct onnxtxt_data_view *out);

/**
 * The elements of a tensor of numbers for writing; memory that is shared or borrowed is copied first. A null pointer for other values.
 */
void *onnxtxt_data_bytes(struct onnxtxt_data *data);

/**
 * A string of a tensor of strings; empty for others.
 */
struct onnxtxt_str onnxtxt_data_string(const struct onnxtxt_data *data, size_t at);

/**
 * The number of values in a sequence, map or optional; 0 for a tensor.
 */
size_t onnxtxt_data_count(const struct onnxtxt_data *data);

/**
 * A handle of a value in a sequence, map or optional; a null pointer if there is none at this position.
 */
struct onnxtxt_data *onnxtxt_data_item(const struct onnxtxt_data *data, size_t at);

/**
 * Frees a handle of a value.
 */
void onnxtxt_data_free(struct onnxtxt_data *data);

/**
 * Copies the elements of a tensor of numbers into memory of the caller.
 */
enum onnxtxt_status onnxtxt_data_copy_to(const struct onnxtxt_data *data, void *to, size_t size);

/**
 * Begins a finding about a part of a model: `code` and `message` are shown in its first line, `label` at the place. The number of
 * different codes of a program should be small: they are kept. A null pointer if the model has no such part.
 */
struct onnxtxt_draft *onnxtxt_draft_new(const struct onnxtxt_model *model,
                                        bool is_error,
                                        struct onnxtxt_str code_id,
                                        struct onnxtxt_str message,
                                        struct onnxtxt_place_t place,
                                        struct onnxtxt_str label);

/**
 * Adds another place that explains the finding, with its role.
 */
enum onnxtxt_status onnxtxt_draft_label(struct onnxtxt_draft *draft,
                                        const struct onnxtxt_model *model,
                                        struct onnxtxt_place_t place,
                                        struct onnxtxt_str label);

/**
 * Sets the advice of the finding.
 */
enum onnxtxt_status onnxtxt_draft_help(struct onnxtxt_draft *draft, struct onnxtxt_str help);

/**
 * Adds the finding to a list, and frees the draft. `model` is the one that it is about.
 */
enum onnxtxt_status onnxtxt_draft_add(struct onnxtxt_draft *draft,
                                      const struct onnxtxt_model *model,
                                      struct onnxtxt_findings *findings);

/**
 * Frees a draft that is not added.
 */
void onnxtxt_draft_free(struct onnxtxt_draft *draft);

/**
 * An empty list, to which own findings can be added.
 */
struct onnxtxt_findings *onnxtxt_findings_new(void);

/**
 * The number of findings; 0 for a null pointer.
 */
size_t onnxtxt_findings_count(const struct onnxtxt_findings *findings);

/**
 * Whether one of the findings is an error.
 */
bool onnxtxt_findings_has_errors(const struct onnxtxt_findings *findings);

/**
 * A finding. Returns whether there is one at this position.
 */
bool onnxtxt_findings_get(const struct onnxtxt_findings *findings, size_t at, struct onnxtxt_finding *out);

/**
 * A label of a finding. Returns whether there is one at this position.
 */
bool onnxtxt_findings_label(const struct onnxtxt_findings *findings, size_t at, size_t label, struct onnxtxt_label *out);

/**
 * A fix of a finding. Returns whether there is one at this position.
 */
bool onnxtxt_findings_fix(const struct onnxtxt_findings *findings, size_t at, size_t fix, struct onnxtxt_fix *out);

/**
 * A replacement of a fix. Returns whether there is one at this position.
 */
bool onnxtxt_findings_edit(const struct onnxtxt_findings *findings, size_t at, size_t fix, size_t edit, struct onnxtxt_edit *out);

/**
 * Frees a list.
 */
void onnxtxt_findings_free(struct onnxtxt_findings *findings);

/**
 * Lets functions of the caller provide the memory of the library, until the process ends, after `main` too; files are mapped by the system all the same, and stacks of
 * threads are the system's. It must be the first call of the library: later ones are refused, because memory must go back to where it came from.
 */
enum onnxtxt_status onnxtxt_set_allocator(struct onnxtxt_allocator allocator);

/**
 * Parses a model from text. There is always a model: what could be read, with findings ([`onnxtxt_check`]). A null pointer is an internal error.
 * `name` is the name that findings show; may be empty.
 */
struct onnxtxt_model *onnxtxt_parse(struct onnxtxt_str text,
                                    struct onnxtxt_str name);

/**
 * Parses a part of a model from text: a graph, a function, a node, a type, a declaration or an attribute. `kind` is an `onnxtxt_kind`. As
 * [`onnxtxt_parse`].
 */
struct onnxtxt_model *onnxtxt_parse_part(uint32_t kind,
                                         struct onnxtxt_str text,
                                         struct onnxtxt_str name);

/**
 * Decodes a message in the wire format of protobuf; a model in any form. `kind` is an `onnxtxt_kind`. As [`onnxtxt_parse`]. The bytes are
 * copied.
 */
struct onnxtxt_model *onnxtxt_decode(uint32_t kind,
                                     struct onnxtxt_str bytes,
                                     struct onnxtxt_str name);

/**
 * Opens a file with a model in any form, which is detected from its content. Large files are mapped. `why` receives the reason if the file
 * cannot be read; then the result is a null pointer.
 */
struct onnxtxt_model *onnxtxt_open(struct onnxtxt_str path,
                                   struct onnxtxt_findings **why);

/**
 * A model of its own with the same content; weights are shared.
 */
struct onnxtxt_model *onnxtxt_model_clone(const struct onnxtxt_model *model);

/**
 * Frees a model. Views and places of it become invalid.
 */
void onnxtxt_model_free(struct onnxtxt_model *model);

/**
 * Whether parts of the text or file could not be read, so that the model is incomplete. Such a model is neither written nor changed by passes.
 */
bool onnxtxt_model_is_partial(const struct onnxtxt_model *model);

/**
 * All findings up to an `onnxtxt_check_level`, in the order of the text; a null pointer if there are none.
 */
struct onnxtxt_findings *onnxtxt_check(const struct onnxtxt_model *model, uint32_t level);

/**
 * Infers the types and shapes of all values, and declares them in the model. Returns findings about contradictions; a null pointer if there
 * are none.
 */
struct onnxtxt_findings *onnxtxt_infer(struct onnxtxt_model *model);

/**
 * Changes a model by a pass, named as for `onnxtxt pass`: `fold-constants`, `inline`, `convert-opset=21`, … Nodes, values and other places that
 * the caller has become invalid. `why` receives findings: the reason if it is refused, else warnings, if there are any.
 */
enum onnxtxt_status onnxtxt_run_pass(struct onnxtxt_model *model,
                                     struct onnxtxt_str pass,
                                     struct onnxtxt_findings **why);

/**
 * Converts a model to another version of an operator set; the empty domain is ai.onnx. As [`onnxtxt_run_pass`].
 */
enum onnxtxt_status onnxtxt_convert_opset(struct onnxtxt_model *model,
                                          struct onnxtxt_str domain,
                                          int64_t version,
                                          struct onnxtxt_findings **why);

/**
 * Reads external weights into the model; files are mapped. Only files in the folder of the model are read.
 */
enum onnxtxt_status onnxtxt_load_weights(struct onnxtxt_model *model, struct onnxtxt_findings **why);

/**
 * The model as bytes, in an `onnxtxt_encoding`; a null pointer if it is refused, with the reason in `why`. A part is written as text or binary.
 */
struct onnxtxt_buffer *onnxtxt_encode(const struct onnxtxt_model *model,
                                      uint32_t encoding,
                                      struct onnxtxt_findings **why);

/**
 * Writes the model to a file, whose name determines the form; as a whole or not at all.
 */
enum onnxtxt_status onnxtxt_save(struct onnxtxt_model *model, struct onnxtxt_str path, struct onnxtxt_findings **why);

/**
 * Where a part of a model is in the text that it was parsed from. Returns whether it has a place there: not in a model that was decoded,
 * changed by a pass, or made of parts that the text does not have.
 */
bool onnxtxt_place(const struct onnxtxt_model *model,
                   struct onnxtxt_place_t place,
                   struct onnxtxt_span *out);

/**
 * Computes the outputs. `outputs` has a place for each output of the session: a null pointer, which is replaced by a value of the caller, or a
 * tensor of the caller. A tensor that has the type and shape of the result and is not shared is overwritten, so that a caller who runs a model
 * again and again gets each result at the same address; another one is replaced. `options` may be null. If the run fails, `why` receives the
 * reason, and all outputs become null pointers.
 */
enum onnxtxt_status onnxtxt_run(const struct onnxtxt_session *session,
                                const struct onnxtxt_feed *inputs,
                                size_t count,
                                struct onnxtxt_data **outputs,
                                const struct onnxtxt_call_options *options,
                                struct onnxtxt_findings **why);

/**
 * Computes the outputs, those with memory there, without an allocation or a copy of a result that a kernel can write directly. `memory` has an entry for each
 * output of the session, whose type and shape are those of the result; `outputs` has a place for each, all of them null pointers: those without memory
 * are replaced by a value of the caller. `outputs` may be null if all have memory. Memory may overlap that of an input, which is then overwritten
 * after everything is computed, but not that of another output. If the run fails, the contents of the memory are arbitrary.
 */
enum onnxtxt_status onnxtxt_run_in_memory(const struct onnxtxt_session *session,
                                          const struct onnxtxt_feed *inputs,
                                          size_t count,
                                          const struct onnxtxt_memory *memory,
                                          struct onnxtxt_data **outputs,
                                          const struct onnxtxt_call_options *options,
                                          struct onnxtxt_findings **why);

/**
 * A flag that ends runs, not set.
 */
struct onnxtxt_cancel *onnxtxt_cancel_new(void);

/**
 * Sets the flag, or clears it for further runs. Any thread may do so at any time.
 */
void onnxtxt_cancel_set(const struct onnxtxt_cancel *cancel, bool is_set);

/**
 * Frees a flag.
 */
void onnxtxt_cancel_free(struct onnxtxt_cancel *cancel);

/**
 * Compiles a model, which may be freed afterwards. `options` may be null. A null pointer if the model is refused, with the reasons in `why`: errors
 * that make its meaning unclear, weights that cannot be read, operators that are not known. With a session, `why` receives a warning if the cache
 * cannot be used.
 */
struct onnxtxt_session *onnxtxt_compile(const struct onnxtxt_model *model,
                                        const struct onnxtxt_session_options *options,
                                        struct onnxtxt_findings **why);

/**
 * The number of inputs.
 */
size_t onnxtxt_session_inputs(const struct onnxtxt_session *session);

/**
 * The number of outputs.
 */
size_t onnxtxt_session_outputs(const struct onnxtxt_session *session);

/**
 * A view of an input or output. Returns whether there is one at this position.
 */
bool onnxtxt_session_get(const struct onnxtxt_session *session, bool is_output, size_t at, struct onnxtxt_interface *out);

/**
 * The symbol of a dimension of an input or output; empty if it is a number or unknown.
 */
struct onnxtxt_str onnxtxt_session_symbol(const struct onnxtxt_session *session, bool is_output, size_t at, size_t axis);

/**
 * Makes the plans for inputs of these element types and shapes, so that the first run takes no longer than later ones. `zeros` has tensors as
 * they will be given; their elements are not read.
 */
enum onnxtxt_status onnxtxt_prepare(const struct onnxtxt_session *session,
                                    const struct onnxtxt_feed *zeros,
                                    size_t count,
                                    struct onnxtxt_findings **why);

/**
 * Frees a session. Values that it has computed stay valid.
 */
void onnxtxt_session_free(struct onnxtxt_session *session);

/**
 * A view of a tensor. Returns whether there is such a tensor.
 */
bool onnxtxt_tensor_get(const struct onnxtxt_model *model, struct onnxtxt_tensor tensor, struct onnxtxt_tensor_view *out);

/**
 * The elements of a tensor, which share the memory of the model where they are stored as they are computed with. A null pointer if they cannot
 * be read, with the reason in `why`.
 */
struct onnxtxt_data *onnxtxt_tensor_data(const struct onnxtxt_model *model,
                                         struct onnxtxt_tensor tensor,
                                         struct onnxtxt_findings **why);

/**
 * A view of a type. Returns whether there is such a type.
 */
bool onnxtxt_type_get(const struct onnxtxt_model *model, uint32_t ty, struct onnxtxt_type *out);

/**
 * A dimension of a tensor type. Returns whether there is one at this position.
 */
bool onnxtxt_type_dim(const struct onnxtxt_model *model, uint32_t ty, size_t at, struct onnxtxt_dim *out);

/**
 * A type as text, such as `float[N,3]`; a null pointer if there is no such type.
 */
struct onnxtxt_buffer *onnxtxt_type_text(const struct onnxtxt_model *model, uint32_t ty);

/**
 * The name of an element type, such as `float`; empty for a number that is not one.
 */
struct onnxtxt_str onnxtxt_elem_type_name(int32_t elem_type);

/**
 * The main graph; none if the model has none, or for a null pointer.
 */
struct onnxtxt_graph onnxtxt_main_graph(const struct onnxtxt_model *model);

/**
 * The header of a model.
 */
bool onnxtxt_header_get(const struct onnxtxt_model *model, struct onnxtxt_header *out);

/**
 * An operator set that the model imports. Returns whether there is one at this position.
 */
bool onnxtxt_opset_import(const struct onnxtxt_model *model, size_t at, struct onnxtxt_opset *out);

/**
 * The version of an operator set that a graph may use, or 0: that of its function, or of the model.
 */
int64_t onnxtxt_opset_version(const struct onnxtxt_model *model, struct onnxtxt_graph graph, struct onnxtxt_str domain);

/**
 * An entry of the metadata of a model. Returns whether there is one at this position.
 */
bool onnxtxt_metadata(const struct onnxtxt_model *model, size_t at, struct onnxtxt_entry *out);

/**
 * A function of the model. Returns whether there is one at this position.
 */
bool onnxtxt_function(const struct onnxtxt_model *model, size_t at, struct onnxtxt_function_view *out);

/**
 * The name of an attribute parameter of a function without a default; empty if there is none at this position.
 */
struct onnxtxt_str onnxtxt_function_attribute(const struct onnxtxt_model *model, size_t at, size_t attribute);

/**
 * A view of a graph. Returns whether there is such a graph.
 */
bool onnxtxt_graph_get(const struct onnxtxt_model *model, struct onnxtxt_graph graph, struct onnxtxt_graph_view *out);

/**
 * A declaration of a graph, in an `onnxtxt_ports`. Returns whether there is one at this position.
 */
bool onnxtxt_graph_port(const struct onnxtxt_model *model,
                        struct onnxtxt_graph graph,
                        uint32_t list,
                        size_t at,
                        struct onnxtxt_port *out);

/**
 * An initializer of a graph: its value; the view of the value has the tensor. None if there is none at this position.
 */
struct onnxtxt_value onnxtxt_graph_initializer(const struct onnxtxt_model *model, struct onnxtxt_graph graph, size_t at);

/**
 * A node of a graph, in the order of the model; none if there is none at this position.
 */
struct onnxtxt_node onnxtxt_graph_node(const struct onnxtxt_model *model, struct onnxtxt_graph graph, size_t at);

/**
 * A view of a node. Returns whether there is such a node.
 */
bool onnxtxt_node_get(const struct onnxtxt_model *model, struct onnxtxt_node node, struct onnxtxt_node_view *out);

/**
 * An operand of a node; none if it is left out, or there is none at this position.
 */
struct onnxtxt_value onnxtxt_node_input(const struct onnxtxt_model *model, struct onnxtxt_node node, size_t at);

/**
 * A result of a node; none if it is left out, or there is none at this position.
 */
struct onnxtxt_value onnxtxt_node_output(const struct onnxtxt_model *model, struct onnxtxt_node node, size_t at);

/**
 * A view of a value. Returns whether there is such a value.
 */
bool onnxtxt_value_get(const struct onnxtxt_model *model, struct onnxtxt_value value, struct onnxtxt_value_view *out);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ONNXTXT_H */
