//! vegeta 12.13.0, the open-loop load generator of an earlier test of validators' RPC.
//!
//! What to know of it: one pacer gives each request to a worker, and a request that waits for its answer holds its
//! worker, so workers are as many as connections, and the pacer waits where all are taken. A result's time is when its
//! worker took it, not when it was due; request `i` is due `i` whole intervals of nanoseconds after the first
//! (lib/pacer.go). The pacer gives up what is not sent when the duration is over, also what is late by a single
//! interval, so it is given some time more, and exactly the targets that are due. It keeps answers' bodies by default,
//! which is turned off; their length is read from their heads.

use std::io::Read;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Load;
use super::bombardier::without_ports;
use super::load_tool::{About, Bodies, Build, Driver, Files, Invocation, Job, Reading, command, rate_of};
use super::records::kept::shared;
use super::records::{Record, not_sent};
use crate::transport::Transport;

/// What is late by more than this when the window is over is not sent, in milliseconds.
const OVERTIME_MS: u64 = 100;

/// What the tool says of a request for which there was no target.
const NO_TARGETS: &str = "no targets to attack";

/// The tool of open loops at moderate rates.
pub struct Vegeta;

impl Driver for Vegeta {
    fn about(&self) -> About {
        use super::Capability::*;
        About {
            name: "vegeta",
            can: &[Over(Transport::Http), Rate, OpenLoop, SeveralBodies, TellsWhenDue],
            template: None,
            version: "12.13.0",
            build: Build::Go {
                package: "github.com/tsenart/vegeta/v12",
                folder: "vegeta",
                variable: "VEGETA",
                // Version: 12.13.0
                own_version: ("-version", 1),
                is_quick: true,
            },
        }
    }

    fn prepare(&self, job: &Job<'_>, bodies: &mut Bodies<'_>) -> Result<Invocation> {
        let Job { load, url, files, .. } = *job;
        let mut args = attack(load, rate_of(load, self)?);
        args.push(format!("-targets={}", files.requests.display()));
        args.push(format!("-output={}", files.answered.display()));
        args.push("-lazy".to_owned());
        let bodies = files.write_requests(load, bodies, |line, body| write_target(line, load, url, body))?;
        Ok(Invocation { args, interrupted: false, bodies })
    }

    fn decoding(&self, files: &Files) -> Option<Vec<String>> {
        Some(vec!["encode".to_owned(), "-to=csv".to_owned(), files.answered.display().to_string()])
    }

    fn read(&self, load: &Load, bodies: u64, _: &Files, printed: &mut dyn Read) -> Result<Reading> {
        Ok(Reading::Records(records(printed, load, bodies)?, Box::default()))
    }

    fn by_hand(&self, load: &Load, body: &str, url: &str) -> Vec<Vec<String>> {
        let Ok(rate) = rate_of(load, self) else { return Vec::new() };
        let mut target = String::new();
        write_target(&mut target, load, url, body);
        let vegeta = |args| command(self.about().name, args);
        vec![command("echo", vec![target]), vegeta(attack(load, rate)), vegeta(vec!["report".to_owned()])]
    }
}

/// The tool's arguments for a load. Targets are read from its standard input and results written to its standard
/// output, unless other arguments name files.
fn attack(load: &Load, rate: u32) -> Vec<String> {
    let Load { connections, duration_ms, timeout_ms, .. } = load;
    let options = format!(
        "attack -rate={rate}/1s -duration={}ms -timeout={timeout_ms}ms -connections={connections} \
         -max-connections={connections} -workers={connections} -max-workers={connections} -max-body=0 -redirects=-1",
        duration_ms + OVERTIME_MS
    );
    let last = ["-header=Content-Type: application/json", "-format=json"];
    options.split(' ').chain(last).map(str::to_owned).collect()
}

/// Appends a target with this body, as the tool reads it.
fn write_target(line: &mut String, load: &Load, url: &str, body: &str) {
    line.push_str(r#"{"method":"POST","url":""#);
    line.push_str(url);
    if let Some(host) = load.access.headers.host() {
        line.push_str(r#"","header":{"Host":["#);
        line.push_str(&serde_json::Value::from(host).to_string());
        line.push_str(r#"]},"body":""#);
    } else {
        line.push_str(r#"","body":""#);
    }
    STANDARD.encode_string(body.as_bytes(), line);
    line.push_str("\"}");
}

/// A result of a request that had a target.
struct Answer {
    sequence: u64,
    at_ns: u64,
    took_ns: u64,
    bytes: u64,
    failure: Option<Arc<str>>,
}

/// Reads the CSV that the tool prints of its results, of an attack that was given that number of targets.
///
/// # Errors
/// It is not that: where, and what is missing.
pub fn records(csv: impl Read, load: &Load, targets: u64) -> Result<Vec<Record>> {
    let mut answers = answers(csv)?;
    ensure!(answers.len() as u64 <= targets, "vegeta gave {} results for {targets} targets", answers.len());
    answers.sort_unstable_by_key(|answer| answer.sequence);
    let interval_ns = 1_000_000_000 / u64::from(rate_of(load, &Vegeta)?);
    let due_ns = |i: usize| i as u64 * interval_ns;
    // No request is sent before it is due, so the least late one shows when the first was due.
    let began_ns = answers.iter().enumerate().map(|(i, answer)| answer.at_ns.saturating_sub(due_ns(i))).min();
    let began_ns = began_ns.unwrap_or(0);
    let mut records: Vec<Record> = Vec::with_capacity(load.intended() as usize);
    for (i, answer) in answers.into_iter().enumerate() {
        let sent_ns = answer.at_ns - began_ns;
        records.push(Record {
            intended_us: due_ns(i) / 1_000,
            sent_us: Some(sent_ns / 1_000),
            ended_us: Some((sent_ns + answer.took_ns) / 1_000),
            own_lag_us: None,
            bytes_in: answer.bytes,
            failure: answer.failure,
        });
    }
    let left = records.len() as u64..load.intended();
    records.extend(not_sent(left, targets, |i| due_ns(i as usize) / 1_000));
    Ok(records)
}

fn answers(csv: impl Read) -> Result<Vec<Answer>> {
    let mut lines = csv::ReaderBuilder::new().has_headers(false).from_reader(csv);
    let mut answers = Vec::new();
    let mut kinds = Vec::new();
    let mut line = csv::StringRecord::new();
    while lines.read_record(&mut line).context("vegeta's results are no CSV")? {
        let place = || format!("vegeta's results, line {}", answers.len() + 1);
        let field = |i: usize| line.get(i).with_context(|| format!("{}: no field {i}", place()));
        let number = |i: usize| -> Result<u64> {
            let text = field(i)?;
            text.parse().with_context(|| format!("{}: field {i} is {text:?}, no number", place()))
        };
        let error = field(5)?;
        if error == NO_TARGETS {
            continue;
        }
        let status = number(1)?;
        let failure = failure(status, error).map(|kind| shared(&mut kinds, &kind));
        let bytes = content_length(field(11)?).with_context(place)?;
        let (at_ns, took_ns, sequence) = (number(0)?, number(2)?, number(8)?);
        answers.push(Answer { sequence, at_ns, took_ns, bytes, failure });
    }
    Ok(answers)
}

/// Why a request failed, if it did. A status of 0 means that there was no answer.
fn failure(status: u64, error: &str) -> Option<String> {
    match status {
        200..=299 if error.is_empty() => None,
        0 | 200..=299 => Some(without_ports(error)),
        _ => Some(format!("HTTP {status}")),
    }
}

/// The length of a body as its head states it, from base64; 0 where it doesn't.
fn content_length(head: &str) -> Result<u64> {
    let head = STANDARD.decode(head).context("the head is no base64")?;
    let text = String::from_utf8_lossy(&head);
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then_some(value)
    });
    Ok(value.and_then(|value| value.trim().parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::records::tests::load;
    use super::super::records::{HELD, sample};
    use super::*;
    use crate::load::records::{EXHAUSTED, NOT_SENT};

    const CLEAN: &str = include_str!("../../tests/fixtures/vegeta-12.13.0-clean.csv");
    const EXHAUSTED_EARLY: &str = include_str!("../../tests/fixtures/vegeta-12.13.0-exhausted.csv");
    const REFUSED: &str = include_str!("../../tests/fixtures/vegeta-12.13.0-refused.csv");
    const TIMEOUTS: &str = include_str!("../../tests/fixtures/vegeta-12.13.0-timeouts.csv");

    fn failed(csv: &str, load: &Load, targets: u64) -> Vec<(String, u64)> {
        let sample = sample(&records(csv.as_bytes(), load, targets).unwrap(), load).unwrap();
        assert_eq!(sample.succeeded + sample.failures(), load.intended());
        sample.failed.into_iter().collect()
    }

    #[test]
    fn a_clean_window() {
        let records = records(CLEAN.as_bytes(), &load(100, 200), 20).unwrap();
        let sample = sample(&records, &load(100, 200)).unwrap();
        assert_eq!((sample.succeeded, sample.failures(), sample.bytes_read), (20, 0, 20 * 102));
        // The eighteenth was the least late. The sixth came after the seventh, 15.491 ms late, and took 1.360 ms.
        assert_eq!((records[17].intended_us, records[17].sent_us), (170_000, Some(170_000)));
        let sixth = &records[5];
        assert_eq!((sixth.intended_us, sixth.sent_us, sixth.ended_us), (50_000, Some(65_491), Some(66_851)));
        assert_eq!(
            (sample.latency_us.max, sample.open.unwrap().send_lag_us.unwrap().max),
            (16_851.0, 15_491.0)
        );
        assert!(records.windows(2).all(|two| two[0].intended_us < two[1].intended_us));
    }

    #[test]
    fn failures_as_the_tool_gives_them() {
        let timeout = "Post: context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
        let expected = [(timeout.to_owned(), 13), (HELD.to_owned(), 7)];
        // Recorded with four connections, all of which the server held.
        let four = Load { connections: 4, ..load(100, 200) };
        assert_eq!(failed(TIMEOUTS, &four, 20), expected);
        let refused = "Post: dial tcp: connect: connection refused";
        assert_eq!(failed(REFUSED, &load(20, 300), 6), [(refused.to_owned(), 6)]);
        assert_eq!(failed(EXHAUSTED_EARLY, &load(100, 300), 12), [(EXHAUSTED.to_owned(), 18)]);
    }

    /// A line as vegeta prints it.
    fn line(sequence: u64, at_us: u64, status: u64, took_us: u64, error: &str) -> String {
        let at_ns = 1_700_000_000_000_000_000 + at_us * 1_000;
        let head = STANDARD.encode("Content-Length: 40\r\nContent-Type: application/json\r\n");
        format!(
            "{at_ns},{status},{},70,0,\"{}\",,,{sequence},POST,http://127.0.0.1:1/,{head}\n",
            took_us * 1_000,
            error.replace('"', "\"\"")
        )
    }

    #[test]
    fn when_a_request_was_due_follows_from_the_least_late() {
        // Ten a second. The first is 3 ms late, the third 250 ms, and the order in the file is that of the answers.
        let text =
            [line(0, 3_000, 200, 900, ""), line(1, 100_000, 200, 900, ""), line(2, 450_000, 200, 900, "")]
                .into_iter()
                .rev()
                .collect::<String>();
        let records = records(text.as_bytes(), &load(10, 300), 3).unwrap();
        let times: Vec<_> = records.iter().map(|record| (record.intended_us, record.sent_us)).collect();
        assert_eq!(times, [(0, Some(3_000)), (100_000, Some(100_000)), (200_000, Some(450_000))]);
        assert_eq!(records[2].ended_us, Some(450_900));
        assert_eq!(sample(&records, &load(10, 300)).unwrap().bytes_read, 120);
    }

    #[test]
    fn requests_without_a_result_have_a_reason() {
        let text = line(0, 0, 200, 900, "") + &line(1, 100_000, 0, 1, NO_TARGETS);
        let kinds = |targets| {
            let records = records(text.as_bytes(), &load(10, 400), targets).unwrap();
            records
                .iter()
                .map(|record| record.failure.as_deref().unwrap_or("").to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(kinds(4), ["", NOT_SENT, NOT_SENT, NOT_SENT]);
        assert_eq!(kinds(1), ["", EXHAUSTED, EXHAUSTED, EXHAUSTED]);
        assert!(records(text.as_bytes(), &load(10, 400), 0).is_err());
    }

    #[test]
    fn other_text_is_an_error() {
        let good = line(0, 0, 200, 900, "");
        for text in ["a,b\n".to_owned(), good.replace(",POST,", ","), good.replace(",200,", ",ok,")] {
            assert!(records(text.as_bytes(), &load(1, 1_000), 1).is_err(), "{text}");
        }
    }

    #[test]
    fn there_is_a_target_for_each_request_that_is_due() {
        let (load, dir) = (load(100, 50), tempfile::tempdir().unwrap());
        let requests = dir.path().join("requests");
        let [answered, template, printed, expected] = [(); 4].map(|()| requests.clone());
        let files = Files { requests: requests.clone(), answered, template, printed, expected };
        let write = |line: &mut String, body: &str| write_target(line, &load, "http://a:1/", body);
        assert_eq!(files.write_requests(&load, &mut Bodies::One("{}"), write).unwrap(), 5);
        let line = r#"{"method":"POST","url":"http://a:1/","body":"e30="}"#;
        assert_eq!(std::fs::read_to_string(&requests).unwrap(), format!("{line}\n").repeat(5));
        let mut three = ["1", "2", "3"].map(str::to_owned).into_iter();
        assert_eq!(files.write_requests(&load, &mut Bodies::Stream(&mut three), write).unwrap(), 3);
    }
}
