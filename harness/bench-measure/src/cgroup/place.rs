//! Where groups can be made: below the harness' own group of version 1, and in version 2 below the nearest group that
//! shares out the controllers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use procfs::process::Process;

use super::limit_files::{Controller, Version};

/// The file in which a group of version 2 says which controllers the groups below it have.
const SHARED_OUT: &str = "cgroup.subtree_control";

/// Where a group can be made, and which controllers limit it there.
pub(super) type Parent = (Version, PathBuf, Vec<Controller>);

/// A mounted hierarchy.
#[derive(Debug)]
pub(super) struct Mount {
    pub version: Version,
    /// Where it is mounted.
    pub path: PathBuf,
    /// Which part of the hierarchy is mounted there.
    pub root: String,
    /// Its controllers, in version 1.
    pub controllers: Vec<String>,
}

/// The cgroups of this machine, as this process sees them.
#[derive(Debug)]
pub(super) struct System {
    pub mounts: Vec<Mount>,
    /// The group of this process in each hierarchy, with the hierarchy's controllers; none of them in version 2.
    pub own: Vec<(Vec<String>, String)>,
}

impl System {
    /// Reads it.
    ///
    /// # Errors
    /// `/proc` can't be read.
    pub fn read() -> Result<Self> {
        let own = Process::myself().context("can't read /proc/self")?;
        let mounts = own.mountinfo().context("can't read /proc/self/mountinfo")?;
        let mount = |info: procfs::process::MountInfo| {
            let version = match info.fs_type.as_str() {
                "cgroup" => Version::V1,
                "cgroup2" => Version::V2,
                _ => return None,
            };
            let controllers = info.super_options.into_keys().collect();
            Some(Mount { version, path: info.mount_point, root: info.root, controllers })
        };
        let groups = own.cgroups().context("can't read /proc/self/cgroup")?;
        Ok(Self {
            mounts: mounts.into_iter().filter_map(mount).collect(),
            own: groups.into_iter().map(|group| (group.controllers, group.pathname)).collect(),
        })
    }

    /// The parents of a group with these controllers: one in each hierarchy that has some of them.
    ///
    /// # Errors
    /// A controller is in no hierarchy, or this user may not use it.
    pub fn parents(&self, controllers: &[Controller]) -> Result<Vec<Parent>> {
        let mut parents: Vec<Parent> = Vec::new();
        let mut of_v2 = Vec::new();
        for &controller in controllers {
            match self.v1(controller) {
                Some(path) => match parents.iter_mut().find(|(_, known, _)| *known == path) {
                    Some((.., shared)) => shared.push(controller),
                    None => parents.push((Version::V1, path, vec![controller])),
                },
                None => of_v2.push(controller),
            }
        }
        if !of_v2.is_empty() {
            parents.push((Version::V2, self.v2(&of_v2)?, of_v2));
        }
        Ok(parents)
    }

    fn v1(&self, controller: Controller) -> Option<PathBuf> {
        let has = |names: &[String]| names.iter().any(|name| name == controller.name());
        let mount =
            self.mounts.iter().find(|mount| mount.version == Version::V1 && has(&mount.controllers))?;
        let own = self.own.iter().find(|(names, _)| has(names)).map_or("/", |(_, path)| path.as_str());
        Some(own_folder(mount, own))
    }

    /// Where groups of version 2 may have been made: controllers that are requested at one group can be requested
    /// further down from then on.
    pub fn places_of_v2(&self) -> impl Iterator<Item = PathBuf> {
        let mounts = self.mounts.iter().filter(|mount| mount.version == Version::V2);
        mounts.flat_map(|mount| self.own_and_above(mount))
    }

    /// The harness' own group of version 2 and those above it.
    fn own_and_above(&self, mount: &Mount) -> Vec<PathBuf> {
        let own = self.own.iter().find(|(names, _)| names.is_empty()).map_or("/", |(_, path)| path.as_str());
        let own = own_folder(mount, own);
        own.ancestors().take_while(|folder| folder.starts_with(&mount.path)).map(Path::to_owned).collect()
    }

    /// The nearest group above the harness' own, or that itself, which shares out these controllers or can be made to.
    fn v2(&self, controllers: &[Controller]) -> Result<PathBuf> {
        let fields: Vec<&str> = controllers.iter().map(|controller| controller.field()).collect();
        let names: Vec<&str> = controllers.iter().map(|controller| controller.name()).collect();
        let mount = self.mounts.iter().find(|mount| {
            let offered = read(&mount.path, "cgroup.controllers");
            mount.version == Version::V2 && names.iter().all(|name| offered.iter().any(|known| known == name))
        });
        let Some(mount) = mount else {
            bail!(
                "field {}: this machine has no cgroup controller {} that can be used here, neither of version 1 nor \
                 of version 2",
                fields.join(", "),
                names.join(" and ")
            );
        };
        let places = self.own_and_above(mount);
        let own = places.first().unwrap_or(&mount.path);
        let found = places.iter().find(|folder| shares_out(folder, controllers));
        found.cloned().with_context(|| {
            format!(
                "field {}: no group from {} up shares out {}, and this user may not let one; run as root, or delegate \
                 the controllers (docs/USING.md says how)",
                fields.join(", "),
                own.display(),
                names.join(" and ")
            )
        })
    }
}

/// The folder of this process' group; that of the mount, where a container sees only a part of the hierarchy.
fn own_folder(mount: &Mount, own: &str) -> PathBuf {
    let below = own.strip_prefix(mount.root.trim_end_matches('/')).unwrap_or(own);
    let folder = mount.path.join(below.trim_start_matches('/'));
    if folder.is_dir() { folder } else { mount.path.clone() }
}

/// The words of a file in a group.
fn read(group: &Path, file: &str) -> Vec<String> {
    let text = fs::read_to_string(group.join(file)).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Whether the groups below have these controllers, after they were requested where they did not.
fn shares_out(group: &Path, controllers: &[Controller]) -> bool {
    // Below a group with processes no other process may be, except below the root, which alone has no type. The kernel
    // shares `cpu` and `cpuset` out there all the same, for threads, and no group below takes a process after that.
    if group.join("cgroup.type").exists() && !read(group, "cgroup.procs").is_empty() {
        return false;
    }
    let shared = read(group, SHARED_OUT);
    // The kernel refuses a group that lacks a controller itself.
    controllers.iter().all(|controller| shared.iter().any(|known| known == controller.name()))
        || request(group, controllers).is_ok()
}

/// Requests controllers for the groups below one.
pub(super) fn request(group: &Path, controllers: &[Controller]) -> io::Result<()> {
    let wanted: Vec<String> =
        controllers.iter().map(|controller| format!("+{}", controller.name())).collect();
    fs::write(group.join(SHARED_OUT), wanted.join(" "))
}
