//! git, in repositories that tests make.

use std::path::Path;
use std::process::Command;

/// What git says there, without the blanks around it; it must succeed.
pub fn git(repository: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=test", "-c", "user.email=test@localhost"]).args(args);
    let output = git.current_dir(repository).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Commits all that is there, changed or not.
pub fn commit(repository: &Path) {
    git(repository, &["add", "--all"]);
    git(repository, &["commit", "--quiet", "--allow-empty", "--no-verify", "--message", "test"]);
}
