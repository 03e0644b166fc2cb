;;; onnxtxt-mode.el --- ONNX models as text -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "29.1"))
;; Keywords: languages

;;; Commentary:

;; A mode for files of ONNX text, and the language server of onnxtxt for Eglot.

;;; Code:

(defvar eglot-server-programs)

(defvar onnxtxt-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?< "(>" table)
    (modify-syntax-entry ?> ")<" table)
    table)
  "Syntax table of `onnxtxt-mode'.")

(defvar onnxtxt-mode-font-lock-keywords
  '(("\\_<\\(?:u?int\\(?:2\\|4\\|8\\|16\\|32\\|64\\)\\|b?float\\(?:16\\|[4-8]e[0-9]m[0-9]\\(?:fn\\)?\\(?:uz\\)?\\)?\\|double\\|string\\|bool\\|complex\\(?:64\\|128\\)\\)\\_>"
     . font-lock-type-face)
    ("\\_<\\([A-Za-z_][A-Za-z0-9_]*\\)[ \t]*\\(?:[(<]\\|=>\\)" 1 font-lock-function-name-face)
    ("[<,][ \t\n]*\\([A-Za-z_][A-Za-z0-9_]*\\)[ \t]*=[^>]" 1 font-lock-variable-name-face)
    ("\\_<\\([A-Za-z_][A-Za-z0-9_]*\\)[ \t]*:" 1 font-lock-property-name-face)
    ("-?\\_<[0-9]+\\(?:\\.[0-9]*\\)?\\(?:[eE][-+]?[0-9]+\\)?\\_>" . font-lock-number-face))
  "Colors of `onnxtxt-mode'.")

;;;###autoload
(define-derived-mode onnxtxt-mode prog-mode "ONNX"
  "Mode for ONNX models as text."
  (setq-local comment-start "# ")
  (setq-local comment-start-skip "#+ *")
  (setq-local font-lock-defaults '(onnxtxt-mode-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.onnxte?xt\\'" . onnxtxt-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(onnxtxt-mode . ("onnxtxt" "lsp"))))

(provide 'onnxtxt-mode)
;;; onnxtxt-mode.el ends here
