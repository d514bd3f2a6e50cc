//! oha 1.16.0, an open-loop load generator for rates that vegeta can't hold.
//!
//! What to know of it: a clock of its own, to the millisecond, puts one ticket a request into a queue, and connections
//! take them from there, so that a request is due `i / rate` after the start and never waits for an answer before it
//! counts. Tickets that are still queued when the duration is over are dropped without a word. Its CSV lacks when
//! tickets came, so its database is read, by the program `oha-records`: when requests that were answered got their
//! tickets, were sent and ended. Failures are counted by kind in its JSON, without their times. Of several bodies it
//! draws one at random for each request. Writing the database takes CPU time after the window.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Load;
use super::load_tool::{About, Bodies, Build, Driver, Files, Invocation, Job, Reading, command, rate_of};
use super::records::kept::shared;
use super::records::{Record, not_sent};
use crate::transport::Transport;

/// The tool ends its tickets this long after the last request was due, in milliseconds, or it would drop those of its
/// last tick. What it sends in that time is recorded as all the rest.
const OVERTIME_MS: u64 = 20;

/// What `oha-records` writes of a request.
const NAMES: [&str; 5] = ["ticket_s", "sent_s", "ended_s", "status", "bytes"];

/// The tool of open loops at high rates.
pub struct Oha;

impl Driver for Oha {
    fn about(&self) -> About {
        About {
            name: "oha",
            transports: &[Transport::Http],
            open_loop: true,
            several_bodies: true,
            tells_when_due: true,
            prints_from_due: true,
            variable: "OHA",
            version: "1.16.0",
            // oha 1.16.0
            own_version: ("--version", 1),
            build: Build::Cargo,
            reader: Some("oha-records"),
            ..About::default()
        }
    }

    fn prepare(&self, job: &Job<'_>, bodies: &mut Bodies<'_>) -> Result<Invocation> {
        let Job { load, url, files, .. } = *job;
        let rate = rate_of(load, self)?;
        let (source, count) = match bodies {
            Bodies::One(body) => (["-d", *body].map(str::to_owned), load.intended()),
            bodies => {
                let count = files.write_requests(load, bodies, String::push_str)?;
                (["-Z".to_owned(), files.requests.display().to_string()], count)
            }
        };
        let args = arguments(load, rate, count, source, url, &files.answered);
        Ok(Invocation { args, interrupted: false, bodies: count })
    }

    fn decoding(&self, files: &Files) -> Option<Vec<String>> {
        Some(vec![files.answered.display().to_string()])
    }

    fn read(&self, load: &Load, bodies: u64, files: &Files, printed: &mut dyn Read) -> Result<Reading> {
        records(&bench_system::text_files::read(&files.printed)?, printed, load, bodies).map(Reading::Records)
    }

    /// It reports each time that it writes its database.
    fn said_nothing(&self, stderr: &str) -> bool {
        stderr.lines().all(|line| line.starts_with("Storing results to "))
    }

    fn by_hand(&self, load: &Load, body: &str, url: &str) -> Vec<Vec<String>> {
        let Ok(rate) = rate_of(load, self) else { return Vec::new() };
        let mut args = asking(load, rate, load.duration_ms * 1_000);
        args.extend(["-d", body, url].map(str::to_owned));
        vec![command(self.about().name, args)]
    }
}

/// The tool's arguments for a load with that number of bodies from this source. It prints its JSON and writes a
/// database.
fn arguments(
    load: &Load,
    rate: u32,
    bodies: u64,
    source: [String; 2],
    url: &str,
    database: &Path,
) -> Vec<String> {
    let due = bodies.min(load.intended());
    let mut args = asking(load, rate, due * 1_000_000 / u64::from(rate) + OVERTIME_MS * 1_000);
    args.extend(["--output-format", "json", "--no-tui", "--db-url"].map(str::to_owned));
    args.push(database.display().to_string());
    args.extend(source);
    args.push(url.to_owned());
    args
}

/// The arguments that make the tool send at its rate for `duration_us`.
fn asking(load: &Load, rate: u32, duration_us: u64) -> Vec<String> {
    let Load { connections, timeout_ms, .. } = load;
    let options = format!(
        "-z {duration_us}us -q {rate} -c {connections} -t {timeout_ms}ms --connect-timeout {timeout_ms}ms -m POST -H"
    );
    let last = "-r 0 --latency-correction -w --disable-compression".split(' ');
    options.split(' ').chain(["Content-Type: application/json"]).chain(last).map(str::to_owned).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Printed {
    error_distribution: BTreeMap<String, u64>,
}

/// A request that was answered, as `oha-records` writes it. Times are in seconds since the tool's start.
#[derive(Debug, Clone, Deserialize)]
struct Answer {
    /// When its ticket came.
    ticket_s: f64,
    sent_s: f64,
    ended_s: f64,
    status: u16,
    bytes: u64,
}

/// Reads what the tool printed and the lines of its database, of a load with that number of bodies.
///
/// # Errors
/// Either is not what the programs write: what is missing.
pub fn records(json: &str, lines: impl Read, load: &Load, bodies: u64) -> Result<Vec<Record>> {
    let printed: Printed = serde_json::from_str(json).context("oha's output is not its JSON")?;
    let mut lines = csv::Reader::from_reader(lines);
    ensure!(lines.headers()?.iter().eq(NAMES), "oha-records wrote no line of names");
    let answers: Vec<Answer> =
        lines.deserialize().collect::<Result<_, _>>().context("what oha-records wrote")?;
    place(&answers, &printed.error_distribution, load, bodies)
}

/// Gives each answer, in the order of their tickets, the moment at which it was due, and the moments left over to the
/// failures.
///
/// Tickets come in order and never early, so without failures the `i`-th answer is the `i`-th that was due. With
/// failures it may be a later one, at most by their number, and at most the last that was due when its ticket came. The
/// failures' kinds are dealt to the moments left over in the order of their names, because the tool does not report
/// which was when.
fn place(
    answers: &[Answer],
    errors: &BTreeMap<String, u64>,
    load: &Load,
    bodies: u64,
) -> Result<Vec<Record>> {
    let rate = f64::from(rate_of(load, &Oha)?);
    let failures: u64 = errors.values().sum();
    let ticketed = answers.len() as u64 + failures;
    let mut places: Vec<u64> = Vec::with_capacity(answers.len());
    let mut next = ticketed;
    for (rank, answer) in answers.iter().enumerate().rev() {
        ensure!(answer.ticket_s >= 0.0 && answer.ended_s >= answer.sent_s, "times out of order: {answer:?}");
        let rank = rank as u64;
        // A ticket that came a hair's breadth before it was due came then.
        let latest = (answer.ticket_s * rate + 0.001).floor() as u64;
        next = latest.min(rank + failures).min(next.saturating_sub(1)).max(rank);
        places.push(next);
    }
    places.reverse();

    let due_us = |place: u64| (place as f64 / rate * 1e6).round() as u64;
    let in_us = |time_s: f64| (time_s * 1e6).round() as u64;
    let mut kinds = Vec::new();
    let mut records: Vec<Record> = Vec::with_capacity(load.intended().max(ticketed) as usize);
    for (answer, place) in answers.iter().zip(&places) {
        let intended_us = due_us(*place);
        let sent_us = in_us(answer.sent_s).max(intended_us);
        let class = answer.status / 100;
        records.push(Record {
            intended_us,
            sent_us: Some(sent_us),
            ended_us: Some(in_us(answer.ended_s).max(sent_us)),
            own_lag_us: None,
            bytes_in: answer.bytes,
            failure: (class != 2).then(|| shared(&mut kinds, &format!("HTTP {class}xx"))),
        });
    }
    let taken: BTreeSet<u64> = if failures > 0 { places.into_iter().collect() } else { BTreeSet::new() };
    let left = (0..ticketed).filter(|place| !taken.contains(place));
    let failed = errors.iter().flat_map(|(kind, count)| {
        let kind: Arc<str> = kind.as_str().into();
        (0..*count).map(move |_| kind.clone())
    });
    records.extend(failed.zip(left).map(|(kind, place)| Record::failed(due_us(place), &kind)));
    records.extend(not_sent(ticketed..load.intended(), bodies, due_us));
    records.sort_by_key(|record| record.intended_us);
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::super::records::sample;
    use super::super::records::tests::load;
    use super::*;
    use crate::load::records::{EXHAUSTED, NOT_SENT};

    fn answer(ticket_ms: f64, sent_ms: f64, ended_ms: f64) -> Answer {
        let [ticket_s, sent_s, ended_s] = [ticket_ms, sent_ms, ended_ms].map(|ms| ms / 1e3);
        Answer { ticket_s, sent_s, ended_s, status: 200, bytes: 40 }
    }

    fn errors(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
        of.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
    }

    fn due_ms(records: &[Record]) -> Vec<u64> {
        records.iter().filter(|record| record.sent_us.is_some()).map(|r| r.intended_us / 1_000).collect()
    }

    #[test]
    fn without_failures_each_request_has_its_own_moment() {
        // A hundred a second; the clock was held up for 25 ms, so that three tickets came at once.
        let answers = [
            answer(0.5, 0.6, 1.0),
            answer(35.0, 35.1, 36.0),
            answer(35.0, 35.2, 36.0),
            answer(35.0, 35.3, 36.0),
        ];
        let records = place(&answers, &errors(&[]), &load(100, 40), 4).unwrap();
        assert_eq!(due_ms(&records), [0, 10, 20, 30]);
        let sample = sample(&records, &load(100, 40)).unwrap();
        assert_eq!((sample.succeeded, sample.failures(), sample.latency_us.max), (4, 0, 26_000.0));
        assert_eq!(sample.open.unwrap().send_lag_us.unwrap().max, 25_100.0);
    }

    #[test]
    fn failures_take_the_moments_left_over() {
        // The second and the fourth were given up.
        let answers = [answer(0.5, 0.6, 1.0), answer(20.4, 20.5, 21.0), answer(40.2, 40.3, 41.0)];
        let records = place(&answers, &errors(&[("timeout", 1), ("refused", 1)]), &load(100, 60), 6).unwrap();
        assert_eq!(due_ms(&records), [0, 20, 40]);
        let kinds: Vec<_> = records.iter().map(|record| record.failure.as_deref()).collect();
        assert_eq!(kinds, [None, Some("refused"), None, Some("timeout"), None, Some(NOT_SENT)]);
        let sample = sample(&records, &load(100, 60)).unwrap();
        assert_eq!((sample.succeeded, sample.failures(), sample.open.unwrap().sent), (3, 3, 5));
    }

    #[test]
    fn overtime_and_missing_bodies_are_recorded() {
        let answers = [answer(0.5, 0.6, 1.0), answer(10.4, 10.5, 21.0), answer(20.2, 20.3, 21.0)];
        let records = place(&answers, &errors(&[]), &load(100, 20), 2).unwrap();
        assert_eq!(sample(&records, &load(100, 20)).unwrap().open.unwrap().intended, 3);
        let records = place(&answers[..2], &errors(&[]), &load(100, 50), 2).unwrap();
        let exhausted = records.iter().filter(|record| record.failure.as_deref() == Some(EXHAUSTED));
        assert_eq!((records.len(), exhausted.count()), (5, 3));
    }

    #[test]
    fn the_tool_runs_a_little_longer_than_its_bodies() {
        let args = |bodies| {
            arguments(&load(100, 2_000), 100, bodies, ["-d", "{}"].map(str::to_owned), "u", Path::new("d"))
        };
        assert_eq!(args(1_000)[1], "2020000us");
        assert_eq!(args(50)[1], "520000us");
    }

    /// What the real tool wrote of a load at 40 requests a second: its JSON, and its database as `oha-records` writes
    /// that.
    fn fixture(name: &str, load: &Load, bodies: u64) -> Vec<Record> {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let text =
            |ending| std::fs::read_to_string(fixtures.join(format!("oha-1.16.0-{name}.{ending}"))).unwrap();
        records(&text("json"), text("csv").as_bytes(), load, bodies).unwrap()
    }

    #[test]
    fn what_the_tool_writes_is_read() {
        let load = load(40, 500);
        let records = fixture("clean", &load, 20);
        let sample = sample(&records, &load).unwrap();
        assert_eq!((sample.succeeded, sample.failures(), sample.open.unwrap().intended), (21, 0, 21));
        assert!(
            records.windows(2).all(|two| two[0].intended_us < two[1].intended_us),
            "each has its own moment"
        );
        assert!(
            records.iter().all(|record| record.sent_us >= Some(record.intended_us) && record.bytes_in > 0)
        );
    }

    #[test]
    fn what_is_refused_has_its_kind_and_no_time() {
        let load = load(40, 200);
        let records = fixture("refused", &load, 8);
        assert!(records.len() >= 8 && records.iter().all(|record| record.ended_us.is_none()), "{records:?}");
        let kind = records[0].failure.as_deref().unwrap();
        assert!(kind.contains("refused"), "{kind}");
        assert!(sample(&records, &load).unwrap_err().to_string().contains("no latencies"));
    }

    #[test]
    fn other_text_is_an_error() {
        let (json, names) = (r#"{"errorDistribution":{}}"#, NAMES.join(","));
        let read = |json: &str, lines: &str| records(json, lines.as_bytes(), &load(1, 1_000), 1);
        assert_eq!(read(json, &format!("{names}\n0.1,0.1,0.2,200,9\n")).unwrap().len(), 1);
        assert!(read("{}", &names).is_err());
        for lines in
            ["", "0.1,0.1,0.2,200,9\n", &format!("{names}\n0.1,,0.2,200,9\n"), &format!("{names}\n0.1\n")]
        {
            let error = read(json, lines).unwrap_err();
            assert!(format!("{error:#}").contains("oha-records"), "{lines:?}: {error:#}");
        }
    }
}
