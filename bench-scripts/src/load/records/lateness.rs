//! Whose a late send is: the load tool's own, or the server's, which had all connections waiting.

use super::Record;

/// All connections are at work from this share of them on: a tool needs a moment between an answer and the next request.
const BUSY: f64 = 0.9;

/// How late each request was sent for which the server is no reason, in microseconds: 0 where it is one. Requests that were not
/// sent, or whose send is not known, are left out.
///
/// The server is the reason where all connections were at work when a request was due or just before it was sent, and for all
/// requests behind it, up to the first that found nobody waiting: a backlog takes its time to be sent.
pub(super) fn own_us(records: &[Record], connections: u32) -> Vec<u64> {
    let most = BUSY * f64::from(connections);
    let sorted = |times: Vec<u64>| {
        let mut times = times;
        times.sort_unstable();
        times
    };
    let sent = sorted(records.iter().filter_map(|record| record.sent_us).collect());
    let ended = sorted(records.iter().filter_map(|record| record.ended_us).collect());
    let before = |times: &[u64], us: u64| times.partition_point(|time| *time < us);
    // Of requests that were sent at the same moment none was under way before it.
    let is_busy = |us: u64| before(&sent, us).saturating_sub(before(&ended, us)) as f64 >= most;
    let mut due: Vec<(u64, u64)> =
        records.iter().filter_map(|record| Some((record.intended_us, record.sent_us?))).collect();
    due.sort_unstable();
    let (mut sent_so_far, mut is_servers) = (0, false);
    let mut own = Vec::with_capacity(due.len());
    for (due_us, sent_us) in due {
        if sent_so_far <= due_us {
            is_servers = false;
        }
        is_servers = is_servers || is_busy(due_us) || is_busy(sent_us);
        own.push(if is_servers { 0 } else { sent_us.saturating_sub(due_us) });
        sent_so_far = sent_so_far.max(sent_us);
    }
    own
}

#[cfg(test)]
mod tests {
    use super::super::tests::answered;
    use super::*;

    #[test]
    fn a_tool_that_is_late_with_connections_free_is_late_by_itself() {
        let records: Vec<Record> = (0..100).map(|i| answered(10_000 * i, 3_000, 1_000)).collect();
        assert_eq!(own_us(&records, 2), [3_000; 100]);
    }

    #[test]
    fn a_server_that_holds_all_connections_is_the_reason_until_the_backlog_is_sent() {
        // Two connections, a request every 10 ms. The server stops from 100 to 300 ms; then the tool sends what waited, one a
        // millisecond, each answered at once.
        let stops = |i: u64| match i {
            10 | 11 => answered(10_000 * i, 0, 300_000 - 10_000 * i),
            12..=31 => answered(10_000 * i, 300_000 + 1_000 * (i - 11) - 10_000 * i, 500),
            _ => answered(10_000 * i, 40, 500),
        };
        let records: Vec<Record> = (0..60).map(stops).collect();
        let own = own_us(&records, 2);
        assert!(own[10..=31].iter().all(|us| *us == 0), "{own:?}");
        assert!(own[32..].iter().all(|us| *us == 40), "{own:?}");
    }

    #[test]
    fn a_connection_short_of_all_at_work_is_no_reason() {
        // Ten connections, nine tenths of which are at work through one second.
        let held = |count: u64| (0..count).map(|_| answered(0, 0, 1_000_000));
        let late = |count| {
            let records: Vec<Record> = held(count).chain([answered(500_000, 7_000, 100)]).collect();
            own_us(&records, 10).last().copied()
        };
        assert_eq!((late(8), late(9)), (Some(7_000), Some(0)));
    }
}
