//! The figures of the original test, from `original.toml`. They are built in, because a report is made from a results
//! folder alone.

use serde::Deserialize;

/// The original test, as far as its figures are known.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Original {
    /// Bytes of TCP payload a second that a gigabit line carries at most.
    pub line_bytes_per_second: f64,
    /// The validator's branches that were compared.
    #[serde(rename = "branch")]
    pub branches: Vec<Branch>,
}

/// A branch of the validator.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Its name.
    pub name: String,
    /// The same with its framework.
    pub title: String,
    /// The server here that has its framework.
    pub server: String,
    /// Threads that answered, as inferred from its figures.
    pub workers: u32,
    /// Slots that an answer to getBlocks held, as inferred from its bytes.
    pub slots: u64,
    /// Its loads.
    #[serde(rename = "run")]
    pub runs: Vec<OriginalRun>,
}

/// What bombardier printed of one load. Times are in milliseconds; what nobody noted is `None`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginalRun {
    /// The request.
    pub workload: String,
    /// Connections.
    pub connections: u32,
    /// Requests a second, as bombardier prints them: failed ones included.
    pub requests_per_second: f64,
    /// Requests that were answered.
    pub answered: Option<f64>,
    /// Requests that were given up after 2 s.
    pub timeouts: Option<f64>,
    /// How long it took.
    pub seconds: Option<f64>,
    /// Mean latency.
    pub mean_ms: f64,
    /// Median latency.
    pub p50_ms: Option<f64>,
    /// 95th percentile of latency.
    pub p95_ms: Option<f64>,
    /// 99th percentile of latency.
    pub p99_ms: f64,
    /// The slowest request.
    pub max_ms: f64,
    /// Bytes read and written a second, in units of 2^20.
    pub mb_per_second: f64,
}

impl Original {
    /// The figures. That the file is without a mistake is for a test to say: it is built in.
    pub fn read() -> Self {
        toml::from_str(include_str!("../../../../bench-scripts/original.toml")).unwrap_or_default()
    }

    /// The branch of that name.
    pub fn branch(&self, name: &str) -> Option<&Branch> {
        self.branches.iter().find(|branch| branch.name == name)
    }
}

impl Branch {
    /// Its load of that request and size.
    pub fn run(&self, workload: &str, connections: u32) -> Option<&OriginalRun> {
        self.runs.iter().find(|run| run.workload == workload && run.connections == connections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Little's law over all requests, the timed out ones included, must give about the connections that were
    /// requested.
    #[test]
    fn the_figures_agree_with_each_other() {
        let original = Original::read();
        assert_eq!(original.branches.len(), 3);
        for run in original.branches.iter().flat_map(|branch| &branch.runs) {
            let busy = run.requests_per_second * run.mean_ms / 1e3;
            let share = busy / f64::from(run.connections);
            assert!((0.97..1.03).contains(&share), "{run:?}: {busy} connections");
            assert!(run.p50_ms.is_none_or(|p50| p50 <= run.max_ms) && run.p99_ms <= run.max_ms, "{run:?}");
        }
    }
}
