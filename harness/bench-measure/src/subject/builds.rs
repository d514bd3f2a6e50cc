//! Building servers: what a build prints goes to the terminal.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::interrupt::check_ended_by_itself;
use crate::owned_process::describe;
use bench_core::cargo::without_own_package;
use bench_core::config::Server;

/// Builds servers, each command once. What they print goes to the terminal. All of their programs are there then.
pub fn build<'s>(servers: impl IntoIterator<Item = &'s Server> + Clone) -> Result<()> {
    build_in(Path::new("."), servers.clone())?;
    let all = servers.into_iter().flat_map(Server::and_upstream);
    let mut started = all.filter(|server| server.running_at().is_none());
    started.try_for_each(|server| server.find_program().map(drop))
}

/// The same in the folder of another checkout of the repository.
pub fn build_in<'s>(root: &Path, servers: impl IntoIterator<Item = &'s Server>) -> Result<()> {
    let mut done: Vec<&[String]> = Vec::new();
    for server in servers.into_iter().flat_map(Server::and_upstream) {
        if server.build.is_empty() || done.contains(&server.build.as_slice()) {
            continue;
        }
        run(root, "build", &server.build).with_context(|| format!("server {}", server.name))?;
        done.push(&server.build);
    }
    Ok(())
}

/// Runs a command that builds or prepares something, which `what` says.
///
/// # Errors
/// It can't be started, or fails: why, it has said itself.
pub(super) fn run(root: &Path, what: &str, command: &[String]) -> Result<()> {
    let Some((program, args)) = command.split_first() else { return Ok(()) };
    let said = command.join(" ");
    let mut build = Command::new(program);
    // Standard output is for the harness's own answer.
    let build = without_own_package(build.args(args).current_dir(root)).stdout(std::io::stderr());
    let status = build.status().with_context(|| format!("can't start its {what}: {said}"))?;
    check_ended_by_itself(status)?;
    ensure!(status.success(), "its {what} failed ({}): {said}; see its output above", describe(status));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_build_is_named_with_its_end() {
        let command = ["/bin/sh", "-c", "exit 3"].map(str::to_owned);
        let said = run(Path::new("."), "build", &command).unwrap_err().to_string();
        assert!(said.starts_with("its build failed (exit code 3): /bin/sh -c exit 3"), "{said}");
    }

    #[test]
    fn an_interrupted_build_has_not_failed() {
        let command = ["/bin/sh", "-c", "kill -INT $$"].map(str::to_owned);
        assert_eq!(run(Path::new("."), "build", &command).unwrap_err().to_string(), "interrupted");
    }

    #[test]
    fn a_build_that_is_no_program_is_named() {
        let run = |command: &str| run(Path::new("."), "build", &[command.to_owned()]);
        let said = format!("{:#}", run("no-such-tool").unwrap_err());
        assert!(said.starts_with("can't start its build: no-such-tool"), "{said}");
        assert!(run("true").is_ok());
    }
}
