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

/// The profile of cargo in which what reads a tool's own record is built. Nothing of it is measured.
pub(super) const READERS_PROFILE: &str = "dev";

/// Builds a pinned tool from the `go.mod` of a folder.
pub(super) fn go(tool: LoadTool, package: &str, pins: &Path, bin: &Path) -> Result<()> {
    let About { name, variable, version, .. } = tool.can();
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

/// Builds a pinned tool from its crate, with the versions of its lock file.
pub(super) fn cargo(tool: LoadTool, root: &Path) -> Result<()> {
    let About { name, version, .. } = tool.can();
    bench_system::note!("building {name} {version} from its crate; this takes about 5 minutes, once");
    let mut install = cargos(tool, "install")?;
    install.args([name, "--version", version, "--root"]).arg(root);
    run(&mut install, "cargo", &format!("{name} {version}"))
}

/// Builds the tool of this workspace.
pub(super) fn here(tool: LoadTool, workspace: &Path) -> Result<()> {
    let About { name, variable, .. } = tool.can();
    ensure!(
        workspace.join("Cargo.toml").is_file(),
        "no {name} next to this program or on the PATH, and no repository to build it from: put it there, or set \
         {variable}=path to it"
    );
    let target =
        std::path::absolute(workspace.join("target")).context("the workspace has no absolute path")?;
    let mut build = cargos(tool, "build")?;
    build
        .args(["--release", "--package", "load-generator", "--target-dir"])
        .arg(target)
        .current_dir(workspace);
    run(&mut build, "cargo", name)
}

/// Builds the package of this workspace that reads a tool's own record, and puts its program into the folder `root`.
pub(super) fn reader(tool: LoadTool, package: &str, root: &Path, workspace: &Path) -> Result<()> {
    let About { name, .. } = tool.can();
    let folder = workspace.join("load-generator").join(package);
    ensure!(
        folder.join("Cargo.toml").is_file(),
        "no {package}, which reads the results of {name}, next to it or on the PATH, and no repository to build it \
         from: put it there"
    );
    let mut install = cargos(tool, "install")?;
    install.args(["--profile", READERS_PROFILE, "--path"]).arg(&folder).arg("--root").arg(root);
    run(&mut install, "cargo", package)
}

/// A command of the program that builds crates.
fn cargos(tool: LoadTool, verb: &str) -> Result<Command> {
    let About { name, variable, version, .. } = tool.can();
    let cargo = env::var_os("CARGO").or_else(|| Some(on_path("cargo")?.into_os_string()));
    let missing = || {
        format!(
            "no {name} and no cargo to build it: install Rust, or set {variable}=path to {name} {version}"
        )
    };
    let mut command = Command::new(cargo.with_context(missing)?);
    without_own_package(&mut command).args([verb, "--locked", "--quiet"]);
    Ok(command)
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
