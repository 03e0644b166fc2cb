//! Prints the C header of the library in the folder that is given.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: onnxtxt-capi-header FOLDER")?;
    let folder = Path::new(&folder);
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml"))?;
    // The modules of a source are read, too: naming them would declare their functions twice.
    let library = cbindgen::Builder::new().with_config(config).with_src(folder.join("src/lib.rs"));
    library.generate()?.write(std::io::stdout());
    Ok(())
}
