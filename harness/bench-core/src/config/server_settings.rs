//! What servers run in: the settings that a campaign gives all of them, and those that an arm changes.
//!
//! A setting is a field of [`Environment`] and, where arms may change it, a field of [`Overrides`] and an entry of
//! [`SETTINGS`]. From here come the arguments of a started server, the words for a reader, and what two runs must share
//! to be compared.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use validator_state::SeededSpec;

use super::network::Network;
use super::overrides::{Of, SETTINGS, Setting};
use super::percent::Percent;
use crate::field_checks::within;
use crate::machine as host;
use crate::machine::MUCH_FOREIGN;
use crate::machine::{Cpus, MemoryMax, Size};
use crate::readable_numbers::count;
use crate::transport::Transport;

/// What the servers run in.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Whose settings: the same for all, or each framework's own.
    #[serde(default)]
    pub tuning: Tuning,
    /// Threads of each server; the number of cores where left out. Ignored by `shipped` tuning.
    #[serialize_always]
    pub threads: Option<u32>,
    /// Accounts in the seeded ledger.
    #[serde(default = "default_accounts")]
    pub accounts: usize,
    /// Slots in the seeded ledger.
    #[serde(default = "default_slots")]
    pub slots: u64,
    /// Seed of the ledger.
    #[serde(default = "default_seed")]
    pub ledger_seed: u64,
    /// After how many polls a tokio worker takes a task from the runtime's global queue; tokio decides where left out
    /// or 0.
    pub global_queue_interval: Option<u32>,
    /// Simulated time of reading one slot of a getBlocks answer from a block store, in nanoseconds; none where left out
    /// or 0.
    pub walk_ns_per_slot: Option<u64>,
    /// How the load reaches the servers; HTTP where left out.
    pub transport: Option<Transport>,
    /// Requests in flight on each connection, N; one where left out. The load then has one Nth of the connections, so
    /// that as many requests are in flight as a campaign's `connections` says.
    pub in_flight: Option<u32>,
    /// Calls in each request, as one JSON-RPC batch; one call by itself where left out.
    pub batch: Option<u32>,
    /// Whether a connection serves one request after another, which it does where left out; else each request has a
    /// connection of its own, and `connections` are those at a time.
    pub keep_alive: Option<bool>,
    /// The network between load tool and servers; this machine's loopback interface where left out.
    pub network: Option<Network>,
    /// Processor time that a server may use, in processors; the load tool is not limited.
    pub cpu_quota: Option<Cpus>,
    /// Memory that a server may use, such as `"64MiB"`; the kernel kills one that needs more.
    pub memory_max: Option<MemoryMax>,
    /// Which cores server and load tool may use.
    #[serde(default)]
    pub placement: Placement,
    /// The share of the processors' time that other processes may use in a window; a trial with more is invalid.
    #[serde(default = "default_max_foreign_cpu", deserialize_with = "Percent::up_to_all")]
    pub max_foreign_cpu: Percent,
    /// The share of it that the hypervisor may take; 2 % where left out.
    #[serde(default, deserialize_with = "up_to_all")]
    pub max_steal: Option<Percent>,
}

fn default_accounts() -> usize {
    SeededSpec::default().accounts
}

fn default_slots() -> u64 {
    SeededSpec::default().slots
}

fn default_seed() -> u64 {
    SeededSpec::default().seed
}

fn up_to_all<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Percent>, D::Error> {
    Percent::up_to_all(deserializer).map(Some)
}

fn default_max_foreign_cpu() -> Percent {
    Percent(MUCH_FOREIGN)
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
    /// Two servers that are compared share one core at the same time: what disturbs one disturbs the other as much (a
    /// duet, after Bulej and others, 2020). In a closed loop their load tools share it too, and rates are those of about
    /// half a core. At a rate the load tools are on the other cores.
    Duet,
}

impl Placement {
    /// Which cores server and load generator used, for a reader.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Free => "server and load generator on all cores, as the kernel puts them",
            Self::OneCore => "server and load generator together on one core",
            Self::Duet => {
                "both servers on one core at the same time, in a closed loop with their load generators"
            }
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

/// A setting in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// What a reader knows it by.
    pub name: &'static str,
    /// Its value.
    pub words: String,
    /// Whether it is part of what a run does, and not of what counts of it.
    pub is_task: bool,
}

/// Where an environment stands on the axis of a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Orders places and tells whether two are the same; none where nothing is stated.
    pub value: Option<u64>,
    /// The value as a number: processors, milliseconds of delay, bytes, or a count. None where it is no number, or not
    /// stated.
    pub number: Option<f64>,
    /// Its words.
    pub words: String,
}

/// Values for the placeholders in a server's arguments.
pub type Placeholders = BTreeMap<&'static str, String>;

/// Whether the values of a setting are numbers.
pub(super) fn is_number(setting: &str) -> bool {
    !["tuning", "transport", "keep_alive"].contains(&setting)
}

impl Environment {
    /// The environment of a server that no campaign describes: a thread for each core, no limit of cores.
    pub fn plain(tuning: Tuning, ledger: SeededSpec) -> Self {
        Self {
            tuning,
            accounts: ledger.accounts,
            slots: ledger.slots,
            ledger_seed: ledger.seed,
            max_foreign_cpu: default_max_foreign_cpu(),
            ..Self::default()
        }
    }

    /// The ledger of the campaign.
    pub fn ledger(&self) -> SeededSpec {
        SeededSpec { accounts: self.accounts, slots: self.slots, seed: self.ledger_seed }
    }

    /// Every setting, what a reader knows it by and its words, where `threads` is the number that a server has by
    /// default. Two runs are of the same task only where all are the same, but for those that decide only which trials
    /// count.
    pub fn described(&self, threads: u32) -> Vec<Described> {
        let settings = self.settings();
        let Self { tuning, accounts, ledger_seed, placement, max_foreign_cpu, max_steal, .. } = self;
        let fixed = [
            ("placement", placement.words().to_owned()),
            ("the number of accounts", count(*accounts as u64)),
            ("the ledger's seed", ledger_seed.to_string()),
        ];
        let of_arms = SETTINGS.iter().map(|setting| {
            let stated = (setting.value)(&settings).or(setting.left_out);
            let words = match (setting.name, tuning) {
                ("tuning", _) => tuning.flag().to_owned(),
                ("threads", Tuning::Shipped) => "the framework's own".to_owned(),
                ("threads", Tuning::Equal) => (setting.words)(stated.unwrap_or(threads.into())),
                _ => stated.map_or_else(|| "none stated".to_owned(), setting.words),
            };
            (setting.title, words)
        });
        let counts = [
            ("the CPU time that other processes may use", max_foreign_cpu.to_string()),
            (
                "the CPU time that the hypervisor may take",
                max_steal.map_or_else(|| "2%, which is usual".to_owned(), |most| most.to_string()),
            ),
        ];
        let described = |is_task| move |(name, words)| Described { name, words, is_task };
        fixed.into_iter().chain(of_arms).map(described(true)).chain(counts.map(described(false))).collect()
    }

    /// How the load reaches a server.
    pub fn transport(&self) -> Transport {
        self.transport.unwrap_or_default()
    }

    /// What the kernel lets a server's process have.
    pub fn size(&self) -> Size {
        let Self { cpu_quota, memory_max, .. } = *self;
        Size { cpu_quota, memory_max }
    }

    /// Requests in flight on each connection.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.unwrap_or(1)
    }

    /// Calls in each request.
    pub fn batch(&self) -> u32 {
        self.batch.unwrap_or(1)
    }

    /// Whether a connection serves one request after another.
    pub fn keep_alive(&self) -> bool {
        self.keep_alive.unwrap_or(true)
    }

    /// Where it stands on the axis of a setting; `None` where there is no such setting.
    pub fn place(&self, name: &str) -> Option<Place> {
        let setting = SETTINGS.iter().find(|setting| setting.name == name)?;
        let value = (setting.value)(&self.settings()).or(setting.left_out);
        let number = value.and_then(|value| match name {
            name if !is_number(name) => None,
            "cpu_quota" => Some(value as f64 / 1e3),
            "network" => Some(Network::from(value).delay().as_secs_f64() * 1e3),
            _ => Some(value as f64),
        });
        let words = match (name, value) {
            ("network", None) => "loopback".to_owned(),
            ("network", Some(both)) => Network::from(both).words(),
            (_, None) => "none stated".to_owned(),
            (_, Some(value)) => (setting.words)(value),
        };
        Some(Place { value, number, words })
    }

    /// What a started server gets: the values of the placeholders in its arguments.
    pub fn values(&self) -> Placeholders {
        let settings = self.settings();
        let is_given =
            |setting: &Setting, value: u64| setting.of == Of::Server && (value > 0 || !setting.is_optional());
        let given = settings.each().filter(|(setting, value)| is_given(setting, *value));
        let mut values: Placeholders =
            given.map(|(setting, value)| (setting.name, value.to_string())).collect();
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
