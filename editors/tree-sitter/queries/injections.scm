((comment) @injection.content
  (#set! injection.language "comment"))

((documentation) @injection.content
  (#set! injection.language "comment"))
