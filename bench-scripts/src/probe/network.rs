//! The kernel's own counters of what went wrong with TCP. They count the whole machine, so nothing else should talk.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Counters of the whole machine, or the difference of two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkCounters {
    /// Connections that found a server's accept queue full (`ListenOverflows`).
    pub listen_overflows: Option<u64>,
    /// Connections dropped at a listening socket for any reason (`ListenDrops`).
    pub listen_drops: Option<u64>,
    /// Segments sent again (`RetransSegs`).
    pub retransmits: Option<u64>,
    /// Connection requests sent again (`TCPSynRetrans`).
    pub syn_retransmits: Option<u64>,
}

impl NetworkCounters {
    /// The counters as of now.
    pub fn read() -> Self {
        let netstat = table("/proc/net/netstat");
        let snmp = table("/proc/net/snmp");
        let get = |table: &HashMap<String, u64>, name: &str| table.get(name).copied();
        Self {
            listen_overflows: get(&netstat, "TcpExt.ListenOverflows"),
            listen_drops: get(&netstat, "TcpExt.ListenDrops"),
            retransmits: get(&snmp, "Tcp.RetransSegs"),
            syn_retransmits: get(&netstat, "TcpExt.TCPSynRetrans"),
        }
    }

    /// What was counted between an earlier reading and this one.
    pub fn since(self, earlier: Self) -> Self {
        let grown = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            listen_overflows: grown(self.listen_overflows, earlier.listen_overflows),
            listen_drops: grown(self.listen_drops, earlier.listen_drops),
            retransmits: grown(self.retransmits, earlier.retransmits),
            syn_retransmits: grown(self.syn_retransmits, earlier.syn_retransmits),
        }
    }
}

/// Reads a file of paired lines: `Group: name name …` and `Group: value value …`.
fn table(path: &str) -> HashMap<String, u64> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|_| String::new());
    parse_table(&text)
}

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
    }

    #[test]
    fn a_counter_that_the_machine_lacks_stays_unknown() {
        let none = NetworkCounters::default();
        let some = NetworkCounters { listen_drops: Some(5), ..none };
        assert_eq!(some.since(none).listen_drops, None);
        assert_eq!(some.since(NetworkCounters { listen_drops: Some(3), ..none }).listen_drops, Some(2));
    }
}
