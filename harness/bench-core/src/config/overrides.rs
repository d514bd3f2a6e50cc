//! The settings that a server may have of its own: one table, from which all else that must know them is read.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::network::Network;
use super::{Environment, Tuning};
use crate::field_checks::within;
use crate::machine::{Cpus, MemoryMax};
use crate::readable_numbers::{count, counted};
use crate::transport::Transport;

/// Whose setting it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// The server's: one of its arguments.
    Server,
    /// The load tool's: how its process is started, and how it reaches the server.
    Tool,
    /// The server's process': what the kernel lets it have.
    Process,
}

/// A setting that an arm may change.
pub(super) struct Setting {
    pub of: Of,
    /// Its field and, of a server's setting, its placeholder in the server's arguments.
    pub name: &'static str,
    /// From 0 on, a server need not have an argument for it: 0 leaves the argument out.
    least: u64,
    most: u64,
    /// What a reader knows it by.
    pub title: &'static str,
    /// The value that is the same as none, where there is such a value.
    pub left_out: Option<u64>,
    pub value: fn(&Overrides) -> Option<u64>,
    pub words: fn(u64) -> String,
}

impl Setting {
    /// Whether a server has an argument for it where it is not 0 alone.
    pub fn is_optional(&self) -> bool {
        self.of == Of::Server && self.least == 0
    }
}

/// An entry a setting that arms may change, in the order in which a reader is given them: its field, whose it is, its
/// range, what a reader knows it by, the value that is the same as none, and its words.
macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $of:ident, $least:literal, $most:expr, $title:literal,
        $left_out:expr, $words:expr;)+) => {
        /// Settings of one server where they differ from the campaign's environment.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Overrides {
            $($(#[doc = $doc])+ pub $name: Option<$type>,)+
        }

        impl Overrides {
            /// These settings, and those of `base` where they say nothing.
            #[must_use]
            pub fn or(&self, base: &Self) -> Self {
                Self { $($name: self.$name.or(base.$name),)+ }
            }
        }

        impl Environment {
            /// The settings that an arm may change.
            pub fn settings(&self) -> Overrides {
                Overrides { $($name: self.$name.into(),)+ }
            }

            /// The environment of a server with settings of its own.
            #[must_use]
            pub fn with(&self, own: &Overrides) -> Self {
                Self { $($name: own.$name.map_or(self.$name, Into::into),)+ ..self.clone() }
            }
        }

        pub(super) static SETTINGS: &[Setting] = &[$(Setting {
            of: Of::$of,
            name: stringify!($name),
            least: $least,
            most: $most,
            title: $title,
            left_out: $left_out,
            value: |own| own.$name.map(u64::from),
            words: $words,
        },)+];
    };
}

settings! {
    /// See [`Environment::tuning`].
    tuning: Tuning = Server, 1, 2, "tuning", None, |tuning| match tuning {
        2 => "as shipped".to_owned(),
        _ => "equal settings".to_owned(),
    };
    /// Threads that answer.
    threads: u32 = Server, 1, 1_024, "the number of threads", None, |threads| counted(threads, "worker");
    /// See [`Environment::global_queue_interval`]; 0 leaves it to tokio.
    global_queue_interval: u32 = Server, 0, 1_000_000, "the global queue interval", Some(0), |polls| match polls {
        0 => "global queue interval left to tokio".to_owned(),
        polls => format!("global queue interval {polls}"),
    };
    /// Slots in the seeded ledger.
    slots: u64 = Server, 1, 20_000_000, "the number of slots", None, |slots| format!("chain of {} slots", count(slots));
    /// See [`Environment::walk_ns_per_slot`]; 0 is no walk.
    walk_ns_per_slot: u64 = Server, 0, 1_000_000, "the simulated walk", Some(0), |ns| match ns {
        0 => "no simulated walk".to_owned(),
        ns => format!("simulated walk of {ns} ns a slot"),
    };
    /// See [`Environment::transport`].
    transport: Transport = Tool, 0, 2, "the transport", Some(0), |place| {
        let of = Transport::ALL.into_iter().find(|transport| u64::from(*transport) == place);
        format!("over {}", of.unwrap_or_default().name())
    };
    /// See [`Environment::in_flight`].
    in_flight: u32 = Tool, 1, 10_000, "the number of requests in flight on a \
        connection", Some(1), |requests| format!("{requests} in flight on a connection");
    /// See [`Environment::batch`].
    batch: u32 = Tool, 1, 10_000, "the number of calls in a request", Some(1), |calls| match calls {
        1 => "one call in a message".to_owned(),
        calls => format!("batches of {}", count(calls)),
    };
    /// See [`Environment::keep_alive`].
    keep_alive: bool = Tool, 0, 1, "whether connections are kept", Some(1), |kept| match kept {
        0 => "a connection for each request".to_owned(),
        _ => "connections kept".to_owned(),
    };
    /// See [`Environment::network`].
    network: Network = Tool, 0, 18_446_744_073_709_551_615, "the network", None, |both| format!("a network of \
        {}", Network::from(both).words());
    /// See [`Environment::cpu_quota`].
    cpu_quota: Cpus = Process, 10, 1_024_000, "the processor time that a server may \
        use", None, |milli| Cpus(milli as u32).words();
    /// See [`Environment::memory_max`].
    memory_max: MemoryMax = Process, 1_048_576, 1_125_899_906_842_624, "the memory that a server may \
        use", None, |bytes| MemoryMax(bytes).words();
}

impl Overrides {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The settings in words, such as `1 worker, global queue interval 61`.
    pub fn words(&self) -> String {
        let words = self.each().map(|(setting, value)| (setting.words)(value));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The names of all settings.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SETTINGS.iter().map(|setting| setting.name)
    }

    /// The settings that are stated, and their values.
    pub(super) fn each(&self) -> impl Iterator<Item = (&'static Setting, u64)> {
        SETTINGS.iter().filter_map(|setting| Some((setting, (setting.value)(self)?)))
    }

    /// Which settings are stated, and their values.
    pub(super) fn stated(&self) -> Vec<(&'static str, u64)> {
        self.each().map(|(setting, value)| (setting.name, value)).collect()
    }

    pub(super) fn check_ranges(&self, table: &str) -> Result<()> {
        self.each().try_for_each(|(Setting { name, least, most, .. }, value)| {
            within(&format!("{table}.{name}"), value, *least, *most)
        })
    }
}
