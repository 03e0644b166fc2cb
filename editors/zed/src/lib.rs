//! Starts `onnxtxt lsp`, the program on the `PATH`, in Zed.

use zed_extension_api as zed;

struct Onnxtxt;

impl zed::Extension for Onnxtxt {
    fn new() -> Self {
        Onnxtxt
    }

    fn language_server_command(
        &mut self,
        _: &zed::LanguageServerId,
        worktree: &zed::Worktree,
    ) -> zed::Result<zed::Command> {
        let command = worktree.which("onnxtxt").ok_or("`onnxtxt` is not on the PATH")?;
        Ok(zed::Command { command, args: vec!["lsp".to_owned()], env: worktree.shell_env() })
    }
}

zed::register_extension!(Onnxtxt);
