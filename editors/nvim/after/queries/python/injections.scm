; extends

((call
  function: [
    (identifier) @_function
    (attribute attribute: (identifier) @_function)
  ]
  arguments: (argument_list . (string (string_content) @injection.content)))
  (#any-of? @_function "parse_model" "parse_graph" "parse_function" "parse_node")
  (#set! injection.language "onnxtxt"))
