//! Codes of running models (E16..).

super::codes! { RUNNING, Types:
    /// The model cannot be prepared to run.
    ///
    /// It has no graph, a stored tensor is invalid, or a constant has no value. `onnxtxt check` reports details.
    Error CANNOT_RUN = "E1601", "cannot-run";

    /// This operator is not implemented.
    ///
    /// All such nodes of a model are reported at once. An operator of a custom domain can be defined by a function body, in the
    /// model or in a document (`--opset`).
    Error UNSUPPORTED_OPERATOR = "E1602", "unsupported-operator";

    /// A node failed for its inputs.
    ///
    /// The message gives the reason: an index out of range, incompatible shapes, a string that is not a
    /// number.
    Error RUN_FAILED = "E1603", "run-failed";

    /// The run exceeded a limit.
    ///
    /// Loops can run forever and small nodes can need any amount of memory, so both are limited: `--fuel` is the number of
    /// nodes that may run, `--max-memory` the bytes of tensors at one time.
    Error RUN_LIMIT = "E1604", "run-limit";

    /// Values have different sizes for one symbol of a dimension.
    ///
    /// A symbol stands for one size wherever it occurs in the declared types of a model: `float[N]` twice are tensors of one
    /// size. Exporters use one symbol for sizes that differ, and runtimes do not compare them, so the model is run. But
    /// `simplify` and other tools rely on the rule. Give dimensions of different sizes different names
    /// (`onnxtxt rename`, `set-shape`). Source: IR.md, Static tensor shapes.
    Warning SYMBOL_SIZES = "W1605", "symbol-sizes";

    /// The text of a schedule has a syntax error.
    ///
    /// `grammar/schedule.md` has the grammar; `onnxtxt lower` writes such schedules.
    Error SCHEDULE_SYNTAX = "E1611", "schedule-syntax";

    /// A schedule is illegal.
    ///
    /// A value is read before it is computed or out of bounds, results that are live at the same time overlap, or a formula
    /// does not support the requested loops.
    Error SCHEDULE_ILLEGAL = "E1612", "schedule-illegal";

    /// A schedule belongs to another model, or to inputs of other types.
    ///
    /// A schedule refers to values of the model and the types of its inputs. `onnxtxt lower` writes one for a model and the types
    /// that `-D` and `--shape` give.
    Error SCHEDULE_MISMATCH = "E1613", "schedule-mismatch";

    /// A formula of a schedule does not compute what the nodes define.
    ///
    /// Some elements are computed from the formula of the schedule and from the definitions of the operators, for random
    /// operands, and differ.
    Error SCHEDULE_RESULTS = "E1614", "schedule-results";
}
