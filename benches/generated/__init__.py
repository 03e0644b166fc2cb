"""Models that `cargo xtask bench models` makes: all weights are random, from fixed seeds."""
