//! Whose a late send is, or one that never came: the load tool's own, or the server's, which had all connections
//! waiting.

use super::{NOT_SENT, Record, Sorted};
use crate::load::Load;

/// All connections are at work from this share of them on: a tool needs a moment between an answer and the next
/// request.
const BUSY: f64 = 0.9;

/// Who was late.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lateness {
    /// How late each request was sent for which the server is no reason, in microseconds: 0 where it is one. Requests
    /// that were not sent, or whose send is not known, are left out.
    pub own_us: Vec<u64>,
    /// Requests that were due and never sent for which the server is the reason.
    pub held: u64,
}

/// Separates the load tool's own lateness from the server's.
///
/// The server is the reason where all connections were at work when a request was due or just before it was sent, and
/// for all requests behind it, up to the first that found nobody waiting: a backlog takes its time to be sent. A tool
/// that reports its own part of a lag is believed. A request that ran into its timeout held a connection that long,
/// also where the tool does not report when it was sent.
pub(super) fn lateness(records: &[Record], load: &Load) -> Lateness {
    let most = BUSY * f64::from(load.connections);
    let at_work = |record: &Record| match (record.sent_us, record.ended_us) {
        (Some(sent_us), ended_us) => Some((sent_us, ended_us)),
        _ if timed_out(record) => {
            Some((record.intended_us, Some(record.intended_us + load.timeout_ms * 1_000)))
        }
        _ => None,
    };
    let held: Vec<(u64, Option<u64>)> = records.iter().filter_map(at_work).collect();
    let sent = Sorted::new(held.iter().map(|(sent_us, _)| *sent_us));
    let ended = Sorted::new(held.iter().filter_map(|(_, ended_us)| *ended_us));
    let before = |times: &Sorted, us: u64| times.0.partition_point(|time| *time < us);
    // Of requests that were sent at the same moment none was under way before it.
    let is_busy = |us: u64| before(&sent, us).saturating_sub(before(&ended, us)) as f64 >= most;
    let is_known = |record: &&Record| record.sent_us.is_some() || record.failure.as_deref() == Some(NOT_SENT);
    let times = |record: &Record| (record.intended_us, record.sent_us, record.own_lag_us);
    let mut due: Vec<_> = records.iter().filter(is_known).map(times).collect();
    due.sort_unstable();
    let (mut sent_so_far, mut is_servers) = (0, false);
    let mut lateness = Lateness::default();
    for (due_us, sent_us, own_lag_us) in due {
        if let Some(own_lag_us) = own_lag_us {
            match sent_us {
                Some(_) => lateness.own_us.push(own_lag_us),
                None => lateness.held += u64::from(own_lag_us == 0),
            }
            continue;
        }
        if sent_so_far <= due_us {
            is_servers = false;
        }
        is_servers = is_servers || is_busy(due_us) || sent_us.is_some_and(is_busy);
        match sent_us {
            Some(sent_us) => {
                lateness.own_us.push(if is_servers { 0 } else { sent_us.saturating_sub(due_us) });
                sent_so_far = sent_so_far.max(sent_us);
            }
            None if is_servers => {
                lateness.held += 1;
                // It still waits at the window's end, and so does everything behind it.
                sent_so_far = u64::MAX;
            }
            None => {}
        }
    }
    lateness
}

/// Whether a request ran into its timeout, as any of the tools calls it.
fn timed_out(record: &Record) -> bool {
    record.failure.as_deref().is_some_and(|kind| {
        let kind = kind.to_lowercase();
        kind.contains("timeout") || kind.contains("timed out") || kind.contains("deadline")
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::answered;
    use super::*;

    fn of(records: &[Record], connections: u32) -> Lateness {
        lateness(
            records,
            &Load { rate: Some(100), connections, duration_ms: 1_000, timeout_ms: 300, ..Load::default() },
        )
    }

    #[test]
    fn a_tool_that_is_late_with_connections_free_is_late_by_itself() {
        let records: Vec<Record> = (0..100).map(|i| answered(10_000 * i, 3_000, 1_000)).collect();
        assert_eq!(of(&records, 2).own_us, [3_000; 100]);
    }

    #[test]
    fn a_tool_that_reports_its_own_lag_is_believed() {
        // All but one connection are free, and yet the request had to wait for its own.
        let mut records = [answered(0, 3_000, 1_000), answered(10_000, 3_000, 1_000), answered(20_000, 0, 0)];
        records[0].own_lag_us = Some(0);
        records[1].own_lag_us = Some(2_000);
        records[2] = Record { own_lag_us: Some(0), ..Record::failed(20_000, &NOT_SENT.into()) };
        assert_eq!(of(&records, 8), Lateness { own_us: vec![0, 2_000], held: 1 });
    }

    #[test]
    fn busy_connections_are_the_reason_until_the_backlog_is_sent() {
        // Two connections, a request every 10 ms. The server stops from 100 to 300 ms; then the tool sends what waited,
        // one a millisecond, each answered at once.
        let stops = |i: u64| match i {
            10 | 11 => answered(10_000 * i, 0, 300_000 - 10_000 * i),
            12..=31 => answered(10_000 * i, 300_000 + 1_000 * (i - 11) - 10_000 * i, 500),
            _ => answered(10_000 * i, 40, 500),
        };
        let records: Vec<Record> = (0..60).map(stops).collect();
        let own = of(&records, 2).own_us;
        assert!(own[10..=31].iter().all(|us| *us == 0), "{own:?}");
        assert!(own[32..].iter().all(|us| *us == 40), "{own:?}");
    }

    #[test]
    fn a_connection_short_of_all_at_work_is_no_reason() {
        // Ten connections, nine tenths of which are at work through one second.
        let held = |count: u64| (0..count).map(|_| answered(0, 0, 1_000_000));
        let late = |count| {
            let records: Vec<Record> = held(count).chain([answered(500_000, 7_000, 100)]).collect();
            of(&records, 10).own_us.last().copied()
        };
        assert_eq!((late(8), late(9)), (Some(7_000), Some(0)));
    }
    #[test]
    fn the_connections_show_who_kept_a_request_back() {
        let not_sent = |from: u64| (from..100).map(|i| Record::failed(10_000 * i, &NOT_SENT.into()));
        // Two connections; the server answers nothing from 500 ms on, and what is due then is never sent.
        let served = |count: u64| (0..count).map(|i| answered(10_000 * i, 0, 500));
        let held = (50..52).map(|i| answered(10_000 * i, 0, 1_000_000));
        let by_server: Vec<Record> = served(50).chain(held).chain(not_sent(52)).collect();
        assert_eq!(of(&by_server, 2).held, 48);
        // The same without a connection at work: the tool stopped by itself.
        let by_tool: Vec<Record> = served(52).chain(not_sent(52)).collect();
        assert_eq!(of(&by_tool, 2).held, 0);
        // Behind one that waits for the server everything waits, also where a connection was free for a moment.
        let moment = answered(530_000, 0, 400);
        let backlog: Vec<Record> = by_server.iter().cloned().chain([moment]).collect();
        assert_eq!(of(&backlog, 2).held, 48);
        // A tool that does not report when a request was sent that timed out.
        let timeouts = (50..52).map(|i| Record::failed(10_000 * i, &"timeout".into()));
        let by_server: Vec<Record> = served(50).chain(timeouts).chain(not_sent(52)).collect();
        assert_eq!(of(&by_server, 2).held, 48);
    }
}
