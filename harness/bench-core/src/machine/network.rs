//! What went wrong with TCP, by the kernel's own counters.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::counted;

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
            /// From the kernel's tables, by group and name: `Tcp.RetransSegs`.
            pub fn from_table(table: &HashMap<String, u64>) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_the_machine_lacks_stays_unknown() {
        let none = NetworkCounters::default();
        let some = NetworkCounters { listen_drops: Some(5), ..none };
        assert_eq!(some.since(none).listen_drops, None);
        assert_eq!(some.since(NetworkCounters { listen_drops: Some(3), ..none }).listen_drops, Some(2));
    }
}
