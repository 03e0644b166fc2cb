vim.filetype.add({ extension = { onnxtxt = "onnxtxt", onnxtext = "onnxtxt" } })
