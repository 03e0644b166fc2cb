[(header) (value_infos) (values) (body) (attributes) (braces) (list)] @fold
