[(header) (value_infos) (values) (body) (attributes) (braces) (list) (operands)] @indent.begin

["}" ">" ")" "]"] @indent.branch @indent.end
