//! The ids of entities, which say nothing of the data behind them.

use crate::entity;

entity!(
    /// A body of one model.
    BodyId,
    "b"
);
entity!(
    /// A function of one model.
    FunctionId,
    "f"
);
entity!(
    /// A graph of one body; the first is its root.
    GraphId,
    "g"
);
entity!(
    /// A node of one body.
    NodeId,
    "n"
);
entity!(
    /// A value of one body.
    ValueId,
    "v"
);
entity!(
    /// A tensor of one body.
    TensorId,
    "t"
);
entity!(
    /// An interned type of one [`Types`](crate::Types).
    TypeId,
    "ty"
);
