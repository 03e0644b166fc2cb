[(header) (value_infos) (values) (body) (attributes) (braces) (list) (operands)] @indent

["}" ">" ")" "]"] @outdent
