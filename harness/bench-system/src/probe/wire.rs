//! When requests and answers pass the loopback interface, as tcpdump saw them: a clock that belongs to no load tool.
//!
//! From the first segment of a request to the first of its answer: what the server took, with the time that it waited
//! for a processor. What a load tool's own latency has beyond that is the tool's work. Pipelined requests are out of
//! scope: a connection is taken to have one under way at a time.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

/// Requests and answers in a window, on the network interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Wire {
    /// What was seen.
    Seen {
        /// Requests that were answered.
        requests: u64,
        /// Median time from a request's first segment to its answer's, in microseconds.
        p50_us: f64,
        /// 99th percentile of that time, in microseconds.
        p99_us: f64,
    },
    /// Nothing that can be used.
    Unseen {
        /// Why.
        #[serde(with = "crate::foreign_text::text")]
        reason: String,
    },
}

impl Wire {
    /// The median, where it was seen.
    pub fn p50_us(&self) -> Option<f64> {
        match self {
            Self::Seen { p50_us, .. } => Some(*p50_us),
            Self::Unseen { .. } => None,
        }
    }
}

/// What makes tcpdump note the packets of a server's port, on its standard output in its own format.
pub fn capture(port: u16) -> Vec<String> {
    // Heads of packets are enough, and a buffer of 16 MiB outlasts a time without a processor.
    let options = "-i lo -n -s 80 -B 16384 --time-stamp-precision=nano -w - tcp port";
    options.split(' ').map(str::to_owned).chain([port.to_string()]).collect()
}

/// What makes it print those packets as [`seen`] reads them. Without the precision it would print microseconds.
pub const PRINT: [&str; 5] = ["--time-stamp-precision=nano", "-n", "-tt", "-q", "-r"];

/// Whether tcpdump noted every packet. It says in any case how many it lost.
///
/// # Errors
/// It lost some, or did not say.
pub fn whole(stderr: &str) -> Result<()> {
    let mut said = stderr.lines().map(str::trim).filter(|line| line.contains("dropped by")).peekable();
    ensure!(said.peek().is_some(), "it did not say how many packets it dropped");
    match said.find(|line| !line.starts_with("0 ")) {
        Some(lost) => bail!("{lost}"),
        None => Ok(()),
    }
}

/// Works out what packets show of the requests to a port.
///
/// # Errors
/// A line is not tcpdump's, or no request was answered.
pub fn seen(printed: &str, port: u16) -> Result<Wire> {
    let mut requested: BTreeMap<u16, i128> = BTreeMap::new();
    let mut took_ns = Vec::new();
    for line in printed.lines() {
        let packet = packet(line).with_context(|| format!("tcpdump printed {line:?}"))?;
        let Some((at_ns, from, to, bytes)) = packet else { continue };
        if bytes == 0 {
            continue;
        }
        if to == port {
            requested.entry(from).or_insert(at_ns);
        } else if from == port
            && let Some(requested_ns) = requested.remove(&to)
        {
            took_ns.push(at_ns - requested_ns);
        }
    }
    ensure!(!took_ns.is_empty(), "tcpdump saw no request that was answered");
    took_ns.sort_unstable();
    let at_us = |share: f64| took_ns[((took_ns.len() - 1) as f64 * share).round() as usize] as f64 / 1e3;
    Ok(Wire::Seen { requests: took_ns.len() as u64, p50_us: at_us(0.5), p99_us: at_us(0.99) })
}

/// Nanoseconds since 1970, the ports and the bytes of data of a line like
/// `1763760000.000100250 IP 127.0.0.1.40000 > 127.0.0.1.8899: tcp 120`; `None` of another protocol's.
fn packet(line: &str) -> Result<Option<(i128, u16, u16, u64)>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [at, "IP" | "IP6", from, ">", to, "tcp", bytes] = words[..] else {
        if words.get(1).is_some_and(|word| !word.starts_with("IP")) {
            return Ok(None);
        }
        bail!("no packet of TCP");
    };
    let port = |address: &str| address.trim_end_matches(':').rsplit('.').next().unwrap_or_default().parse();
    Ok(Some((nanoseconds(at)?, port(from)?, port(to)?, bytes.parse()?)))
}

/// Nanoseconds of seconds with nine digits after the point. As an `f64` a time since 1970 is only good to a quarter of
/// a microsecond.
fn nanoseconds(at: &str) -> Result<i128> {
    let parts = at.split_once('.').filter(|(_, fraction)| fraction.len() == 9);
    let (seconds, fraction) = parts.with_context(|| format!("{at} is no time in nanoseconds"))?;
    Ok(i128::from(seconds.parse::<u64>()?) * 1_000_000_000 + i128::from(fraction.parse::<u32>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Two connections: one sends in two segments and is answered in two, the other sends while the first waits.
    const PRINTED: &str = "\
1763759999.999900000 IP 127.0.0.1.40000 > 127.0.0.1.8899: tcp 0
1763759999.999950000 IP 127.0.0.1.40000 > 127.0.0.1.8899: tcp 100
1763759999.999960000 IP 127.0.0.1.40000 > 127.0.0.1.8899: tcp 20
1763760000.000000125 IP 127.0.0.1.40001 > 127.0.0.1.8899: tcp 120
1763760000.000010500 IP 127.0.0.1.8899 > 127.0.0.1.40000: tcp 80
1763760000.000020000 IP 127.0.0.1.8899 > 127.0.0.1.40000: tcp 30
1763760000.000100250 IP6 ::1.8899 > ::1.40001: tcp 110
";

    #[test]
    fn a_request_takes_from_first_segment_to_first_segment() {
        let both = seen(PRINTED, 8899).unwrap();
        assert_eq!(both, Wire::Seen { requests: 2, p50_us: 100.125, p99_us: 100.125 });
        let one = seen(&PRINTED.replace("40001: tcp 110", "40001: tcp 0"), 8899).unwrap();
        assert_eq!(one, Wire::Seen { requests: 1, p50_us: 60.5, p99_us: 60.5 });
    }

    #[test]
    fn what_is_not_tcpdumps_or_has_no_answer_is_said() {
        assert!(format!("{:#}", seen("rubbish", 1).unwrap_err()).contains("rubbish"));
        let digit = format!("{:#}", seen("1.000000000 IP 1.1 > 2.2: tcp x", 1).unwrap_err());
        assert!(digit.contains("tcp x") && digit.contains("digit"), "{digit}");
        for time in ["1763760000.000100", "1763760000", "1763760000."] {
            let refused = format!("{:#}", seen(&format!("{time} IP 1.1 > 2.2: tcp 1"), 1).unwrap_err());
            assert!(refused.contains("no time in nanoseconds"), "{refused}");
        }
        assert!(format!("{:#}", seen("", 8899).unwrap_err()).contains("no request"));
        assert!(seen("1.0 ARP, Request who-has", 1).unwrap_err().to_string().contains("no request"));
    }

    #[test]
    fn lost_packets_are_reported() {
        let counts = "12 packets captured\n24 packets received by filter\n0 packets dropped by kernel\n";
        assert!(whole(counts).is_ok());
        let error = |said: &str| whole(said).unwrap_err().to_string();
        assert_eq!(error("3 packets dropped by kernel\n"), "3 packets dropped by kernel");
        assert_eq!(
            error(&format!("{counts}7 packets dropped by interface\n")),
            "7 packets dropped by interface"
        );
        assert!(error("12 packets captured\n").contains("did not say"), "a count that is missing is not 0");
    }

    #[test]
    fn what_is_kept_is_read_again() {
        for wire in [seen(PRINTED, 8899).unwrap(), Wire::Unseen { reason: "no tcpdump".to_owned() }] {
            let kept = serde_json::to_string(&wire).unwrap();
            assert_eq!(serde_json::from_str::<Wire>(&kept).unwrap(), wire);
        }
    }
}
