//! How load tools are built.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::LoadTool;
use super::super::load_tool::{About, Build};
use crate::foreign_text::bounded;
use crate::interrupted::check_ended_by_itself;
use crate::machine::on_path;

/// Builds a tool from the `go.mod` of its folder in that of the tools' pins, into their folder `bin`.
pub(super) fn go(tool: LoadTool, tools: &Path) -> Result<()> {
    let About { name, version, build, .. } = tool.about();
    let Build::Go { package, folder, variable, .. } = build else { return Ok(()) };
    let pins = &tools.join(folder);
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
    let bin = std::path::absolute(tools.join("bin")).context("the tools' folder has no absolute path")?;
    crate::note!("building {name} from {}", pins.join("go.mod").display());
    // The sums in go.sum are checked by Go itself; nothing in the environment may turn the checksum database off.
    let mut go = Command::new("go");
    for variable in ["GONOSUMDB", "GONOSUMCHECK", "GOPRIVATE", "GOSUMDB"] {
        go.env_remove(variable);
    }
    go.args(["install", "-trimpath", package]).current_dir(pins).env("GOBIN", &bin);
    let output = go.output().context("can't start go")?;
    check_ended_by_itself(output.status)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = bounded(said.lines().last().unwrap_or("it said nothing"));
    ensure!(output.status.success(), "go could not build {name} in {}: {said}", pins.display());
    Ok(())
}

/// The oldest Go that builds a module, as its `go.mod` has it.
pub(super) fn oldest_go(pins: &Path) -> Option<String> {
    let text = fs::read_to_string(pins.join("go.mod")).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix("go ")?.trim().to_owned()))
}
