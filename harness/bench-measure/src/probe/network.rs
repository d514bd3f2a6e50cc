//! The kernel's own counters of what went wrong with TCP. They count the whole machine, so nothing else should talk.

use std::collections::HashMap;

use bench_core::machine::NetworkCounters;

use crate::kernel_files::text;

/// The counters as of now, of the network that this thread is in.
pub fn read() -> NetworkCounters {
    under("/proc/thread-self/net")
}

/// Those of the network that a process is in.
pub fn of(pid: u32) -> NetworkCounters {
    under(&format!("/proc/{pid}/net"))
}

fn under(folder: &str) -> NetworkCounters {
    let files = ["netstat", "snmp"].map(|file| text(format!("{folder}/{file}")).unwrap_or_default());
    NetworkCounters::from_table(&files.iter().flat_map(|text| parse_table(text)).collect())
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
}
