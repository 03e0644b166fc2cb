[(graph) (operator_item)] @local.scope

(value_info name: (_) @local.definition.var)
(results (identifier) @local.definition.var)
(results (string) @local.definition.var)
(graph name: (_) @local.definition.function)

(operands (identifier) @local.reference)
(operands (string) @local.reference)
