//! Cargo, started by a program that cargo started.

use std::process::Command;

/// Starts a command without what cargo says of the package whose program or test this is.
///
/// Build scripts that read it would run once more, and all crates that depend on theirs be built once more: ring's
/// does.
pub fn without_own_package(command: &mut Command) -> &mut Command {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
        command.env_remove(name);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_knows_nothing_of_the_package_that_started_it() {
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "run it with cargo test");
        let output = without_own_package(&mut Command::new("env")).output().unwrap();
        let given = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!given.contains("CARGO_PKG_") && !given.contains("CARGO_MANIFEST_"), "{given}");
        assert!(given.contains("PATH="), "{given}");
    }
}
