//! rpc-load, the load generator of this workspace (see load-generator/README.md): closed and open loops.
//!
//! What to know of it: its connections are established before its window begins. Request `i` of an open loop is due on
//! connection `i mod connections` and waits for that one, where vegeta's takes any that is free; so at the
//! same load more of its requests wait, and it reports itself which part of a lag is its own. Each request has an id of
//! its own, and an answer has to have that, a result and no error; where one result is right, it has to be that.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::failure::{NOT_JSON_RPC, RPC_ERROR};
use super::load_tool::{
    About, Bodies, Build, Driver, Files, Invocation, Job, Reading, command, is_for_a_file, text,
};
use super::records::kept::shared;
use super::records::{Record, not_sent};
use super::sample_details::{Connects, Details, MethodLatency};
use super::silences::silences;
use super::{Latency, Load, LoadSample};
use crate::transport::Transport;
use crate::workload::requests::Known;

/// The line of names of the tool's records.
const NAMES: [&str; 7] = ["connection", "due_ns", "sent_ns", "ended_ns", "own_lag_ns", "outcome", "bytes"];

/// The program that it is a part of, as a person calls it in the repository, and its verb there.
const PROGRAM: &str = "target/debug/rpc-bench";
const VERB: &str = "load";

/// The tool of this workspace.
pub struct RpcLoad;

impl Driver for RpcLoad {
    fn about(&self) -> About {
        use super::Capability::*;
        About {
            name: "rpc-load",
            can: &[
                Over(Transport::Http),
                Over(Transport::WebSocket),
                Over(Transport::Ipc),
                ClosedLoop,
                Rate,
                OpenLoop,
                SeveralBodies,
                RepeatsBodies,
                Headers,
                Tls,
                SeveralInFlight,
                Batches,
                Holds,
                TellsWhenDue,
            ],
            template: None,
            version: env!("CARGO_PKG_VERSION"),
            build: Build::Here,
        }
    }

    fn prepare(&self, job: &Job<'_>, bodies: &mut Bodies<'_>) -> Result<Invocation> {
        let Job { load, url, files, connecting_ms, known } = *job;
        let mut args = command(VERB, arguments(load, url));
        args.push("--json".to_owned());
        let bodies = if load.hold {
            u64::MAX
        } else if let Bodies::One(body) = bodies {
            args.extend(match is_for_a_file(body) {
                true => ["--bodies".to_owned(), files.write_body(body)?],
                false => ["--body", *body].map(str::to_owned),
            });
            args.extend(expected(load, files, known)?.into_iter().flatten());
            u64::MAX
        } else {
            args.extend(["--bodies".to_owned(), files.requests.display().to_string()]);
            files.write_requests(load, bodies, String::push_str)?
        };
        if load.rate.is_some() {
            args.extend(["--records".to_owned(), files.answered.display().to_string()]);
            if bodies != u64::MAX {
                args.extend(["--requests".to_owned(), bodies.to_string()]);
            }
        }
        if let Some(connecting_ms) = connecting_ms {
            args.extend(["--connect-timeout".to_owned(), connecting_ms.max(1).to_string()]);
        }
        // It begins its window itself, a moment after the server holds all connections.
        Ok(Invocation { args, interrupted: connecting_ms.is_some(), bodies })
    }

    fn read(&self, load: &Load, bodies: u64, files: &Files, printed: &mut dyn Read) -> Result<Reading> {
        let printed = text(printed)?;
        if load.rate.is_none() {
            return closed(load, &printed).map(Into::into);
        }
        let file = File::open(&files.answered).context("rpc-load wrote no records")?;
        let mut records = records(file)?;
        let given = records.len() as u64;
        ensure!(given <= bodies, "rpc-load gave {given} records for {bodies} bodies");
        let due_us = |i| i * 1_000_000 / u64::from(load.rate.unwrap_or(1));
        records.extend(not_sent(given..load.intended(), bodies, due_us));
        let printed: Printed = serde_json::from_str(&printed).context("rpc-load's output is not its JSON")?;
        let last_us = records.last().map_or(0, |record| record.intended_us);
        records.extend(not_connected(&printed.connect, last_us));
        let (methods, examples) = (timed(printed.methods), named(printed.examples));
        Ok(Reading::Records(records, Box::new(Details { methods, examples, ..Details::default() })))
    }

    fn by_hand(&self, load: &Load, body: &str, url: &str) -> Vec<Vec<String>> {
        let mut args = command(VERB, arguments(load, url));
        if is_for_a_file(body) {
            args.extend(["--bodies", "/dev/stdin"].map(str::to_owned));
            return vec![command("echo", vec![body.to_owned()]), command(PROGRAM, args)];
        }
        if !load.hold {
            args.extend(["--body", body].map(str::to_owned));
        }
        vec![command(PROGRAM, args)]
    }
}

fn arguments(load: &Load, url: &str) -> Vec<String> {
    let mut options = vec![
        ("--url", url.to_owned()),
        ("--connections", load.connections.to_string()),
        ("--duration", load.duration_ms.to_string()),
        ("--timeout", load.timeout_ms.to_string()),
    ];
    options.extend(load.rate.map(|rate| ("--rate", rate.to_string())));
    options.extend((load.in_flight > 1).then(|| ("--in-flight", load.in_flight.to_string())));
    options.extend((load.batch > 1).then(|| ("--batch", load.batch.to_string())));
    options.extend(load.access.ca.iter().map(|file| ("--ca", file.display().to_string())));
    options.extend(load.access.headers.each().map(|(name, value)| ("--header", format!("{name}: {value}"))));
    let as_is = load.as_is && url.starts_with("http") && load.batch == 1 && !load.hold;
    let options = options.into_iter().flat_map(|(option, value)| [option.to_owned(), value]);
    let flags = [("--as-is", as_is), ("--hold", load.hold)].into_iter().filter(|(_, given)| *given);
    options.chain(flags.map(|(flag, _)| flag.to_owned())).collect()
}

#[derive(Deserialize)]
struct Printed {
    succeeded: u64,
    failed: BTreeMap<String, u64>,
    seconds: f64,
    bytes_read: u64,
    bytes_written: u64,
    #[serde(default)]
    examples: BTreeMap<String, String>,
    #[serde(default)]
    methods: Vec<MethodLatency>,
    #[serde(default)]
    connections_lost: u64,
    connect: Connect,
    latency_us: Latency,
    quantiles_us: Vec<(f64, f64)>,
    hdr_log: Option<String>,
    #[serde(default)]
    answered_per_50_ms: Vec<u32>,
}

#[derive(Deserialize)]
struct Connect {
    failed: BTreeMap<String, u64>,
    seconds: f64,
    time_us: Latency,
}

/// Reads what the tool printed of a closed loop, or of connections that it held.
///
/// # Errors
/// It is not that: what is missing.
fn closed(load: &Load, json: &str) -> Result<LoadSample> {
    let printed: Printed = serde_json::from_str(json).context("rpc-load's output is not its JSON")?;
    let mut failed = BTreeMap::new();
    for (outcome, count) in printed.failed {
        *failed.entry(failure(&outcome).unwrap_or(outcome)).or_default() += count;
    }
    // As the other tools name what keeps a connection from being established.
    failed.extend(printed.connect.failed.into_iter().map(|(kind, count)| (format!("dial: {kind}"), count)));
    let lost = printed.connections_lost;
    failed.extend((load.hold && lost > 0).then(|| ("a held connection was lost".to_owned(), lost)));
    let Connect { seconds, time_us, .. } = printed.connect;
    Ok(LoadSample {
        succeeded: printed.succeeded,
        failed,
        time_taken_s: printed.seconds,
        bytes_read: printed.bytes_read,
        bytes_written: Some(printed.bytes_written),
        latency_us: printed.latency_us,
        quantiles: printed.quantiles_us,
        details: Details {
            batch: (load.batch > 1).then_some(load.batch),
            held: load.hold,
            connects: Some(Connects { all_s: seconds, each_us: time_us }),
            histogram: printed.hdr_log,
            methods: timed(printed.methods),
            examples: named(printed.examples),
            silences: silences(&printed.answered_per_50_ms, load.duration_ms),
            ..Details::default()
        },
        ..LoadSample::default()
    })
}

/// Connections that were not established, as in a closed loop: the requests went over the others. They stand last, so
/// that records stay in their order.
fn not_connected(connect: &Connect, last_us: u64) -> impl Iterator<Item = Record> {
    connect.failed.iter().flat_map(move |(kind, count)| {
        let kind: Arc<str> = format!("dial: {kind}").into();
        (0..*count).map(move |_| Record::failed(last_us, &kind))
    })
}

/// The result that every answer must have, where one request is sent of which that is known to the last value.
fn expected(load: &Load, files: &Files, known: &[Known]) -> Result<Option<[String; 2]>> {
    let [Known { truth, .. }] = known else { return Ok(None) };
    let Some(result) = truth.exact().and_then(|answer| answer.get("result")) else { return Ok(None) };
    if load.as_is {
        return Ok(None);
    }
    let file = &files.expected;
    std::fs::write(file, result.to_string()).with_context(|| format!("can't write {}", file.display()))?;
    Ok(Some(["--expect".to_owned(), file.display().to_string()]))
}

/// Methods of which some request has a known time.
fn timed(mut methods: Vec<MethodLatency>) -> Vec<MethodLatency> {
    methods.retain(|of| of.latency_us.max > 0.0);
    methods
}

/// Examples by what the kinds of failures are called here.
fn named(examples: BTreeMap<String, String>) -> BTreeMap<String, String> {
    examples.into_iter().map(|(kind, text)| (failure(&kind).unwrap_or(kind), text)).collect()
}

/// Why a request failed, if it did.
fn failure(outcome: &str) -> Option<String> {
    Some(match outcome.strip_prefix("error ") {
        _ if outcome == "ok" => return None,
        _ if outcome == "malformed answer" => NOT_JSON_RPC.to_owned(),
        Some(code) => format!("{RPC_ERROR}{code}"),
        None => outcome.to_owned(),
    })
}

/// Reads the tool's records of an open loop, which have a line for each request that was due.
///
/// # Errors
/// They are not that: where, and what is missing.
fn records(csv: impl Read) -> Result<Vec<Record>> {
    let mut lines = csv::Reader::from_reader(csv);
    ensure!(lines.headers()?.iter().eq(NAMES), "rpc-load's records have no line of names");
    let (mut records, mut kinds) = (Vec::new(), Vec::<Arc<str>>::new());
    for (i, line) in lines.records().enumerate() {
        let line = line.context("rpc-load's records are no CSV")?;
        let field = |i: usize| line.get(i).unwrap_or_default();
        let number = |at: usize| -> Result<u64> {
            let context = || format!("rpc-load's records, line {}: {} is {:?}", i + 2, NAMES[at], field(at));
            field(at).parse().with_context(context)
        };
        let sent_us = if field(2).is_empty() { None } else { Some(number(2)? / 1_000) };
        records.push(Record {
            intended_us: number(1)? / 1_000,
            sent_us,
            ended_us: sent_us.map(|_| number(3)).transpose()?.map(|ns| ns / 1_000),
            own_lag_us: Some(number(4)? / 1_000),
            bytes_in: number(6)?,
            failure: failure(field(5)).map(|kind| shared(&mut kinds, &kind)),
        });
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::records::tests::load;
    use super::super::records::{HELD, sample};
    use super::*;

    #[test]
    fn records_are_read_and_what_was_not_sent_is_the_servers() {
        let names = NAMES.join(",");
        let csv = "0,0,1500,901500,1500,ok,40\n1,50000000,50001000,50301000,1000,HTTP 503,7\n\
                   0,100000000,100000000,200000000,0,timeout,0\n1,150000000,,200000000,0,not sent,0\n";
        let records = records(format!("{names}\n{csv}").as_bytes()).unwrap();
        let (first, last) = (&records[0], &records[3]);
        assert_eq!((first.intended_us, first.sent_us, first.ended_us), (0, Some(1), Some(901)));
        assert_eq!((first.own_lag_us, first.bytes_in), (Some(1), 40));
        assert_eq!((last.intended_us, last.sent_us, last.ended_us), (150_000, None, None));
        let load = Load { connections: 2, ..load(20, 200) };
        let sample = sample(&records, &load).unwrap();
        let failed: Vec<(&str, u64)> =
            sample.failed.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        assert_eq!((sample.succeeded, failed), (1, vec![("HTTP 503", 1), (HELD, 1), ("timeout", 1)]));
    }

    #[test]
    fn other_text_is_an_error() {
        let names = NAMES.join(",");
        for text in
            ["a,b\n1,2\n".to_owned(), format!("{names}\n0,x,1,2,0,ok,3\n"), format!("{names}\n0,1,2\n")]
        {
            assert!(records(text.as_bytes()).is_err(), "{text}");
        }
        assert!(closed(&Load::default(), "{}").is_err());
    }

    #[test]
    fn a_closed_loops_counts_are_read() {
        let times = r#"{"count":2,"mean":2,"stddev":0,"min":1,"p50":2,"p75":2,"p90":2,"p95":2,"p99":3,"p99.9":3,"p99.99":3,"max":3}"#;
        let json = format!(
            r#"{{"succeeded":2,"failed":{{"HTTP 500":1,"HTTP 503":2,"timeout":1}},"seconds":1.5,"bytes_read":10,"bytes_written":20,
                "connections_lost":2,
                "connect":{{"established":1,"failed":{{"timeout":3}},"seconds":0.25,"time_us":{times}}},"latency_us":{times},"quantiles_us":[[0.5,2.0],[1.0,3.0]],"open":null}}"#
        );
        let sample = closed(&Load::default(), &json).unwrap();
        assert_eq!((sample.succeeded, sample.failures(), sample.not_connected()), (2, 7, 3));
        let batches = closed(&Load { batch: 30, ..Load::default() }, &json).unwrap();
        assert_eq!(batches.requests_per_second() / sample.requests_per_second(), 30.0, "calls");
        let connects = sample.details.connects.unwrap();
        assert_eq!((connects.all_s, connects.each_us.p99, sample.details.held), (0.25, 3.0, false));
        let held = closed(&Load { hold: true, ..Load::default() }, &json).unwrap();
        assert_eq!((held.details.held, held.failures()), (true, 9), "those that were lost, too");
        assert_eq!(
            (sample.failed["HTTP 503"], sample.latency_us.p999, sample.bytes_written),
            (2, Some(3.0), Some(20))
        );
    }

    #[test]
    fn connections_that_were_not_established_are_failures_at_a_rate_too() {
        let times = r#"{"mean":2,"p50":2,"p90":2,"p99":3,"p99.9":3,"max":3}"#;
        let json =
            format!(r#"{{"failed":{{"handshake: HTTP 429":2,"timeout":1}},"seconds":1,"time_us":{times}}}"#);
        let connect: Connect = serde_json::from_str(&json).unwrap();
        let names = NAMES.join(",");
        let mut records = records(format!("{names}\n0,0,1500,901500,1500,ok,40\n").as_bytes()).unwrap();
        records.extend(not_connected(&connect, 0));
        let sample = sample(&records, &load(20, 50)).unwrap();
        assert_eq!((sample.succeeded, sample.failures(), sample.not_connected()), (1, 3, 3));
    }

    #[test]
    fn a_body_that_is_longer_than_an_argument_is_given_in_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["r", "a", "t", "p", "e"].map(|name| dir.path().join(name));
        let [requests, answered, template, printed, expected] = paths;
        let files = Files { requests, answered, template, printed, expected };
        for rate in [None, Some(20)] {
            let load = Load { rate, ..load(20, 200) };
            let job = Job { load: &load, url: "http://a:1/", files: &files, connecting_ms: None, known: &[] };
            let body = format!("{{\"method\":\"m\",\"params\":[\"{}\"]}}", "a".repeat(300_000));
            let invocation = RpcLoad.prepare(&job, &mut Bodies::One(&body)).unwrap();
            assert!(invocation.args.iter().all(|argument| argument.len() < 131_072));
            assert!(
                invocation.args.windows(2).any(|two| two == ["--bodies", files.requests.to_str().unwrap()])
            );
            assert_eq!(
                (std::fs::read_to_string(&files.requests).unwrap(), invocation.bodies),
                (body.clone(), u64::MAX)
            );
            let by_hand = RpcLoad.by_hand(&load, &body, "http://a:1/");
            assert_eq!(by_hand[0], ["echo".to_owned(), body]);
        }
    }

    #[test]
    fn a_load_is_given_as_arguments() {
        let [requests, answered, template, printed, expected] = ["r", "a", "t", "p", "e"].map(PathBuf::from);
        let files = Files { requests, answered, template, printed, expected };
        let plain = Load { rate: None, ..load(20, 200) };
        for (load, connecting_ms, has, has_not) in [
            (plain.clone(), Some(700), "--json --body {} --connect-timeout 700", "--rate"),
            (Load { in_flight: 4, ..plain.clone() }, None, "--in-flight 4", "--batch"),
            (Load { hold: true, ..plain.clone() }, None, "--hold", "--body"),
        ] {
            let job = Job { load: &load, url: "ws://a:1/", files: &files, connecting_ms, known: &[] };
            let invocation = RpcLoad.prepare(&job, &mut Bodies::One("{}")).unwrap();
            assert_eq!(invocation.interrupted, connecting_ms.is_some());
            let args = invocation.args.join(" ");
            assert!(args.contains(has) && !args.contains(has_not) && !args.contains("--as-is"), "{args}");
        }
        let args = arguments(&Load { batch: 10, rate: Some(20), ..plain }, "http://a:1/").join(" ");
        assert!(args.contains("--batch 10") && args.contains("--rate 20"), "{args}");
    }
}
