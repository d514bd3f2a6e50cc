//! `patched-build FOLDER`: makes the patched crates of a server's folder in target/patched, and builds the server on them. From the
//! repository's root.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

fn main() -> ExitCode {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    match folder
        .context("give the folder of a server, such as servers/jsonrpsee-1652")
        .and_then(|folder| build(&folder))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("patched-build: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn build(folder: &Path) -> Result<()> {
    for patch in patched_build::patches(folder)? {
        patched_build::copy(&patch, Path::new("target/patched"))?;
    }
    let name = folder.file_name().context("the folder has a name")?;
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(Path::new("target").join(name));
    ensure!(cargo.status().context("start cargo")?.success(), "the build of {} failed", folder.display());
    Ok(())
}
