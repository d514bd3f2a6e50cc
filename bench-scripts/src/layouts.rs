//! One server program in several layouts: its functions in drawn orders and at two alignments. Which order a build happens to
//! have moves CPU time by some percent, so a ratio between two programs is one between many builds of each.
//!
//! A program is compiled once for each alignment. rustc links it through `linker.sh`, which links once more for each order.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::config::{Campaign, Server};
use crate::field_checks::within;
use crate::plan::{Plan, Trial, shuffle};
use crate::subject;

/// What is built in layouts has a target folder of its own.
pub const TARGET: &str = "target/layouts";

/// The folder in it of the programs, one for each layout.
pub const PROGRAMS: &str = "programs";

/// The linker that cargo is given, relative to the repository's root.
const LINKER: &str = "target/layouts/linker.sh";

/// Alignment of all functions in every second layout, as the power of two: a cache line.
const ALIGNED: &str = "llvm-args=-align-all-functions=6";

/// Keeps the draw of layouts apart from that of the trials' order, which is from the same seed.
const STREAM: u64 = 0x006c_6179_6f75_7473;

/// In how many layouts each server is built, and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layouts {
    /// How many; each block of a campaign draws one of them for each server.
    pub count: u32,
    /// Layout N has the order that lld draws from this and N, so that other seeds are other layouts.
    pub seed: u32,
}

impl Layouts {
    /// Whether they can be built.
    ///
    /// # Errors
    /// One line with the field.
    pub fn check(&self) -> Result<()> {
        within("layouts.count", self.count.into(), 2, 100)?;
        within("layouts.seed", self.seed.into(), 0, 1_000_000)
    }

    /// The numbers of the layouts, from 1.
    pub(crate) fn numbers(self) -> std::ops::RangeInclusive<u32> {
        1..=self.count
    }

    /// Where a layout's program of a server is, relative to the repository's root.
    fn program(self, server: &Server, number: u32) -> String {
        format!("{}{TARGET}/{PROGRAMS}/{}-{}-{number}", checkout(server), plain(server), self.seed)
    }
}

/// The folder in which a server's repository lies, with a slash at its end; empty where that is this one. Another commit's is below `target/`.
pub fn checkout(server: &Server) -> &str {
    server.program.rsplit_once("target/").map_or("", |(checkout, _)| checkout)
}

/// A server's program as cargo links it, relative to the folder of what is built.
fn plain(server: &Server) -> &str {
    server.program.rsplit_once("target/").map_or(&*server.program, |(_, plain)| plain)
}

/// Whether a server can be built in layouts: it is one program of one cargo package.
pub fn can_be_drawn(server: &Server) -> bool {
    server.build.starts_with(&["cargo", "build"].map(str::to_owned)) && server.upstream.is_none()
}

/// A server as it is in a layout.
#[must_use]
pub fn in_layout(server: &Server, layouts: Layouts, number: u32) -> Server {
    Server { program: layouts.program(server, number), ..server.clone() }
}

/// Draws a layout for each program and block: each in turn in a drawn order, and again in another one where the blocks are more. A
/// program has one layout in all trials of a block, so that what differs in a block by its layouts does so in each pair. That is also so for
/// the same program of another commit: most of what a layout does is then the same on both sides.
pub fn draw(campaign: &Campaign, servers: &[Server], trials: &mut [Trial]) {
    let Some(layouts) = campaign.layouts else { return };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(campaign.seed ^ STREAM);
    let blocks = trials.iter().map(|trial| trial.block).max().unwrap_or(0) as usize;
    let mut of_programs: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for server in servers.iter().filter(|server| can_be_drawn(server)) {
        let drawn = of_programs.entry(plain(server)).or_default();
        while drawn.len() < blocks {
            let mut turn: Vec<u32> = layouts.numbers().collect();
            shuffle(&mut turn, &mut random);
            drawn.extend(turn);
        }
        for trial in trials.iter_mut().filter(|trial| trial.server == server.name) {
            trial.layout = drawn.get(trial.block as usize - 1).copied();
        }
    }
}

/// Which layouts a plan's servers have, for a reader; `None` where the campaign draws none.
pub fn words(plan: &Plan) -> Option<String> {
    let Layouts { count, seed } = plan.campaign.layouts?;
    let plain = plan.servers.iter().filter(|server| !can_be_drawn(server)).map(Server::label);
    let plain: Vec<&str> = plain.collect();
    let but = match plain.is_empty() {
        true => String::new(),
        false => format!("; of one program each, whose luck is in no interval: {}", plain.join(", ")),
    };
    Some(format!(
        "{count} of each server (seed {seed}), one drawn for each block: all functions in a drawn order, and at 64 bytes in every second \
         one. So intervals allow for what the layout of a build does{but}"
    ))
}

/// Builds the servers of a plan: in layouts where the campaign says so and that is possible.
pub fn build(plan: &Plan) -> Result<()> {
    let (drawn, plain): (Vec<&Server>, Vec<&Server>) =
        plan.servers.iter().partition(|server| plan.draws_layouts_of(server));
    subject::build(&plain.into_iter().cloned().collect::<Vec<_>>())?;
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
        if layouts.numbers().any(|number| !root.join(layouts.program(server, number)).is_file()) {
            // Cargo knows of no layout, and would link none where the source is the same.
            builds.push(Server { build: clean_command(server), ..server.clone() });
        }
        let of = |aligned| Server { build: command(server, layouts, aligned), ..server.clone() };
        builds.extend([of(false), of(true)]);
    }
    subject::build_in(root, &builds)?;
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

/// The value behind a flag of a server's build.
fn argument<'a>(server: &'a Server, flag: &str) -> Option<&'a str> {
    let place = server.build.iter().position(|arg| arg == flag)?;
    server.build.get(place + 1).map(String::as_str)
}

/// The way to the repository's root from where cargo starts rustc: the workspace, which a manifest of its own is one of. The way is
/// relative, because cargo makes names of functions from all arguments, and they are to be the same in each clone.
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
