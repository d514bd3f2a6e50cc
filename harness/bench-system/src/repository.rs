//! What git says of the repository, and the SHA-256 of a file. Out of scope: what a server was built from
//! (`provenance`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

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

/// What git prints in a folder; `None` where there is no git or no repository.
pub fn git(root: &Path, args: &[&str]) -> Option<String> {
    output(Command::new("git").arg("-C").arg(root).args(args))
}

/// What a command prints; `None` where it fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The files that git tracks below `root` and that differ from the commit, by their paths from the repository's root;
/// `None` where `root` is not under git.
pub fn changed_files(root: &Path) -> Option<Vec<String>> {
    git(root, &["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let text = git(root, &["diff", "--name-only", "-z", "HEAD"])?;
    Some(text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}
