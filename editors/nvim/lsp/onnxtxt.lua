return { cmd = { "onnxtxt", "lsp" }, filetypes = { "onnxtxt" }, root_markers = { "onnxtxt.toml", ".git" } }
