//! The kernel's own counters of what went wrong with TCP. They count the whole machine, so nothing else should talk.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::kernel_files::{counted, text};

/// One line a counter: its field, its name in the kernel's tables, and what it counts.
macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $field:ident = $name:literal,)+) => {
        /// Counters of the whole machine, or the difference of two readings. A counter that the machine lacks is
        /// `None`.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct NetworkCounters {
            $($(#[doc = $doc])+ #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<u64>,)+
        }

        impl NetworkCounters {
            fn from_table(table: &HashMap<String, u64>) -> Self {
                Self { $($field: table.get($name).copied(),)+ }
            }

            /// What was counted between an earlier reading and this one.
            pub fn since(self, earlier: Self) -> Self {
                Self { $($field: counted(self.$field, earlier.$field),)+ }
            }

            /// What was counted in two windows together; unknown where it is unknown in one of them.
            pub fn plus(self, other: Self) -> Self {
                let both = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
                Self { $($field: both(self.$field, other.$field),)+ }
            }
        }
    };
}

counters! {
    /// Connections that found a server's accept queue full.
    listen_overflows = "TcpExt.ListenOverflows",
    /// Connections dropped at a listening socket for any reason.
    listen_drops = "TcpExt.ListenDrops",
    /// Segments sent again.
    retransmits = "Tcp.RetransSegs",
    /// Connection requests, and answers to them, sent again.
    syn_retransmits = "TcpExt.TCPSynRetrans",
    /// Retransmission timers that ran out, those of connection requests included.
    timeouts = "TcpExt.TCPTimeouts",
    /// Retransmissions that were lost too.
    lost_retransmits = "TcpExt.TCPLostRetransmit",
    /// Full queues of half-open connections that were answered with cookies.
    request_queue_cookies = "TcpExt.TCPReqQFullDoCookies",
    /// Connection requests dropped at a full queue of half-open connections.
    request_queue_drops = "TcpExt.TCPReqQFullDrop",
    /// Connections reset because they were closed with data unread.
    abort_on_data = "TcpExt.TCPAbortOnData",
    /// Connections reset because data came after they were closed.
    abort_on_close = "TcpExt.TCPAbortOnClose",
    /// Connections reset for want of memory.
    abort_on_memory = "TcpExt.TCPAbortOnMemory",
    /// Connections given up after too many retransmissions.
    abort_on_timeout = "TcpExt.TCPAbortOnTimeout",
    /// Connections reset because they lingered too long.
    abort_on_linger = "TcpExt.TCPAbortOnLinger",
    /// Resets that could not be sent.
    abort_failed = "TcpExt.TCPAbortFailed",
    /// Segments dropped because a socket's backlog was full.
    backlog_drops = "TcpExt.TCPBacklogDrop",
    /// Segments dropped because a receive queue was full.
    receive_queue_drops = "TcpExt.TCPRcvQDrop",
    /// Closed connections that found no room to wait out their time.
    time_wait_overflows = "TcpExt.TCPTimeWaitOverflow",
    /// Connections requested by clients.
    active_opens = "Tcp.ActiveOpens",
    /// Connections that reached a listening socket.
    passive_opens = "Tcp.PassiveOpens",
    /// Connections that failed while they were made.
    attempt_fails = "Tcp.AttemptFails",
    /// Established connections that were reset.
    established_resets = "Tcp.EstabResets",
    /// Resets sent.
    resets_sent = "Tcp.OutRsts",
}

impl NetworkCounters {
    /// The counters as of now, of the network that this thread is in.
    pub fn read() -> Self {
        Self::under("/proc/thread-self/net")
    }

    /// Those of the network that a process is in.
    pub fn of(pid: u32) -> Self {
        Self::under(&format!("/proc/{pid}/net"))
    }

    fn under(folder: &str) -> Self {
        let files = ["netstat", "snmp"].map(|file| text(format!("{folder}/{file}")).unwrap_or_default());
        Self::from_table(&files.iter().flat_map(|text| parse_table(text)).collect())
    }
}

/// Reads a file of paired lines: `Group: name name …` and `Group: value value …`.
fn parse_table(text: &str) -> HashMap<String, u64> {
    let lines: Vec<&str> = text.lines().collect();
    let mut counters = HashMap::new();
    for pair in lines.chunks_exact(2) {
        let (Some((group, names)), Some((_, values))) = (pair[0].split_once(':'), pair[1].split_once(':'))
        else {
            continue;
        };
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            if let Ok(value) = value.parse() {
                counters.insert(format!("{group}.{name}"), value);
            }
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paired_lines_are_read_by_name() {
        let table = parse_table("TcpExt: A ListenDrops\nTcpExt: 1 22\nTcp: MaxConn RetransSegs\nTcp: -1 7\n");
        assert_eq!(table.get("TcpExt.ListenDrops"), Some(&22));
        assert_eq!(table.get("Tcp.RetransSegs"), Some(&7));
        assert_eq!(table.get("Tcp.MaxConn"), None, "-1 is no count");
        let counters = NetworkCounters::from_table(&table);
        assert_eq!(
            (counters.listen_drops, counters.retransmits, counters.timeouts),
            (Some(22), Some(7), None)
        );
    }

    #[test]
    fn a_counter_that_the_machine_lacks_stays_unknown() {
        let none = NetworkCounters::default();
        let some = NetworkCounters { listen_drops: Some(5), ..none };
        assert_eq!(some.since(none).listen_drops, None);
        assert_eq!(some.since(NetworkCounters { listen_drops: Some(3), ..none }).listen_drops, Some(2));
    }
}
