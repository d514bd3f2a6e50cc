//! In how many layouts a campaign has each server, and where the program of each is: its functions in drawn orders and
//! at two alignments. Which order a build happens to have moves CPU time by some percent, so a ratio between two
//! programs is one between many builds of each.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::Server;
use crate::field_checks::within;

/// What is built in layouts has a target folder of its own.
pub const TARGET: &str = "target/layouts";

/// The folder in it of the programs, one for each layout.
pub const PROGRAMS: &str = "programs";

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
    pub fn numbers(self) -> std::ops::RangeInclusive<u32> {
        1..=self.count
    }

    /// Where a layout's program of a server is, relative to the repository's root.
    pub fn program(self, server: &Server, number: u32) -> String {
        format!("{}{TARGET}/{PROGRAMS}/{}-{}-{number}", checkout(server), plain(server), self.seed)
    }
}

/// The folder in which a server's repository lies, with a slash at its end; empty where that is this one.
pub fn checkout(server: &Server) -> &str {
    server.checkout.as_deref().unwrap_or_default()
}

/// A server's program as cargo links it, relative to the folder of what is built.
pub fn plain(server: &Server) -> &str {
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
