//! A results folder: one run, kept whole. What was measured is only added to; what is worked out from it is written
//! again. Packing moves the former into `run.tar.xz`.
//!
//! `campaign.toml` as it was written, `plan.json` with all that was resolved from it, `environment.json`,
//! `observations.ndjson` with one line a trial (once the run is packed, the last three are in `run.tar.xz`),
//! `tool-output/` byte for byte; and what is worked out from these and can be made again: `summary.json`, `report.md`,
//! `report.html`, `*.svg`.

mod archive;
mod conditions;
mod kept;
mod lock;
mod own;
mod pack;
mod retired;
mod views;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::observation::Observation;
use crate::plan::{FORMAT, Plan, Trial};

pub use archive::{unpack_stages, with_ending};
pub use conditions::{Conditions, Resumed};
pub use kept::kept;
pub use lock::Lock;
pub use own::{OF_HOSTS, remove_all};

/// The folder of what each load tool can send, inside a run's folder.
pub const CEILINGS: &str = "ceilings";

/// The folder of a run's duets, inside its own.
pub const DUETS: &str = "duets";
/// The folder of the trials with remedies, in a run's folder, and the file that says what each of them is about.
pub const REMEDIES: &str = "remedies";
/// See [`REMEDIES`].
pub const REMEDY: &str = "remedy.json";

/// The folder inside a run's folder in which loads are searched: a run of its own.
pub const SEARCH: &str = "search";

/// The folder of the searches with remedies, inside that of the searches without.
pub const REMEDIED: &str = "remedied";

/// The file that only such a folder has.
pub const SEARCHES: &str = "searches.json";
/// All that was resolved from the campaign.
pub const PLAN: &str = "plan.json";
/// What a run was measured with and on.
pub const ENVIRONMENT: &str = "environment.json";

/// The report of a run, and the estimates behind it for programs: both are worked out from the observations.
pub const REPORT: &str = "report.md";
/// See [`REPORT`].
pub const SUMMARY: &str = "summary.json";

/// The folder of what load tools and servers printed.
const TOOL_OUTPUT: &str = "tool-output";

/// Where trials' observations are.
const OBSERVATIONS: &str = "observations.ndjson";

/// The folder of a run.
#[derive(Debug, Clone)]
pub struct RunFolder(pub PathBuf);

impl RunFolder {
    /// Makes a new folder under `results`, named by time and campaign; a name that is taken gets a number.
    pub fn create(results: &Path, campaign: &str) -> Result<Self> {
        let hint = "choose another folder with --results";
        fs::create_dir_all(results).with_context(|| format!("can't create {}; {hint}", results.display()))?;
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H%M%SZ").to_string();
        for number in 1..100 {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let name = format!("{time}-{campaign}{suffix}");
            let path = results.join(&name);
            match fs::create_dir(&path) {
                Ok(()) => return Self::create_inside(&Self(results.to_owned()), &name),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("can't create {}; {hint}", path.display()));
                }
            }
        }
        bail!("{} holds a hundred runs of this second", results.display())
    }

    /// Makes the folder of a run that belongs to another one, inside its folder.
    pub fn create_inside(outer: &Self, name: &str) -> Result<Self> {
        let path = outer.0.join(name);
        let tools = path.join(TOOL_OUTPUT);
        fs::create_dir_all(&tools).with_context(|| format!("can't create {}", tools.display()))?;
        Ok(Self(path))
    }

    /// Opens the folder of a run that belongs to this one to resume it, where it has been begun: what a crash cut off
    /// is repaired. What it left of one that was not begun is removed: nothing was measured in it yet.
    pub fn open_inside(outer: &Self, name: &str) -> Result<Option<Self>> {
        let inner = outer.inside(name);
        inner.iter().try_for_each(Self::repair)?;
        let path = outer.0.join(name);
        if inner.is_none() && path.is_dir() {
            let shown = path.display();
            ensure!(
                !path.join(OBSERVATIONS).exists(),
                "{shown} has observations and no plan.json; restore that file, or move the folder away to measure again"
            );
            own::remove_all(&path)
                .with_context(|| format!("{shown} has no plan.json, so it is begun again, but"))?;
        }
        Ok(inner)
    }

    /// Trials that have an observation, in folders inside too, but for those that show what a load tool can send.
    pub fn kept_trials(&self) -> usize {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let inside = entries.filter(|entry| entry.path().is_dir() && entry.file_name() != CEILINGS);
        let kept: usize = inside.map(|entry| Self(entry.path()).kept_trials()).sum();
        kept + self.observations().map_or(0, |observations| observations.len())
    }

    /// The folder of a run that belongs to this one, where it has been begun.
    pub fn inside(&self, name: &str) -> Option<Self> {
        let path = self.0.join(name);
        archive::is_there(&path.join(PLAN)).then_some(Self(path))
    }

    /// Opens the folder of a run; the stages of a packed one are unpacked.
    pub fn open(path: &Path) -> Result<Self> {
        unpack_stages(path)?;
        ensure!(path.is_dir(), "{} is no results folder: there is no such folder", path.display());
        ensure!(
            archive::is_there(&path.join(PLAN)),
            "{} is no results folder: it has no plan.json",
            path.display()
        );
        Ok(Self(path.to_owned()))
    }

    /// Opens the newest run of a campaign in a folder of runs; their names begin with the time.
    pub fn newest(results: &Path) -> Result<Self> {
        let is_run = |path: &PathBuf| archive::is_there(&path.join(PLAN));
        let newest = own::sorted(results)?.into_iter().rfind(is_run);
        Self::open(&newest.with_context(|| format!("{} holds no run", results.display()))?)
    }

    /// The folder's own name.
    pub fn name(&self) -> String {
        self.0.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Where a tool's or a server's own output of a trial goes.
    pub fn tool_output(&self, trial: &Trial, what: &str) -> PathBuf {
        let Trial { number, block, server, workload, connections, client, rate, tool, disturbed, .. } = trial;
        let client = if client.is_default() { String::new() } else { format!("-{}", client.name()) };
        let load = match rate {
            None => format!("c{connections}{client}"),
            Some(rate) => format!("r{rate}-{}{}", tool.name(), if *disturbed { "-disturbed" } else { "" }),
        };
        let workload = file_part(workload);
        let name = format!("{number:04}-b{block}-{server}-{workload}-{load}.{what}");
        self.0.join(TOOL_OUTPUT).join(name)
    }

    /// Writes a file that is not there yet.
    pub fn write_new(&self, name: &str, text: &str) -> Result<()> {
        let path = self.0.join(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("can't write {}", path.display()))
    }

    /// Writes a file that is worked out from the rest, in place of an earlier one, whole or not at all.
    pub fn write_derived(&self, name: &str, text: &str) -> Result<()> {
        let path = self.0.join(name);
        let draft = self.0.join(format!(".{name}.draft"));
        let written = fs::write(&draft, text).and_then(|()| fs::rename(&draft, &path));
        if written.is_err() {
            // Nothing is left behind where there was no room; that the draft may not even exist is fine.
            let _ = fs::remove_file(&draft);
        }
        written.with_context(|| format!("can't write {}", path.display()))
    }

    /// Adds an observation and brings it to the disk.
    pub fn append(&self, observation: &Observation) -> Result<()> {
        self.append_to(OBSERVATIONS, observation)
    }

    /// Adds a line of JSON to a file and brings it to the disk.
    pub fn append_to(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let path = self.0.join(name);
        ensure!(!archive::is_packed(&self.0), "can't add to {}: it is packed", path.display());
        let mut line = serde_json::to_string(value)?;
        line.push('\n');
        let written = OpenOptions::new().create(true).append(true).open(&path).and_then(|mut file| {
            file.write_all(line.as_bytes())?;
            // A device can't be brought to a disk; that is not what this is for.
            file.sync_data().or(Ok(()))
        });
        written.with_context(|| format!("can't add to {}", path.display()))
    }

    /// The observations so far, in the order they were made. A last line without its end was cut off by a crash and
    /// does not count; its trial is run again.
    ///
    /// # Errors
    /// The file can't be read, or a line of it is no observation.
    pub fn observations(&self) -> Result<Vec<Observation>> {
        self.lines(OBSERVATIONS)
    }

    /// The whole lines of a file of JSON lines; none where there is no such file.
    pub fn lines<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>> {
        let path = self.0.join(name);
        let context = || format!("can't read {}", path.display());
        let Some(mut reader) = archive::open_lines(&path).with_context(context)? else {
            return Ok(Vec::new());
        };
        let mut values = Vec::new();
        let mut line = String::new();
        while reader.read_line(&mut line).with_context(context)? > 0 {
            if line.ends_with('\n') {
                let place = || format!("{}:{}", path.display(), values.len() + 1);
                let value = serde_json::from_str(&line).with_context(place)?;
                values.push(value);
            }
            line.clear();
        }
        Ok(values)
    }

    /// Cuts last lines off its files of lines that have no end, so that the next ones start on their own.
    pub fn repair(&self) -> Result<()> {
        for path in own::sorted(&self.0).with_context(|| format!("can't repair {}", self.0.display()))? {
            if path.is_file() && is_lines(&path) {
                repair_lines(&path).with_context(|| format!("can't repair {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// Reads the plan.
    ///
    /// # Errors
    /// It can't be read, or the run is of another format.
    pub fn plan(&self) -> Result<Plan> {
        let path = self.0.join(PLAN);
        let mut value: Value = self.read_json(PLAN)?;
        let format = value["format"].as_str().unwrap_or("unknown");
        ensure!(
            format == FORMAT,
            "{}: the run's format is {format}, and this version reads format {FORMAT}; use the version that made the \
             run, or measure again",
            path.display()
        );
        retired::take_out(&mut value);
        let context = || format!("{} is not of this version's format", path.display());
        let mut plan: Plan = serde_json::from_value(value).with_context(context)?;
        if let Some(views) = self.views()? {
            plan.campaign.views = views;
        }
        Ok(plan)
    }

    /// Removes what the tools printed in a trial: files, and the folders of its load hosts.
    pub fn forget_tool_output(&self, trial: &Trial) -> Result<()> {
        let beginning = self.tool_output(trial, "").display().to_string();
        for path in own::sorted(&self.0.join(TOOL_OUTPUT))? {
            let name = path.display().to_string();
            match name.starts_with(&beginning) {
                true if !path.is_dir() => own::remove(&path)?,
                true if name.ends_with(OF_HOSTS) => remove_all(&path)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads what the run was measured with and on.
    pub fn conditions(&self) -> Result<Conditions> {
        self.read_json(ENVIRONMENT)
    }

    /// Whether that is known, packed or not: a stage may be measured with and on what its run was.
    pub fn has_conditions(&self) -> bool {
        archive::is_there(&self.0.join(ENVIRONMENT))
    }

    /// Records that the run is resumed.
    pub fn note_resumed(&self, resumed: Resumed) -> Result<()> {
        let mut conditions = self.conditions()?;
        conditions.resumed.push(resumed);
        self.write_derived(ENVIRONMENT, &pretty(&conditions)?)
    }

    /// Whether a run is here, even one that can't be read: a plan, or an archive.
    pub fn is_run(&self) -> bool {
        [PLAN, archive::ARCHIVE].iter().any(|name| self.0.join(name).is_file())
    }

    /// Whether it has a plan, packed or not.
    pub fn has_plan(&self) -> bool {
        archive::is_there(&self.0.join(PLAN))
    }

    /// Reads a file of JSON, packed or not.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let path = self.0.join(name);
        let text = archive::read_text(&path).with_context(|| format!("can't read {}", path.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is not of this version's format", path.display()))
    }
}

/// Whether a file is one of JSON lines, by its name.
fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "ndjson")
}

fn repair_lines(path: &Path) -> std::io::Result<()> {
    let text = fs::read(path)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if whole == text.len() {
        return Ok(());
    }
    OpenOptions::new().write(true).open(path)?.set_len(whole as u64)
}

/// JSON for a file that a person may read.
pub fn pretty(value: &impl Serialize) -> Result<String> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}

/// Bytes of a name that a file's name has of it.
const LONGEST_PART: usize = 80;

/// A name as a part of a file's name: as it is where it can be one, and else its plain signs with a number that tells
/// it from others. The name of a method may have any sign and any length.
pub fn file_part(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.len() <= LONGEST_PART && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(LONGEST_PART / 2);
    let number: String = Sha256::digest(name).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{number}", plain.collect::<String>())
}

#[cfg(test)]
mod tests;
