(graph name: (_) @name) @item
(operator_item "operator" @context name: (_) @name) @item
