//! The result of one trial. A failure is an observation too: it is recorded with its reason and never becomes a zero.

mod differences;
mod next_to_background;
mod sample_figures;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::foreign_text::bounded;
use crate::load::LoadSample;
use crate::machine::CpuTime;
use crate::machine::ForeignCpu;
use crate::machine::HostActivity;
use crate::machine::NetworkCounters;
use crate::machine::ResourceSample;
use crate::machine::ThreadUse;
use crate::machine::{OutOfMemory, Usage};
use crate::plan::Trial;
use crate::readable_numbers::count;

pub use differences::{Checked, Difference, Differences, checked_answers};

/// A trial and what came of it: one line of `observations.ndjson`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The trial.
    #[serde(flatten)]
    pub trial: Trial,
    /// When it began, in UTC.
    pub started_at: String,
    /// How long it took in all, in seconds.
    pub took_s: f64,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Outcome {
    /// It was measured.
    Completed(Box<Sample>),
    /// The load tool still waited long after its window and its timeout, and was killed: requests were never answered.
    Unanswered {
        /// How long it was waited for.
        #[serde(serialize_with = "crate::foreign_text::kept")]
        reason: String,
    },
    /// The load tool did not give a result.
    ToolFailed {
        /// Why.
        #[serde(serialize_with = "crate::foreign_text::kept")]
        reason: String,
    },
    /// The server did not start, or ended by itself.
    ServerDied {
        /// Why.
        #[serde(serialize_with = "crate::foreign_text::kept")]
        reason: String,
        /// How long after its start, or where it ran already after the trial's, in seconds; `None` where it did not
        /// start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_s: Option<f64>,
    },
    /// The kernel killed the server because the memory that it may have was used up.
    OutOfMemory {
        /// When, and what the kernel counted, in words.
        #[serde(serialize_with = "crate::foreign_text::kept")]
        reason: String,
        /// What the kernel counted since the server's start.
        usage: Usage,
    },
    /// The server gave no answer to a request that was sent without load.
    NoAnswer {
        /// When the request was sent.
        when: String,
        /// What was waited for, and how long.
        #[serde(serialize_with = "crate::foreign_text::kept")]
        reason: String,
    },
    /// The server's answer is not the true one.
    WrongAnswer {
        /// When the request was sent.
        when: String,
        /// What it answered; of several the first.
        #[serde(serialize_with = "crate::foreign_text::kept")]
        answer: String,
        /// Wrong answers that were counted.
        #[serde(default = "one")]
        wrong: u64,
        /// Answers that were looked at for it.
        #[serde(default = "one")]
        of: u64,
    },
    /// It was measured, but what was counted does not fit together.
    Invalid {
        /// Why.
        #[serde(serialize_with = "crate::foreign_text::kept")]
        reason: String,
    },
    /// The window ran to its end, and no request of it succeeded. The sample is evidence of why, and no figure.
    NoSuccess(Box<Sample>),
    /// Requests succeeded, but after the window the server gave no answer at all. The sample is evidence of why, and no
    /// figure.
    Silent(Box<Sample>),
    /// The connections that were requested were not established in time, so there was no window at that count. The
    /// sample is evidence of what was held, and no figure.
    NotHeld(Box<Sample>),
}

const fn one() -> u64 {
    1
}

/// How the connections of a closed loop were established, as the server's open sockets show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connecting {
    /// Connections that were requested.
    pub requested: u32,
    /// How long connecting might take, in milliseconds.
    pub allowed_ms: u64,
    /// How long it took until 99 % of them were established, in milliseconds since the load tool's start; `None` where
    /// they were not within `allowed_ms`.
    pub took_ms: Option<u64>,
    /// The most that were established until then.
    pub held: u64,
}

/// What was measured in one window.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What the load tool saw.
    pub load: LoadSample,
    /// CPU time of the server in the window; unknown where its process is not one that the harness can see.
    pub server_cpu: Option<CpuTime>,
    /// Calls that the server counted in the window; unknown where it has no metrics.
    pub server_requests: Option<u64>,
    /// The most memory that the server held until the window's end, in bytes.
    pub server_peak_memory_bytes: Option<u64>,
    /// CPU time of the load tool, its start included.
    pub client_cpu: CpuTime,
    /// The window as the harness saw it, in seconds: from the tool's start to its end.
    pub window_s: f64,
    /// The kernel's counts in that time.
    pub network: NetworkCounters,
    /// What the machine did meanwhile.
    pub host: HostActivity,
    /// CPU time of processes that are no part of the measurement; none where the machine does not report it, and in
    /// older runs.
    pub foreign_cpu: Option<ForeignCpu>,
    /// Bytes of one answer's body.
    pub answer_bytes: u64,
    /// Calls that the server answered with a JSON-RPC error in the window; unknown where it has no metrics.
    pub server_errors: Option<u64>,
    /// Memory that the server held when it was ready, before any load, in bytes.
    pub memory_before_bytes: Option<u64>,
    /// The most connections that the server held at one time in the window: open files beyond those it had when ready.
    pub established: Option<u64>,
    /// How the connections were established; `None` in an open loop, and where the server's open files can't be read.
    pub connecting: Option<Connecting>,
    /// The window up to about its middle, for servers with metrics.
    pub first_half: Option<Half>,
    /// The server's state through the window, oldest first.
    pub resources: Vec<ResourceSample>,
    /// CPU time that the harness took for `resources` and for the requests of `checked`, in seconds.
    pub sampler_cpu_s: Option<f64>,
    /// The result of the warm-up, in which the load tool connects for the first time.
    pub warmup: Option<Warmup>,
    /// The server's capacity, and what one request took before any load.
    #[serde(default, rename = "means")]
    pub capacity: Capacity,
    /// What the load tool of the background load saw.
    pub background: Option<Box<LoadSample>>,
    /// From when to when that load ran, in milliseconds of the window, where it ended within it.
    pub background_ms: Option<(u64, u64)>,
    /// How often the server was stopped in the window.
    pub stalls: Option<u32>,
    /// What each of the server's threads did in the window, the busiest first; empty where the machine does not report
    /// it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadUse>,
    /// Answers that were compared with the truth under load; none in a closed loop.
    pub checked: Option<Checked>,
    /// Where answers differ from those of a reference, whose differences the workload counts.
    pub differences: Option<Differences>,
    /// What the server behind a gateway used in the window.
    pub upstream: Option<UpstreamUse>,
    /// The network between load tool and server, where the campaign makes one.
    pub link: Option<LinkUse>,
    /// What the server used in the window of what its process may have, where that is limited.
    pub limited: Option<Usage>,
    /// Why there was no answer after the window; empty where there was one.
    #[serde(default, skip_serializing_if = "String::is_empty", serialize_with = "crate::foreign_text::kept")]
    pub silence: String,
}

/// The network between load tool and server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// A round trip without load, before the server was started: the median, in microseconds.
    pub round_trip_us: f64,
}

/// What the server behind a gateway used.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UpstreamUse {
    /// CPU time.
    pub cpu: CpuTime,
    /// The most memory that it held, in bytes.
    pub peak_memory_bytes: Option<u64>,
}

/// The result of a warm-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warmup {
    /// Requests that were answered with a 2xx status.
    pub succeeded: u64,
    /// Everything else, by what the tool calls it.
    #[serde(serialize_with = "crate::foreign_text::kept_kinds")]
    pub failed: BTreeMap<String, u64>,
    /// The slowest request, in microseconds.
    pub max_us: f64,
    /// The most connections that the server held at one time.
    pub established: Option<u64>,
    /// The kernel's counts in that time.
    pub network: NetworkCounters,
}

/// A server's capacity, and what one request took before any load. What the machine does not report is `None`.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Files that it may hold open.
    pub open_files_limit: Option<u64>,
    /// Files that it held open before any load.
    pub open_files_before: Option<u64>,
    /// Connections that may wait to be accepted at one listening socket, as the kernel has it.
    pub listen_limit: Option<u64>,
    /// Its listening sockets.
    pub listen_sockets: Option<u64>,
    /// One request after the other on a connection of their own: the time of the fastest, in microseconds.
    pub alone_us: Option<f64>,
    /// CPU time that the server took for one of these, on average, in microseconds.
    pub alone_cpu_us: Option<f64>,
}

/// What a server did from the window's start, connecting included, to one moment of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Half {
    /// Calls that it counted.
    pub requests: u64,
    /// CPU time that it took, in seconds.
    pub cpu_s: f64,
    /// Time since the window's start, in seconds.
    pub wall_s: f64,
    /// How long the request for its count took, in seconds. `cpu_s` and `wall_s` are of that request's middle, so the
    /// moment of the count is known to half of this.
    pub question_s: f64,
}

impl Outcome {
    /// That of a server that was killed for want of memory, during a part of a trial.
    pub fn out_of_memory(when: &str, killed: OutOfMemory) -> Self {
        Self::OutOfMemory { reason: format!("{killed}, {when}"), usage: killed.0 }
    }

    /// That of a service whose answer to a single request is wrong.
    pub fn one_wrong_answer(when: &str, answer: String) -> Self {
        Self::WrongAnswer { when: when.to_owned(), answer, wrong: 1, of: 1 }
    }

    /// Why the trial was not measured; `None` where it was.
    pub fn failure(&self) -> Option<String> {
        let why = match self {
            Self::Completed(_) => None,
            Self::NoSuccess(sample) => {
                Some(format!("no request succeeded: {:?}", sample.load.failed).replace('"', ""))
            }
            Self::Unanswered { reason } => Some(format!("requests were never answered: {reason}")),
            Self::ToolFailed { reason } => Some(format!("load tool failed: {reason}")),
            Self::ServerDied { reason, .. } => Some(format!("server died: {reason}")),
            Self::OutOfMemory { reason, .. } => Some(reason.clone()),
            Self::NoAnswer { when, reason } => Some(format!("{when}: {reason}")),
            Self::WrongAnswer { when, answer, of: 1, .. } => Some(format!("wrong answer {when}: {answer}")),
            Self::WrongAnswer { when, answer, wrong, of } => {
                Some(format!("wrong answer {when}, {wrong} of {of} answers: {answer}"))
            }
            Self::Invalid { reason } => Some(format!("invalid: {reason}")),
            Self::Silent(sample) => Some(format!(
                "the server gave no answer after the window{}, in which {} requests succeeded and {} failed",
                if sample.silence.is_empty() { String::new() } else { format!(" ({})", sample.silence) },
                sample.load.succeeded,
                sample.load.failures()
            )),
            Self::NotHeld(sample) => Some(sample.held_words()),
        };
        // Kinds of failures may be many.
        why.map(|why| bounded(&why))
    }

    /// The sample, where the trial was measured.
    pub fn sample(&self) -> Option<&Sample> {
        let Self::Completed(sample) = self else { return None };
        Some(sample)
    }

    /// What was counted, also where the trial gave no figure: for the analysis of causes.
    pub fn evidence(&self) -> Option<&Sample> {
        match self {
            Self::Completed(sample)
            | Self::NoSuccess(sample)
            | Self::Silent(sample)
            | Self::NotHeld(sample) => Some(sample),
            _ => None,
        }
    }
}

impl Sample {
    /// The most connections that were established in time, where that is fewer than 99 % of those requested.
    pub fn short_of(&self) -> Option<u64> {
        self.connecting.filter(|connecting| connecting.took_ms.is_none()).map(|connecting| connecting.held)
    }

    /// The connections of a trial that were not established in time, in words.
    fn held_words(&self) -> String {
        let Some(Connecting { requested, allowed_ms, held, .. }) = self.connecting else {
            return "how many connections were held is not known".to_owned();
        };
        let allowed_s = allowed_ms as f64 / 1e3;
        // A load tool that ended before had its own time for them.
        let until = if self.window_s < allowed_s {
            format!("until the load tool ended, after {:.1} s", self.window_s)
        } else {
            format!("within {allowed_s:.1} s")
        };
        format!(
            "held at most {} of {} connections; 99 % were not established {until} (a service that closes connections \
             holds fewer)",
            count(held),
            count(requested.into()),
        )
    }

    /// Requests that the server did its work for: its own count, or what was sent where it has none. Each call of a
    /// batch is one.
    pub fn served(&self) -> u64 {
        self.server_requests.unwrap_or_else(|| self.sent())
    }

    /// Calls that the load tools and the harness itself sent.
    fn sent(&self) -> u64 {
        let loads = std::iter::once(&self.load).chain(self.background.as_deref());
        let own = self.checked.as_ref().map_or(0, |checked| checked.asked);
        loads.map(|load| load.calls(load.succeeded + load.failures())).sum::<u64>() + own
    }

    /// Server CPU time for one request, in microseconds; `None` where it is not known.
    pub fn cpu_us_per_request(&self) -> Option<f64> {
        Some(self.server_cpu?.total_s() * 1e6 / self.served() as f64)
    }

    /// Processors that the server used, on average over the load: the tool idles a little before it ends. `None` where
    /// that is not known.
    pub fn server_cores(&self) -> Option<f64> {
        Some(self.server_cpu?.total_s() / self.load.time_taken_s)
    }

    /// Processors that the load tool used, on average.
    pub fn client_cores(&self) -> f64 {
        self.client_cpu.total_s() / self.load.time_taken_s
    }

    /// Share of the processors' time that the hypervisor gave to others, from 0 to 1.
    pub fn steal_share(&self) -> Option<f64> {
        // Older runs do not say how many processors there were.
        let here_s = || self.window_s * crate::machine::cores() as f64;
        let of_s = self.foreign_cpu.as_ref().map_or_else(here_s, |foreign| foreign.of_s);
        Some(self.host.steal_s? / of_s)
    }
}

/// Failed requests of several samples, by kind.
pub fn failed_requests<'a>(samples: impl Iterator<Item = &'a Sample>) -> BTreeMap<String, u64> {
    let mut failed = BTreeMap::new();
    for (kind, count) in samples.flat_map(|sample| &sample.load.failed) {
        *failed.entry(kind.clone()).or_insert(0) += count;
    }
    failed
}
