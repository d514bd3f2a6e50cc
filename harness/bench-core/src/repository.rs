//! What git says of the repository, and the SHA-256 of a file. Out of scope: what a server was built from
//! (`provenance`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::foreign_text::bounded;

/// SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// It can't be read.
pub fn sha256_of_file(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("can't read {}", path.display()))?;
    Ok(hex(&Sha256::digest(bytes)))
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What git prints of the repository at `root`.
///
/// # Errors
/// As those of [`printed`].
pub fn git(root: &Path, args: &[&str]) -> Result<String> {
    printed(Command::new("git").arg("-C").arg(root).args(args))
}

/// What a program prints.
///
/// # Errors
/// It can't be started, or fails: in its own words, on one line.
pub fn printed(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("can't start {name}"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
    ensure!(output.status.success(), "{name} failed: {}", bounded(&said));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The files that git tracks below `root` and that differ from the commit, by their paths from the repository's root;
/// `None` where `root` is not under git.
pub fn changed_files(root: &Path) -> Option<Vec<String>> {
    git(root, &["ls-files", "--error-unmatch", "Cargo.toml"]).ok()?;
    let text = git(root, &["diff", "--name-only", "-z", "HEAD"]).ok()?;
    Some(text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}
