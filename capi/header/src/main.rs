//! Prints the C header of the library in the folder that is given.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: onnxtxt-capi-header FOLDER")?;
    let folder = Path::new(&folder);
    let mut sources: Vec<_> = std::fs::read_dir(folder.join("src"))?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    sources.sort();
    let mut builder =
        cbindgen::Builder::new().with_config(cbindgen::Config::from_file(folder.join("cbindgen.toml"))?);
    for source in sources {
        builder = builder.with_src(source);
    }
    builder.generate()?.write(std::io::stdout());
    Ok(())
}
