//! Builds one server program in several layouts.
//!
//! A program is compiled once for each alignment. rustc links it through `linker.sh`, which links once more for each
//! order.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use bench_core::config::Server;
use bench_core::config::layouts::{Layouts, TARGET};
use bench_core::plan::Plan;

/// The linker that cargo is given, relative to the repository's root.
const LINKER: &str = "target/layouts/linker.sh";

/// Alignment of all functions in every second layout, as the power of two: a cache line.
const ALIGNED: &str = "llvm-args=-align-all-functions=6";

/// Builds the servers of a plan: in layouts where the campaign says so and that is possible.
pub fn build(plan: &Plan) -> Result<()> {
    let (drawn, plain): (Vec<&Server>, Vec<&Server>) =
        plan.servers.iter().partition(|server| plan.draws_layouts_of(server));
    super::build(plain)?;
    plan.campaign.layouts.iter().try_for_each(|layouts| build_in(Path::new("."), &drawn, *layouts))
}

/// Builds servers in layouts, from the repository in a folder.
pub fn build_in(root: &Path, servers: &[&Server], layouts: Layouts) -> Result<()> {
    if servers.is_empty() {
        return Ok(());
    }
    let linker = root.join(LINKER);
    let place = || format!("can't write {}", linker.display());
    fs::create_dir_all(root.join(TARGET)).with_context(place)?;
    fs::write(&linker, include_str!("layouts/linker.sh")).with_context(place)?;
    fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)).with_context(place)?;
    let mut builds: Vec<Server> = Vec::new();
    for &server in servers {
        let mut add = |build| builds.push(Server { build, ..server.clone() });
        if layouts.numbers().any(|number| !root.join(layouts.program(server, number)).is_file()) {
            // Cargo knows of no layout, and would link none where the source is the same.
            add(clean_command(server));
        }
        [false, true].into_iter().for_each(|aligned| add(command(server, layouts, aligned)));
    }
    super::build_in(root, &builds)?;
    for program in servers.iter().flat_map(|server| layouts.numbers().map(|n| layouts.program(server, n))) {
        let path = root.join(program);
        ensure!(path.is_file(), "there is no {}, which its build should have made", path.display());
    }
    Ok(())
}

/// Folder of cargo for a server: that of its own build, with what differs from other servers' (such as features) apart.
fn target_dir(server: &Server) -> String {
    let stated = argument(server, "--target-dir").and_then(|dir| dir.strip_prefix("target/"));
    stated.map_or_else(|| TARGET.to_owned(), |dir| format!("{TARGET}/{dir}"))
}

/// The value behind a flag of a server's build, the last one where it is repeated.
fn argument<'a>(server: &'a Server, flag: &str) -> Option<&'a str> {
    let place = server.build.iter().rposition(|arg| arg == flag)?;
    server.build.get(place + 1).map(String::as_str)
}

/// The way to the repository's root from where cargo starts rustc: the workspace, which a manifest of its own is one
/// of. The way is relative, because cargo makes names of functions from all arguments, and they are to be the same in
/// each clone.
fn root_from_workspace(server: &Server) -> String {
    let folders = argument(server, "--manifest-path").map_or(0, |manifest| manifest.matches('/').count());
    "../".repeat(folders)
}

/// `cargo rustc` for the layouts of one alignment: even numbers are aligned.
fn command(server: &Server, layouts: Layouts, aligned: bool) -> Vec<String> {
    let mut command = vec!["cargo".to_owned(), "rustc".to_owned()];
    let mut args = server.build.iter().skip(2);
    while let Some(arg) = args.next() {
        if arg == "--target-dir" {
            args.next();
        } else {
            command.push(arg.clone());
        }
    }
    let name = server.program.rsplit('/').next().unwrap_or_default();
    if !["--bin", "--example"].iter().any(|flag| command.iter().any(|arg| arg == flag)) {
        command.extend(["--bin", name].map(str::to_owned));
    }
    command.extend(["--target-dir", &target_dir(server), "--", "-C"].map(str::to_owned));
    let root = root_from_workspace(server);
    command.push(format!("linker={root}{LINKER}"));
    if aligned {
        command.extend(["-C", ALIGNED].map(str::to_owned));
    }
    for number in layouts.numbers().filter(|number| (number % 2 == 0) == aligned) {
        let order = u64::from(layouts.seed) * 1_000 + u64::from(number);
        let program = layouts.program(server, number);
        command.extend(["-C".to_owned(), format!("link-arg=--layout={order}:{root}{program}")]);
    }
    command
}

/// `cargo clean` of a server's package alone.
fn clean_command(server: &Server) -> Vec<String> {
    let mut command =
        ["cargo", "clean", "--quiet", "--target-dir", &target_dir(server)].map(str::to_owned).to_vec();
    command.extend(server.build.iter().filter(|arg| *arg == "--release").cloned());
    for flag in ["--profile", "--package", "--manifest-path"] {
        command.extend(argument(server, flag).into_iter().flat_map(|value| [flag, value]).map(str::to_owned));
    }
    command
}

#[cfg(test)]
mod tests;
