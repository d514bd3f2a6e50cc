//! Where servers run, and with whose settings.

use serde::{Deserialize, Serialize};

/// Which cores server and load tool may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Any core that the harness may use; the kernel decides.
    #[default]
    Free,
    /// Both share one core, because cores of one machine can disturb each other. Rates are those of one core.
    OneCore,
    /// Two servers that are compared share one core with their load tools, at the same time: what disturbs one disturbs
    /// the other as much (a duet, after Bulej and others, 2020). Rates are those of about half a core.
    Duet,
}

impl Placement {
    /// Which cores server and load generator used, for a reader.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Free => "server and load generator on all cores, as the kernel puts them",
            Self::OneCore => "server and load generator together on one core",
            Self::Duet => "both servers and their load generators together on one core, at the same time",
        }
    }
}

/// Whose settings a server runs with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tuning {
    /// The same settings for every server, set explicitly.
    #[default]
    Equal = 1,
    /// Each framework's own defaults.
    Shipped,
}

impl From<Tuning> for u64 {
    fn from(tuning: Tuning) -> Self {
        tuning as Self
    }
}

impl Tuning {
    /// As the servers' flag has it.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Shipped => "shipped",
        }
    }
}
