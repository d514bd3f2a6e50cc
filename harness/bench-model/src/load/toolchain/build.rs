//! How load tools are built.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::LoadTool;
use super::super::load_tool::About;
use bench_system::cargo::without_own_package;
use bench_system::foreign_text::bounded;
use bench_system::interrupt::check_ended_by_itself;
use bench_system::probe::host::on_path;

/// Builds a pinned tool from the `go.mod` of a folder.
pub(super) fn go(tool: LoadTool, package: &str, pins: &Path, bin: &Path) -> Result<()> {
    let About { name, variable, version, .. } = tool.about();
    ensure!(
        on_path("go").is_some(),
        "no {name} and no Go to build it: install Go {} or newer, or set {variable}=path to {name} {version}",
        oldest_go(pins).unwrap_or_else(|| "1.24".to_owned())
    );
    ensure!(
        pins.join("go.mod").is_file(),
        "no {name}, and no {} to build it from: put {name} {version} on the PATH, or set {variable}=path to it",
        pins.join("go.mod").display()
    );
    let bin = std::path::absolute(bin).context("the tools' folder has no absolute path")?;
    bench_system::note!("building {name} from {}", pins.join("go.mod").display());
    // The sums in go.sum are checked by Go itself; nothing in the environment may turn the checksum database off.
    let mut go = Command::new("go");
    for variable in ["GONOSUMDB", "GONOSUMCHECK", "GOPRIVATE", "GOSUMDB"] {
        go.env_remove(variable);
    }
    go.args(["install", "-trimpath", package]).current_dir(pins).env("GOBIN", &bin);
    run(&mut go, "go", &format!("{name} in {}", pins.display()))
}

/// Builds the tool of this workspace.
pub(super) fn here(tool: LoadTool, workspace: &Path) -> Result<()> {
    let About { name, variable, version, .. } = tool.about();
    ensure!(
        workspace.join("Cargo.toml").is_file(),
        "no {name} next to this program or on the PATH, and no repository to build it from: put it there, or set \
         {variable}=path to it"
    );
    let target =
        std::path::absolute(workspace.join("target")).context("the workspace has no absolute path")?;
    let cargo = env::var_os("CARGO").or_else(|| Some(on_path("cargo")?.into_os_string()));
    let missing = || {
        format!(
            "no {name} and no cargo to build it: install Rust, or set {variable}=path to {name} {version}"
        )
    };
    let mut build = Command::new(cargo.with_context(missing)?);
    without_own_package(&mut build)
        .args(["build", "--locked", "--quiet", "--release", "--package", "load-generator", "--target-dir"])
        .arg(target)
        .current_dir(workspace);
    run(&mut build, "cargo", name)
}

/// Builds something; where that fails, the error has the last that the builder said.
fn run(command: &mut Command, builder: &str, what: &str) -> Result<()> {
    let output = command.output().with_context(|| format!("can't start {builder}"))?;
    check_ended_by_itself(output.status)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = bounded(said.lines().last().unwrap_or("it said nothing"));
    ensure!(output.status.success(), "{builder} could not build {what}: {said}");
    Ok(())
}

/// The oldest Go that builds a module, as its `go.mod` has it.
pub(super) fn oldest_go(pins: &Path) -> Option<String> {
    let text = fs::read_to_string(pins.join("go.mod")).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix("go ")?.trim().to_owned()))
}
