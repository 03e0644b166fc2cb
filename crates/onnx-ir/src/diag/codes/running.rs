//! Codes of running models (E16..).

super::codes! { RUNNING, Types:
    /// The model cannot be made ready to run.
    ///
    /// It has no graph, a stored tensor is broken, or a constant has no value. `onnxtxt check` says more.
    Error CANNOT_RUN = "E1601", "cannot-run";

    /// There is nothing that computes this operator.
    ///
    /// All such nodes of a model are told at once. An operator of a domain of your own can be given a function body, in the
    /// model or in a document (`--opset`).
    Error UNSUPPORTED_OPERATOR = "E1602", "unsupported-operator";

    /// A node could not be computed for the inputs that it got.
    ///
    /// The message says what did not fit: an index outside of a tensor, shapes that do not go together, a text that is no
    /// number.
    Error RUN_FAILED = "E1603", "run-failed";

    /// The run ended at a limit.
    ///
    /// Loops can run for ever and small nodes can ask for any amount of memory, so both are limited: `--fuel` says how many
    /// nodes may be run, `--max-memory` how many bytes tensors may take at a time.
    Error RUN_LIMIT = "E1604", "run-limit";

    /// The text of a schedule breaks its grammar.
    ///
    /// `grammar/schedule.md` has the grammar; `onnxtxt lower` writes schedules that follow it.
    Error SCHEDULE_SYNTAX = "E1611", "schedule-syntax";

    /// A schedule cannot be carried out.
    ///
    /// Something is read before it is computed or out of bounds, results that are needed at the same time overlap, or a formula
    /// has no loops of the form that is asked for.
    Error SCHEDULE_ILLEGAL = "E1612", "schedule-illegal";

    /// A schedule belongs to another model, or to inputs of other types.
    ///
    /// A schedule names values of the model and the types of what it reads. `onnxtxt lower` writes one for a model and the types
    /// that are given with `-D` and `--shape`.
    Error SCHEDULE_MISMATCH = "E1613", "schedule-mismatch";

    /// A formula of a schedule does not give what the nodes define.
    ///
    /// Some elements are computed from the formula of the schedule and from the definitions of the operators, for made-up
    /// operands, and are not the same.
    Error SCHEDULE_RESULTS = "E1614", "schedule-results";
}
