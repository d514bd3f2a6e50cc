//! What a person writes: campaigns, workloads and servers, as TOML in one folder. Read, checked, and put together.
//!
//! Every mistake is one line that names the file and the field.

mod along;
mod arm;
mod axes;
mod campaign;
mod campaign_checks;
mod cargo;
mod compared;
mod holds;
mod hosts;
mod instead;
pub mod layouts;
mod network;
mod open_loop;
mod overrides;
pub mod parts;
mod percent;
mod ready;
mod search;
mod server;
mod server_settings;
mod servers_file;
mod stages;
mod variants;
mod view;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::de::DeserializeOwned;

use crate::workload::{Reference, Workload};

pub use along::{Along, variable};
pub use arm::CampaignArm;
pub use axes::{Axes, Except, words_of, written};
pub use campaign::{Campaign, Duets, PassRule};
pub use cargo::built;
pub use holds::Holds;
pub use hosts::{Placed, Pool};
pub use instead::Instead;
pub use network::Network;
pub use open_loop::{Background, Open, Stall};
pub use overrides::Overrides;
pub use percent::Percent;
pub use ready::{Ready, ReadyCall, ReadyLine, RunningAt};
pub use search::{LoadAxis, Search, ServiceLevel};
pub use server::{COLOURS, Server, Upstream, Version};
pub use server_settings::{Described, Environment, Place, Placeholders, Placement, Tuning};
pub use stages::{Ramp, Stages};
pub use variants::Choice;
use variants::Variants;
pub use view::{Fit, Planted, View};

/// The folder with the load tools' pins.
const TOOLS: &str = "tools";

/// The configuration folder: `servers.toml`, `servers.local.toml` where a user has one, `workloads/*.toml`,
/// `campaigns/**/*.toml`.
#[derive(Debug, Clone)]
pub struct ConfigDir(pub PathBuf);

impl ConfigDir {
    /// That of the repository in which this program was built.
    pub fn of_repository() -> Self {
        Self(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-scripts"))
    }

    /// The folder with the pins of the load tools: its own, or else that of the repository in which this program was
    /// built.
    pub fn tools(&self) -> PathBuf {
        let own = self.0.join(TOOLS);
        let of_repository = Self::of_repository().0.join(TOOLS);
        if !own.is_dir() && of_repository.is_dir() { of_repository } else { own }
    }

    /// All servers.
    pub fn servers(&self) -> Result<Vec<Server>> {
        Ok(self.known()?.0.clone())
    }

    /// All servers and which are variants of others: worked out once for the same files, since variants are hundreds.
    fn known(&self) -> Result<Arc<(Vec<Server>, Variants)>> {
        type Last = (PathBuf, [Option<String>; 2], Arc<(Vec<Server>, Variants)>);
        static LAST: Mutex<Option<Last>> = Mutex::new(None);
        let files = [servers_file::FILE, servers_file::OWN_FILE];
        let texts = files.map(|file| fs::read_to_string(self.0.join(file)).ok());
        let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((folder, known, found)) = &*last()
            && (folder, known) == (&self.0, &texts)
        {
            return Ok(Arc::clone(found));
        }
        let found = Arc::new(servers_file::read(&self.0)?);
        *last() = Some((self.0.clone(), texts, Arc::clone(&found)));
        Ok(found)
    }

    /// The server of that name; of a gateway, with the entry of its upstream.
    pub fn server(&self, name: &str) -> Result<Server> {
        let known = self.known()?;
        let (servers, variants) = &*known;
        let among = |name: &str| {
            let found = servers.iter().find(|server| server.name == name);
            found.cloned().ok_or_else(|| {
                let names = servers.iter().map(|server| server.name.as_str());
                let names: Vec<&str> = names.filter(|name| !variants.has_entry(name)).collect();
                let (file, names) = (self.0.join(servers_file::FILE), names.join(", "));
                anyhow!("no server {name:?} in {}; there are: {names}; and their variants", file.display())
            })
        };
        let mut server = among(name)?;
        if let Some(upstream) = &mut server.upstream {
            let entry = among(&upstream.server);
            let entry = entry.with_context(|| format!("server {name:?}: field upstream.server"))?;
            ensure!(
                entry.upstream.is_none(),
                "server {name:?}: field upstream.server: {:?} is a gateway itself; name a server that answers",
                entry.name
            );
            let transport = Some(upstream.transport);
            let overrides = Overrides { transport, ..Overrides::default() };
            upstream.entry = Some(Server { overrides, ..entry });
        }
        Ok(server)
    }

    /// The workload of that name.
    pub fn workload(&self, name: &str) -> Result<Workload> {
        let path = self.named("workloads", name)?;
        let named = |workload: &mut Workload| {
            workload.name = name.to_owned();
            workload.locate(path.parent().unwrap_or(Path::new("")))?;
            let found = workload.references_mut().try_for_each(|reference| self.find_reference(reference));
            found.context("field expected.reference")?;
            workload.check()
        };
        Ok(read_toml(&path, named)?.0)
    }

    /// The first workload by name.
    ///
    /// # Errors
    /// There is none, or it has a mistake.
    pub fn first_workload(&self) -> Result<Workload> {
        let files = self.files("workloads")?;
        let (name, _) = files.first().with_context(|| format!("no workload in {}", self.0.display()))?;
        self.workload(name)
    }

    /// Finds the server that answers are compared with.
    fn find_reference(&self, reference: &mut Reference) -> Result<()> {
        let server = self.server(&reference.server)?;
        let Some(at) = server.running_at() else { return Ok(()) };
        server.target_at(&at.url)?.check_allowed(at.i_own_this_target)?;
        reference.url.clone_from(&at.url);
        reference.access = server.access();
        Ok(())
    }

    /// The campaign of that name, and its text.
    pub fn campaign(&self, name: &str) -> Result<(Campaign, String)> {
        self.campaign_with(name, &Instead::default())
    }

    /// The campaign of that name with what is said in place of its own fields, and its text.
    pub fn campaign_with(&self, name: &str, instead: &Instead) -> Result<(Campaign, String)> {
        read_toml(&self.named("campaigns", name)?, |campaign: &mut Campaign| {
            campaign.name = name.to_owned();
            instead.put_into(campaign)?;
            // Axes alone choose among variants of servers.
            match campaign.axes.is_empty() {
                true => campaign.expand(&Variants::default())?,
                false => campaign.expand(&self.known()?.1)?,
            }
            campaign.servers.extend(campaign.arms.iter().map(|arm| arm.name.clone()));
            campaign.check()
        })
    }

    /// The pool of load hosts of that name; the path of its template is one from here.
    pub fn pool(&self, name: &str) -> Result<Pool> {
        let path = self.0.join("hosts.toml");
        let (mut pools, _) = read_toml(&path, |pools: &mut BTreeMap<String, Pool>| {
            let check =
                |(name, pool): (&String, &mut Pool)| pool.check().with_context(|| format!("pool {name:?}"));
            pools.iter_mut().try_for_each(check)
        })?;
        let names: Vec<String> = pools.keys().cloned().collect();
        let pool = pools.remove(name);
        let mut pool = pool.with_context(|| {
            format!("no pool {name:?} in {}; there are: {}", path.display(), names.join(", "))
        })?;
        name.clone_into(&mut pool.name);
        pool.template = pool.template.map(|template| self.0.join(template));
        Ok(pool)
    }

    /// The path of `NAME.toml` in a folder, or in one inside it.
    ///
    /// # Errors
    /// There is none, or several.
    pub fn named(&self, folder: &str, name: &str) -> Result<PathBuf> {
        let files = self.files(folder)?;
        let paths = files.iter().filter(|(known, _)| known == name).map(|(_, path)| path);
        match paths.collect::<Vec<_>>()[..] {
            [path] => Ok(path.clone()),
            [one, other, ..] => {
                bail!("{name:?} is both {} and {}; rename one of them", one.display(), other.display())
            }
            [] => {
                let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
                bail!("no {name:?} in {}; there are: {}", self.0.join(folder).display(), names.join(", "))
            }
        }
    }

    /// The files of a folder and of those inside it, by their names without `.toml`, sorted.
    ///
    /// # Errors
    /// A folder can't be read.
    pub fn files(&self, folder: &str) -> Result<Vec<(String, PathBuf)>> {
        let mut folders = vec![self.0.join(folder)];
        let mut files = Vec::new();
        while let Some(dir) = folders.pop() {
            for entry in fs::read_dir(&dir).with_context(|| format!("can't read {}", dir.display()))? {
                let path = entry?.path();
                let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".toml"));
                match name.map(str::to_owned) {
                    _ if path.is_dir() => folders.push(path),
                    Some(name) => files.push((name, path)),
                    None => {}
                }
            }
        }
        files.sort();
        Ok(files)
    }
}

/// A campaign from its text, which stands in no file.
///
/// # Errors
/// One line with the field.
pub fn campaign_of(name: &str, text: &str) -> Result<Campaign> {
    let mut campaign: Campaign = parse_toml(Path::new(name), text)?;
    name.clone_into(&mut campaign.name);
    campaign.check().with_context(|| name.to_owned())?;
    Ok(campaign)
}

/// Reads and checks a file; gives its text, too.
fn read_toml<T>(path: &Path, check: impl FnOnce(&mut T) -> Result<()>) -> Result<(T, String)>
where
    T: DeserializeOwned,
{
    let text = crate::text_files::read(path)?;
    let mut value = parse_toml(path, &text)?;
    check(&mut value).with_context(|| path.display().to_string())?;
    Ok((value, text))
}

/// Parses TOML; an error is one line with the file, the line in it, and the field.
fn parse_toml<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        // A mistake of the file as a whole has no place in it, or its beginning.
        let line = error
            .span()
            .filter(|span| span.start > 0)
            .map_or_else(String::new, |span| format!(":{}", line_at(text, span.start)));
        anyhow!("{}{line}: {}", path.display(), mistake(text, &error))
    })
}

/// Reads a value that stands in no file; an error is one line.
fn read_value<T: DeserializeOwned>(value: toml::Value) -> Result<T> {
    value.try_into().map_err(|error: toml::de::Error| anyhow!("{}", error.message().replace('\n', " ")))
}

/// The line, from 1, in which a byte of a text stands.
fn line_at(text: &str, byte: usize) -> usize {
    text[..byte.min(text.len())].matches('\n').count() + 1
}

/// What is wrong in a text, with its field.
fn mistake(text: &str, error: &toml::de::Error) -> String {
    let field = error
        .span()
        .and_then(|span| text[..span.start.min(text.len())].rsplit('\n').next())
        .and_then(|line| line.split('=').next())
        .map(str::trim)
        .filter(|field| !field.is_empty() && !field.starts_with('['))
        .map_or_else(String::new, |field| format!("field {field}: "));
    format!("{field}{}", error.message().replace('\n', " "))
}

#[cfg(test)]
mod tests;
