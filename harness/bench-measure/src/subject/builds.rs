//! Building servers: what a build prints goes to the terminal, and the reason of one that fails into the error.

use std::collections::VecDeque;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::owned_process::describe;
use bench_model::config::Server;
use bench_system::cargo::without_own_package;
use bench_system::foreign_text::{bounded, without_colours};
use bench_system::interrupt::check_ended_by_itself;

/// Lines of a failed build that are quoted.
const QUOTED: usize = 3;

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
/// It can't be started, or fails: with its first errors.
pub(super) fn run(root: &Path, what: &str, command: &[String]) -> Result<()> {
    let Some((program, args)) = command.split_first() else { return Ok(()) };
    let said = command.join(" ");
    let mut build = Command::new(program);
    let mut terminal = std::io::stderr();
    // Standard output is for the harness's own answer.
    without_own_package(build.args(args).current_dir(root)).stdout(std::io::stderr()).stderr(Stdio::piped());
    if terminal.is_terminal() {
        // Cargo shows its progress and colours to a terminal alone, which this is passed on to.
        build.envs([("CARGO_TERM_COLOR", "always"), ("CARGO_TERM_PROGRESS_WHEN", "always")]);
        build.env("CARGO_TERM_PROGRESS_WIDTH", "80");
    }
    let mut child = build.spawn().with_context(|| format!("can't start its {what}: {said}"))?;
    let mut reasons = Reasons::default();
    let mut stderr = child.stderr.take().with_context(|| format!("its {what}'s output is not piped"))?;
    let mut piece = vec![0; 4_096];
    while let Ok(length @ 1..) = stderr.read(&mut piece) {
        let read = piece.get(..length).unwrap_or_default();
        // Whoever reads the output may be gone; the build goes on.
        let _ = terminal.write_all(read);
        reasons.add(read);
    }
    let status = child.wait().with_context(|| format!("its {what} was lost: {said}"))?;
    check_ended_by_itself(status)?;
    if !status.success() {
        let words = reasons.words();
        let because = if words.is_empty() { String::new() } else { format!(": {words}") };
        bail!("its {what} failed ({}): {said}{because}", describe(status));
    }
    Ok(())
}

/// Why a build failed, from what it printed: the first lines that are errors, or its last lines.
#[derive(Debug, Default)]
struct Reasons {
    line: Vec<u8>,
    errors: Vec<String>,
    last: VecDeque<String>,
}

impl Reasons {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                // A progress bar returns to the beginning of its line.
                b'\n' | b'\r' => self.end_line(),
                // No line that a person reads is longer.
                _ if self.line.len() < 4_096 => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        let line = without_colours(&line).trim().to_owned();
        if line.is_empty() {
            return;
        }
        let is_error = line.starts_with("error") && self.errors.len() < QUOTED;
        self.errors.extend(is_error.then(|| bounded(&line)));
        self.last.push_back(bounded(&line));
        if self.last.len() > QUOTED {
            self.last.pop_front();
        }
    }

    fn words(&mut self) -> String {
        self.end_line();
        let lines = if self.errors.is_empty() { self.last.make_contiguous() } else { &mut self.errors };
        lines.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(script: &str) -> String {
        let command = ["/bin/sh", "-c", script].map(str::to_owned);
        format!("{:#}", run(Path::new("."), "build", &command).unwrap_err())
    }

    #[test]
    fn a_failed_build_gives_its_first_errors() {
        let cargo = "printf '   Compiling a\\n\\033[1merror[E0425]\\033[0m: no x\\n --> a.rs\\nerror: b\\nerror: \
            c\\nerror: d\\n' >&2; exit 101";
        let said = failed(cargo);
        assert!(said.ends_with(": error[E0425]: no x; error: b; error: c") && said.contains("101"), "{said}");
    }

    #[test]
    fn a_failed_build_of_any_tool_gives_its_last_lines() {
        let said = failed("printf 'one\\ntwo\\nthree\\n\\n./main.go:7: four' >&2; exit 1");
        assert!(said.ends_with(": two; three; ./main.go:7: four"), "{said}");
        let silent = failed("exit 3");
        assert!(silent.ends_with("exit 3") && silent.contains("its build failed"), "{silent}");
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
