//! The arithmetic of the listen queue: a queue of `backlog` holds `backlog + 1` connections. Attempts that find it full are
//! dropped and repeated after 1 s. So in a burst of `n` connections, of which the server accepts a share `s` while it arrives,
//! some connection is slow where `n (1 - s)` exceeds `backlog + 1`.

use serde::{Deserialize, Serialize};

/// A burst of connections and how it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// Connections requested at once.
    pub connections: u32,
    /// Those that were not established within 0.9 s.
    pub slow: u32,
    /// Connections that found the queue full, where the machine counts them.
    pub overflows: Option<u64>,
}

impl Burst {
    /// Whether any connection was slow. The overflows are the whole machine's, so they are evidence only.
    pub fn is_slow(&self) -> bool {
        self.slow > 0
    }
}

/// One server with one backlog: every burst that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The server.
    pub server: String,
    /// Its backlog.
    pub backlog: u32,
    /// Whether the server was stopped (SIGSTOP) while the burst arrived, so that it accepted none of it.
    pub held: bool,
    /// In the order they were made.
    pub bursts: Vec<Burst>,
}

impl Tried {
    /// Bursts of a size with a slow connection, and all of that size.
    pub fn of(&self, connections: u32) -> (usize, usize) {
        let of = || self.bursts.iter().filter(|burst| burst.connections == connections);
        (of().filter(|burst| burst.is_slow()).count(), of().count())
    }

    /// The smallest size with a slow connection in most bursts.
    pub fn first_slow(&self) -> Option<u32> {
        let sizes = self.bursts.iter().map(|burst| burst.connections);
        sizes.filter(|size| self.is_slow(*size)).min()
    }

    /// The largest tried size below [`Self::first_slow`].
    pub fn last_quick(&self) -> Option<u32> {
        let first = self.first_slow().unwrap_or(u32::MAX);
        let sizes = self.bursts.iter().map(|burst| burst.connections);
        sizes.filter(|size| *size < first).max()
    }

    fn is_slow(&self, connections: u32) -> bool {
        let (slow, all) = self.of(connections);
        2 * slow > all
    }

    /// The next size to try, from `from` up to `most`, the largest that the machine can make: doubling, then halving the interval
    /// until the ratio of its ends is at most `ratio`, then each end until it was tried three times.
    pub fn next(&self, from: u32, most: u32, ratio: f64) -> Option<u32> {
        let Some(last) = self.bursts.last() else { return Some(from.min(most)) };
        let Some(first_slow) = self.first_slow() else {
            let largest = self.bursts.iter().map(|burst| burst.connections).max().unwrap_or(last.connections);
            return (largest < most).then(|| (largest * 2).min(most));
        };
        let Some(last_quick) = self.last_quick() else {
            return (first_slow > 1).then(|| (first_slow / 2).max(1));
        };
        if f64::from(first_slow) > f64::from(last_quick) * ratio && first_slow > last_quick + 1 {
            let middle = (f64::from(first_slow) * f64::from(last_quick)).sqrt() as u32;
            return Some(middle.clamp(last_quick + 1, first_slow - 1));
        }
        [last_quick, first_slow].into_iter().find(|size| self.of(*size).1 < 3)
    }
}

/// The predicted burst with the first slow connection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The size of the first burst with a slow connection.
    pub first_slow: f64,
    /// Whether it was fitted to this outcome, that of the smallest backlog, and so is no prediction.
    pub fitted: bool,
}

/// The prediction for a server with a backlog: by the arithmetic alone where the server was stopped; else with the share that
/// the server accepted meanwhile with the smallest backlog. None where that is unknown.
pub fn predict(tried: &Tried, all: &[Tried]) -> Option<Prediction> {
    let holds = |backlog: u32| f64::from(backlog) + 1.0;
    if tried.held {
        return Some(Prediction { first_slow: holds(tried.backlog) + 1.0, fitted: false });
    }
    let alike = all.iter().filter(|other| other.server == tried.server && !other.held);
    let smallest = alike.min_by_key(|other| other.backlog)?;
    let scale = f64::from(smallest.first_slow()?) / holds(smallest.backlog);
    Some(Prediction { first_slow: holds(tried.backlog) * scale, fitted: smallest.backlog == tried.backlog })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose queue holds `backlog + 1`, and which accepts a share of a burst meanwhile.
    fn search(backlog: u32, accepted: f64, most: u32, ratio: f64) -> Tried {
        let mut tried = Tried { server: "a".into(), backlog, held: accepted == 0.0, bursts: Vec::new() };
        while let Some(connections) = tried.next(64, most, ratio) {
            let left = (f64::from(connections) * (1.0 - accepted)) as u32;
            let slow = left.saturating_sub(backlog + 1);
            tried.bursts.push(Burst { connections, slow, overflows: Some(u64::from(slow)) });
            assert!(tried.bursts.len() < 60, "{tried:?}");
        }
        tried
    }

    #[test]
    fn a_stopped_server_is_found_exactly() {
        for backlog in [1, 5, 128, 1_024, 4_096] {
            let tried = search(backlog, 0.0, 19_000, 1.0);
            assert_eq!(tried.first_slow(), Some(backlog + 2), "{tried:?}");
            assert_eq!(tried.last_quick(), Some(backlog + 1));
            assert_eq!((tried.of(backlog + 1), tried.of(backlog + 2)), ((0, 3), (3, 3)));
            assert_eq!(predict(&tried, &[]).unwrap().first_slow, f64::from(backlog + 2));
        }
    }

    #[test]
    fn the_accepted_share_predicts_other_backlogs() {
        let all: Vec<Tried> = [128, 1_024, 4_096].map(|backlog| search(backlog, 0.5, 19_000, 1.1)).into();
        for tried in &all {
            let (found, predicted) = (f64::from(tried.first_slow().unwrap()), predict(tried, &all).unwrap());
            assert!((found / predicted.first_slow).ln().abs() < 0.2, "{found} {predicted:?}");
            assert_eq!(predicted.fitted, tried.backlog == 128);
        }
    }

    #[test]
    fn a_queue_that_cannot_be_filled_stays_open() {
        let tried = search(4_096, 0.9, 10_000, 1.1);
        assert_eq!((tried.first_slow(), tried.last_quick()), (None, Some(10_000)));
        assert_eq!(predict(&tried, std::slice::from_ref(&tried)), None);
    }
}
