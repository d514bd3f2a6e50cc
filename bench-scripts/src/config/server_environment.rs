//! What servers run in: the settings that a campaign gives all of them, and those that an arm changes.
//!
//! A setting is a field of [`Environment`] and, where arms may change it, a field of [`Overrides`] and an entry of [`SETTINGS`]. From
//! here come the arguments of a started server, and the words for a reader.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use validator_state::SeededSpec;

use super::percent::Percent;
use crate::field::within;
use crate::probe::host;
use crate::probe::other_processes::MUCH_FOREIGN;
use crate::words::count;

/// What the servers run in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Whose settings: the same for all, or each framework's own.
    pub tuning: Tuning,
    /// Threads of each server; the number of cores where left out. Ignored by `shipped` tuning.
    pub threads: Option<u32>,
    /// Accounts in the seeded ledger.
    pub accounts: usize,
    /// Slots in the seeded ledger.
    pub slots: u64,
    /// Seed of the ledger.
    pub ledger_seed: u64,
    /// After how many polls a tokio worker takes a task from the runtime's global queue; tokio decides where left out or 0.
    pub global_queue_interval: Option<u32>,
    /// Simulated time of reading one slot of a getBlocks answer from a block store, in nanoseconds; none where left out or 0.
    pub walk_ns_per_slot: Option<u64>,
    /// How far the load tool gives way to other processes, from 0 (as any other, where left out) to 19.
    pub tool_niceness: Option<u8>,
    /// Which cores server and load tool may use.
    #[serde(default)]
    pub placement: Placement,
    /// The share of the processors' time that other processes may use in a window; a trial with more is invalid.
    #[serde(default = "default_max_foreign_cpu", deserialize_with = "Percent::up_to_all")]
    pub max_foreign_cpu: Percent,
}

fn default_max_foreign_cpu() -> Percent {
    Percent(MUCH_FOREIGN)
}

/// Settings of one server where they differ from the campaign's environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// Threads that answer.
    pub threads: Option<u32>,
    /// Slots in the seeded ledger.
    pub slots: Option<u64>,
    /// See [`Environment::global_queue_interval`]; 0 leaves it to tokio.
    pub global_queue_interval: Option<u32>,
    /// See [`Environment::walk_ns_per_slot`]; 0 is no walk.
    pub walk_ns_per_slot: Option<u64>,
    /// See [`Environment::tool_niceness`].
    pub tool_niceness: Option<u8>,
}

/// Whose setting it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// The server's: one of its arguments.
    Server,
    /// The load tool's: how its process is started.
    Tool,
}

/// A setting that an arm may change.
struct Setting {
    of: Of,
    /// Its field and, of a server's setting, its placeholder in the server's arguments.
    name: &'static str,
    least: u64,
    most: u64,
    /// Whether a server need not have an argument for it: 0 leaves the argument out.
    optional: bool,
    value: fn(&Overrides) -> Option<u64>,
    words: fn(u64) -> String,
}

/// The settings that arms may change, in the order in which a reader is given them.
static SETTINGS: [Setting; 5] = [
    Setting {
        of: Of::Server,
        name: "threads",
        least: 1,
        most: 1_024,
        optional: false,
        value: |own| own.threads.map(u64::from),
        words: |threads| format!("{threads} worker{}", if threads == 1 { "" } else { "s" }),
    },
    Setting {
        of: Of::Server,
        name: "global_queue_interval",
        least: 0,
        most: 1_000_000,
        optional: true,
        value: |own| own.global_queue_interval.map(u64::from),
        words: |polls| match polls {
            0 => "global queue interval left to tokio".to_owned(),
            polls => format!("global queue interval {polls}"),
        },
    },
    Setting {
        of: Of::Server,
        name: "slots",
        least: 1,
        most: 20_000_000,
        optional: false,
        value: |own| own.slots,
        words: |slots| format!("chain of {} slots", count(slots)),
    },
    Setting {
        of: Of::Server,
        name: "walk_ns_per_slot",
        least: 0,
        most: 1_000_000,
        optional: true,
        value: |own| own.walk_ns_per_slot,
        words: |ns| match ns {
            0 => "no simulated walk".to_owned(),
            ns => format!("simulated walk of {ns} ns a slot"),
        },
    },
    Setting {
        of: Of::Tool,
        name: "tool_niceness",
        least: 0,
        most: 19,
        optional: true,
        value: |own| own.tool_niceness.map(u64::from),
        words: |niceness| match niceness {
            0 => "load tool with the server's priority".to_owned(),
            niceness => format!("load tool with niceness {niceness}"),
        },
    },
];

/// Placeholders of an environment that always have a value.
pub(super) const ALWAYS: [&str; 5] = ["tuning", "threads", "accounts", "slots", "seed"];

/// Placeholders of an environment that have a value where the campaign says so.
pub(super) fn optional() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().filter(|setting| setting.optional && setting.of == Of::Server).map(|setting| setting.name)
}

/// Whether a placeholder is one of [`optional`].
pub(super) fn is_optional(name: &str) -> bool {
    optional().any(|known| known == name)
}

/// Values for the placeholders in a server's arguments.
pub type Placeholders = BTreeMap<&'static str, String>;

impl Environment {
    /// The environment of a server that no campaign describes: a thread for each core, no limit of cores.
    pub fn plain(tuning: Tuning, ledger: SeededSpec) -> Self {
        Self {
            tuning,
            threads: None,
            accounts: ledger.accounts,
            slots: ledger.slots,
            ledger_seed: ledger.seed,
            global_queue_interval: None,
            walk_ns_per_slot: None,
            tool_niceness: None,
            placement: Placement::Free,
            max_foreign_cpu: default_max_foreign_cpu(),
        }
    }

    /// The ledger of the campaign.
    pub fn ledger(&self) -> SeededSpec {
        SeededSpec { accounts: self.accounts, slots: self.slots, seed: self.ledger_seed }
    }

    /// The settings that an arm may change.
    fn settings(&self) -> Overrides {
        let Self { threads, slots, global_queue_interval, walk_ns_per_slot, tool_niceness, .. } = *self;
        Overrides { threads, slots: Some(slots), global_queue_interval, walk_ns_per_slot, tool_niceness }
    }

    /// The environment of a server with settings of its own.
    #[must_use]
    pub fn with(&self, own: &Overrides) -> Self {
        let Overrides { threads, slots, global_queue_interval, walk_ns_per_slot, tool_niceness } =
            own.or(&self.settings());
        let slots = slots.unwrap_or(self.slots);
        Self { threads, slots, global_queue_interval, walk_ns_per_slot, tool_niceness, ..self.clone() }
    }

    /// What a started server gets: the values of the placeholders in its arguments.
    pub fn values(&self) -> Placeholders {
        let settings = self.settings();
        let set = SETTINGS.iter().filter(|setting| setting.of == Of::Server).filter_map(|setting| {
            let value = (setting.value)(&settings).filter(|value| *value > 0 || !setting.optional)?;
            Some((setting.name, value.to_string()))
        });
        let mut values: Placeholders = set.collect();
        values.entry("threads").or_insert_with(|| host::cores().to_string());
        values.extend([
            ("tuning", self.tuning.flag().to_owned()),
            ("accounts", self.accounts.to_string()),
            ("seed", self.ledger_seed.to_string()),
        ]);
        values
    }

    /// Whether the settings are within their ranges.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn check(&self) -> Result<()> {
        within("environment.accounts", self.accounts as u64, 1, 20_000_000)?;
        self.settings().check_ranges("environment")
    }
}

impl Overrides {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These settings, and those of `base` where they say nothing.
    #[must_use]
    pub fn or(&self, base: &Self) -> Self {
        Self {
            threads: self.threads.or(base.threads),
            slots: self.slots.or(base.slots),
            global_queue_interval: self.global_queue_interval.or(base.global_queue_interval),
            walk_ns_per_slot: self.walk_ns_per_slot.or(base.walk_ns_per_slot),
            tool_niceness: self.tool_niceness.or(base.tool_niceness),
        }
    }

    /// The settings in words, such as `1 worker, global queue interval 61`.
    pub fn words(&self) -> String {
        let words = SETTINGS.iter().filter_map(|setting| Some((setting.words)((setting.value)(self)?)));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Which settings are stated, and their values.
    pub(super) fn stated(&self) -> Vec<(&'static str, u64)> {
        SETTINGS.iter().filter_map(|setting| Some((setting.name, (setting.value)(self)?))).collect()
    }

    /// Those of them that are the server's.
    pub(super) fn stated_of_server(&self) -> Vec<(&'static str, u64)> {
        let of_server =
            |name: &str| SETTINGS.iter().any(|known| known.name == name && known.of == Of::Server);
        self.stated().into_iter().filter(|(name, _)| of_server(name)).collect()
    }

    pub(super) fn check_ranges(&self, table: &str) -> Result<()> {
        SETTINGS.iter().try_for_each(|Setting { name, least, most, value, .. }| match value(self) {
            Some(value) => within(&format!("{table}.{name}"), value, *least, *most),
            None => Ok(()),
        })
    }
}

/// Which cores server and load tool may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Any core that the harness may use; the kernel decides.
    #[default]
    Free,
    /// Both share one core, because cores of one machine can disturb each other. Rates are those of one core.
    OneCore,
    /// Two servers that are compared share one core with their load tools, at the same time: what disturbs one disturbs the
    /// other as much (a duet, after Bulej and others, 2020). Rates are those of about half a core.
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
    Equal,
    /// Each framework's own defaults.
    Shipped,
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
