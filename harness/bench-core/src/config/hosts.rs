//! Load hosts: `hosts.toml`, a table for each pool of machines that put load on a server together.
//!
//! A pool says how a command is started on its hosts: an argument vector, never a line for a shell. What places
//! processes on machines (Slurm, ssh, Kubernetes) exists; the harness brings the plan, the start time and the merge.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::field_checks::{distinct, within};

/// The most hosts of a pool.
const MOST: u64 = 1_000;

/// The longest time from placing hosts to their start, in milliseconds.
const LONGEST_LEAD_MS: u64 = 600_000;

/// Load hosts, and how a command is started on them.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Its name: that of its table.
    #[serde(default)]
    pub name: String,
    /// How many hosts; may be left out where `names` lists them.
    #[serde(default)]
    pub hosts: u32,
    /// The hosts' names, in the order of their ranks. Needed by a launcher that is started for each host, or gives no
    /// ranks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The command that starts the agents, with placeholders: `{agent}` this program, `{plan}` `{start_at}` `{out}`
    /// what an agent needs, `{n}` the number of hosts, `{hosts}` their names with commas, `{id}` digits that no other
    /// load has. With `{rank}` or `{host}` in it, it is started once for each host.
    pub launcher: Vec<String>,
    /// Whether a shell on the host splits the launcher's arguments again, as ssh's does, so that what placeholders
    /// stand for is quoted. Where left out, it does for the launchers `ssh`, `clush` and `pdsh`.
    pub remote_shell: Option<bool>,
    /// A file in which the same placeholders are filled in; `{job}` in the launcher is the result.
    pub template: Option<PathBuf>,
    /// The address of this machine that servers listen on, so that the hosts reach them; the loopback interface where
    /// left out.
    pub listen: Option<IpAddr>,
    /// From placing the hosts to their start, in milliseconds. A host that is placed later makes the trial void.
    #[serde(default = "three_seconds")]
    pub lead_ms: u64,
}

const fn three_seconds() -> u64 {
    3_000
}

/// What a launcher's placeholders stand for.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'a> {
    /// This program.
    pub agent: &'a Path,
    /// The hosts' plan.
    pub plan: &'a Path,
    /// When all begin, as a UTC time.
    pub start_at: &'a str,
    /// The folder for what they write.
    pub out: &'a Path,
    /// The filled template.
    pub job: &'a Path,
    /// The rank, where the launcher is started for each host.
    pub rank: Option<u32>,
}

impl Pool {
    /// Every placeholder.
    const PLACEHOLDERS: [&str; 10] =
        ["{agent}", "{plan}", "{start_at}", "{out}", "{id}", "{job}", "{n}", "{hosts}", "{host}", "{rank}"];

    /// Launchers that leave their arguments to a shell on each host.
    const LEAVE_TO_A_SHELL: [&str; 3] = ["ssh", "clush", "pdsh"];

    /// Checks what was read, and counts the hosts by their names where only these are given.
    ///
    /// # Errors
    /// One line: which field, and what to give.
    pub fn check(&mut self) -> Result<()> {
        if !self.names.is_empty() {
            distinct("names", &self.names)?;
            // Launchers get several names with commas between them, and take what begins with a dash for an option.
            let is_part = |c: char| c.is_ascii_alphanumeric() || "-._@:".contains(c);
            for name in &self.names {
                let is_name = !name.is_empty() && !name.starts_with('-') && name.chars().all(is_part);
                ensure!(is_name, "field names: {name:?} is no host's name");
            }
            let (hosts, names) = (self.hosts, self.names.len() as u32);
            let is_same = hosts == 0 || hosts == names;
            ensure!(is_same, "field hosts: {hosts} hosts, and names lists {names}; leave hosts out");
            self.hosts = names;
        }
        within("hosts", self.hosts.into(), 1, MOST)?;
        within("lead_ms", self.lead_ms, 500, LONGEST_LEAD_MS)?;
        let has_program = self.launcher.first().is_some_and(|program| !program.trim().is_empty());
        ensure!(has_program, "field launcher: is empty; give a program and its arguments");
        for arg in &self.launcher {
            if let Some(unknown) = unknown_placeholder(arg) {
                let known = Self::PLACEHOLDERS.join(" ");
                bail!("field launcher: {unknown} stands for nothing; there are {known}");
            }
        }
        if let Some(listen) = self.listen.filter(IpAddr::is_unspecified) {
            bail!(
                "field listen: hosts can't send to {listen}; give the address of this machine that they reach"
            );
        }
        for placeholder in ["{plan}", "{start_at}", "{out}"] {
            let has_it = self.template.is_some() || self.uses(placeholder);
            ensure!(has_it, "field launcher: has no {placeholder}; agents can't begin without it");
        }
        let is_used = self.template.is_none() || self.uses("{job}");
        ensure!(is_used, "field template: the launcher has no {{job}}, which stands for the filled file");
        let has_names = !self.uses("{host}") && !self.uses("{hosts}") || !self.names.is_empty();
        ensure!(has_names, "field names: is empty; the launcher names hosts");
        Ok(())
    }

    fn uses(&self, placeholder: &str) -> bool {
        self.launcher.iter().any(|arg| arg.contains(placeholder))
    }

    /// Whether its launcher is started once for each host.
    pub fn is_started_for_each(&self) -> bool {
        self.uses("{rank}") || self.uses("{host}")
    }

    /// What a reader knows a host by.
    pub fn name_of(&self, rank: u32) -> String {
        let name = self.names.get(rank as usize);
        name.map_or_else(|| format!("host {rank}"), |name| format!("host {rank} ({name})"))
    }

    /// The template's text with its placeholders filled in.
    pub fn filled(&self, text: &str, placed: &Placed<'_>) -> String {
        self.filled_by(text, placed, str::to_owned)
    }

    /// A text with its placeholders filled in; what a host's shell might split goes through `quoted`.
    fn filled_by(&self, text: &str, placed: &Placed<'_>, quoted: fn(&str) -> String) -> String {
        let Placed { agent, plan, start_at, out, job, rank } = *placed;
        let host = rank.and_then(|rank| self.names.get(rank as usize)).cloned().unwrap_or_default();
        [
            ("{agent}", quoted(&agent.display().to_string())),
            ("{plan}", quoted(&plan.display().to_string())),
            ("{start_at}", start_at.to_owned()),
            ("{out}", quoted(&out.display().to_string())),
            ("{id}", start_at.chars().filter(char::is_ascii_digit).collect()),
            ("{job}", job.display().to_string()),
            ("{n}", self.hosts.to_string()),
            ("{hosts}", self.names.join(",")),
            ("{host}", host),
            ("{rank}", rank.map(|rank| rank.to_string()).unwrap_or_default()),
        ]
        .iter()
        .fold(text.to_owned(), |text, (placeholder, value)| text.replace(placeholder, value))
    }

    /// The launcher's commands: one, or one for each host.
    pub fn commands(&self, placed: &Placed<'_>) -> Vec<Vec<String>> {
        let program = self.launcher.first().and_then(|program| Path::new(program).file_name()?.to_str());
        let leaves = program.is_some_and(|program| Self::LEAVE_TO_A_SHELL.contains(&program));
        let quoted = if self.remote_shell.unwrap_or(leaves) { in_single_quotes } else { str::to_owned };
        let command = |rank| {
            let placed = Placed { rank, ..*placed };
            self.launcher.iter().map(|arg| self.filled_by(arg, &placed, quoted)).collect()
        };
        match self.is_started_for_each() {
            true => (0..self.hosts).map(|rank| command(Some(rank))).collect(),
            false => vec![command(None)],
        }
    }
}

/// A word for a shell.
fn in_single_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// What looks like a placeholder and is none.
fn unknown_placeholder(arg: &str) -> Option<String> {
    let begins = arg.match_indices('{').map(|(at, _)| &arg[at..]);
    let words = begins.filter_map(|rest| Some(&rest[..=rest.find('}')?]));
    let is_name = |word: &&str| word[1..word.len() - 1].chars().all(|c| c.is_ascii_lowercase() || c == '_');
    words.filter(is_name).find(|word| !Pool::PLACEHOLDERS.contains(word)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::ConfigDir;
    use super::*;
    use crate::tests::each_is_refused;

    fn shipped() -> ConfigDir {
        ConfigDir::of_repository()
    }

    fn placed<'a>() -> Placed<'a> {
        Placed {
            agent: Path::new("/a"),
            plan: Path::new("/o/plan.json"),
            start_at: "T",
            out: Path::new("/o"),
            job: Path::new("/o/job.yaml"),
            rank: None,
        }
    }

    #[test]
    fn every_shipped_pool_is_sound_and_leaves_no_placeholder() {
        for name in ["here", "ssh", "slurm", "clush", "mpirun", "kubernetes"] {
            let pool = shipped().pool(name).unwrap();
            let commands = pool.commands(&placed());
            assert_eq!(commands.len(), if pool.is_started_for_each() { pool.hosts as usize } else { 1 });
            let text = commands.concat().join(" ");
            assert!(!text.contains(['{', '}']), "{name}: {text}");
        }
        let slurm = shipped().pool("slurm").unwrap().commands(&placed()).concat();
        assert_eq!(slurm[..4], ["srun", "--overlap", "-N3", "--ntasks-per-node=1"]);
        let ssh = shipped().pool("ssh").unwrap();
        let [first, second] = [0, 1].map(|rank| ssh.commands(&placed())[rank].join(" "));
        assert!(first.contains(&ssh.names[0]) && first.contains("--rank 0"), "{first}");
        assert!(second.contains(&ssh.names[1]) && second.contains("--rank 1"), "{second}");
    }

    #[test]
    fn what_a_hosts_shell_would_split_is_quoted() {
        let mut pool = shipped().pool("ssh").unwrap();
        let placed = Placed { out: Path::new("/it's mine/o $x"), ..placed() };
        let said = |pool: &Pool| pool.commands(&placed)[0].last().unwrap().clone();
        // As a shell reads it.
        let output =
            std::process::Command::new("sh").arg("-c").arg(format!("printf %s {}", said(&pool))).output();
        assert_eq!(output.unwrap().stdout, b"/it's mine/o $x");
        pool.remote_shell = Some(false);
        assert_eq!(said(&pool), "/it's mine/o $x");
        let mpirun = shipped().pool("mpirun").unwrap();
        assert_eq!(said(&mpirun), "/it's mine/o $x");
    }

    #[test]
    fn rubbish_in_a_pool_is_named() {
        let good = "hosts = 2\nlauncher = [\"run\", \"{plan}\", \"{start_at}\", \"{out}\"]\n";
        toml::from_str::<Pool>(good).unwrap().check().unwrap();
        each_is_refused("pools", good, |text| toml::from_str::<Pool>(text).unwrap().check());
        assert!(toml::from_str::<Pool>("launcher = \"srun agent\"").is_err(), "a line for a shell");
        assert!(toml::from_str::<Pool>(&format!("{good}nodes = 3")).is_err(), "an unknown field");
        assert!(shipped().pool("nobody").unwrap_err().to_string().contains("there are: clush"));
    }
}
