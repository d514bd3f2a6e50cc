//! What a server answers without load and what it counted, compared with the requests that were sent; and what becomes
//! of a trial: its sample, or why that is no figure.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::checker::rises;
use crate::cgroup::{OutOfMemory, Usage};
use crate::client::{self, NoAnswer, Refused, Right, Verdict};
use crate::metrics::{self, ServerCounts};
use crate::run::ended::{Ended, Ending, Judged};
use crate::subject::Subject;
use bench_core::load::LoadSample;
use bench_core::load::failure::Failure;
use bench_core::observation::{Checked, Differences, Outcome, Sample};
use bench_core::workload::requests::Known;
use bench_core::workload::{NewestCall, Truth};

/// What became of a trial. Whatever was noticed first, a server that has ended is the reason.
///
/// # Errors
/// What ends the run.
pub(in crate::run) fn outcome_of(measured: Ended<Sample>, subject: &mut Subject) -> Result<Outcome> {
    match measured {
        Ok(sample) => Ok(Outcome::Completed(Box::new(sample))),
        Err(Ending::Run(error)) => Err(error),
        Err(Ending::Trial(outcome)) => {
            let Some(how) = subject.died()? else { return Ok(outcome) };
            let killed = subject.usage().filter(Usage::is_out_of_memory).map(OutOfMemory);
            Ok(match killed {
                Some(killed) => Outcome::out_of_memory("under load", killed),
                None => Outcome::ServerDied { reason: how, after_s: subject.ended_after_s() },
            })
        }
    }
}

/// What right answers showed.
#[derive(Debug, Clone, Default)]
pub(super) struct Verified {
    /// Bytes of an answer's body; in a mix the mean by the requests' shares.
    pub bytes: f64,
    /// Where answers differ from a reference's, whose differences are counted.
    pub differences: Differences,
    /// The numbers that must not fall, by request.
    highest: BTreeMap<usize, u64>,
}

/// What becomes of a request that a service refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusals {
    /// It is sent again for a time: a limit on the rate that the trial before used up is free again soon.
    Repeat,
    /// It is left out: the load was refused too, and is counted.
    Skip,
}

/// How long a request that is refused is sent again, and the pause before it is.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(100));

/// The answer to a request, compared with what is right; `None` where it was refused and that is left out.
fn compared(
    subject: &Subject,
    body: &str,
    counts_differences: bool,
    settled: &Truth,
    refusals: Refusals,
) -> Option<Result<Verdict>> {
    let until = Instant::now() + PATIENCE.0;
    loop {
        let compared = client::compare(&subject.target, body, counts_differences, settled);
        let is_refused = matches!(&compared, Err(error) if error.is::<Refused>());
        match refusals {
            Refusals::Skip if is_refused => return None,
            Refusals::Repeat if is_refused && Instant::now() < until => std::thread::sleep(PATIENCE.1),
            _ => return Some(compared),
        }
    }
}

/// Sends the known requests and compares the answers with the truth; numbers that must not fall also with what was
/// verified before.
pub(super) fn verify(
    known: &[Known],
    subject: &Subject,
    before: &Verified,
    when: &str,
    refusals: Refusals,
) -> Judged<Verified> {
    let wrong = |answer| Outcome::one_wrong_answer(when, answer);
    let mut verified = Verified { highest: before.highest.clone(), ..Verified::default() };
    for (request, Known { body, truth, share, .. }) in known.iter().enumerate() {
        // That another server is silent is no fault of this one.
        let settled = client::settled(truth, body)
            .map_err(|error| Outcome::Invalid { reason: format!("{error:#}") })?;
        let right = compared(subject, body, truth.counts_differences(), &settled, refusals);
        let Some(right) = right else { continue };
        let right = right_or(right, when)?;
        rises(&mut verified.highest, request, right.number).map_err(wrong)?;
        verified.bytes += right.bytes as f64 * share;
        if let Some((answer, reference)) = &right.both {
            verified.differences.add(body, answer, reference);
        }
    }
    Ok(verified)
}

/// An answer that is right, or the outcome of a trial whose server gave none or a wrong one.
fn right_or(answer: Result<Verdict>, when: &str) -> Judged<Right> {
    let when = when.to_owned();
    match answer {
        Ok(Ok(right)) => Ok(right),
        Ok(Err(answer)) => Err(Outcome::one_wrong_answer(&when, answer)),
        Err(error) => Err(Outcome::NoAnswer { when, reason: format!("{error:#}") }),
    }
}

/// The sample, or the outcome of a trial whose sample is evidence and no figure.
pub(super) fn judged(
    mut sample: Sample,
    known: &[Known],
    before: &Verified,
    subject: &Subject,
    counted: Option<ServerCounts>,
    connections: u32,
) -> Judged<Sample> {
    // The load tool saw all answers, and the harness a few.
    let counts_wrong = sample.load.failed.keys().any(|kind| Failure::of(kind).is_wrong());
    if !counts_wrong {
        check_answers(sample.checked.as_ref())?;
    }
    check_users(&sample.load)?;
    if sample.load.succeeded == 0 && !sample.load.details.held {
        return Err(Outcome::NoSuccess(Box::new(sample)));
    }
    // One that answers nothing at all, not even wrongly.
    let silence = known.first().and_then(|Known { body, .. }| client::request(&subject.target, body).err());
    if let Some(error) = silence {
        return Err(Outcome::Silent(Box::new(Sample { silence: format!("{error:#}"), ..sample })));
    }
    let was_refused = sample.load.failed.keys().any(|kind| matches!(Failure::of(kind), Failure::Status(_)));
    let refusals = if was_refused { Refusals::Skip } else { Refusals::Repeat };
    match verify(known, subject, before, "after the window", refusals) {
        Ok(after) => {
            if let Some(differences) = &mut sample.differences {
                differences.merge(&after.differences);
            }
        }
        Err(Outcome::WrongAnswer { .. }) if counts_wrong => {}
        Err(failed) => return Err(failed),
    }
    let loads: Vec<&LoadSample> = std::iter::once(&sample.load).chain(sample.background.as_deref()).collect();
    check_counts(counted, &loads, connections, sample.checked.as_ref())?;
    if sample.short_of().is_some() {
        return Err(Outcome::NotHeld(Box::new(sample)));
    }
    Ok(sample)
}

/// The newest numbers that a server has, such as a block's, for requests about these: sends each call.
///
/// # Errors
/// There is no answer, or none with a number where it is to be.
pub(super) fn read_newest(calls: &[NewestCall], subject: &Subject) -> Judged<Vec<(NewestCall, u64)>> {
    let of = |call: &NewestCall| {
        let when = "before the window".to_owned();
        let wrong = |what: String| {
            let what = format!("no number at {} in the answer to {}: {what}", call.pointer, call.method);
            Outcome::one_wrong_answer(&when, what)
        };
        let answer = client::request(&subject.target, &call.body());
        let silent = |error| Outcome::NoAnswer { when: when.clone(), reason: format!("{error:#}") };
        let answer = answer.map_err(|error| match error.downcast_ref::<NoAnswer>() {
            Some(no_text) => wrong(no_text.to_string()),
            None => silent(error),
        })?;
        let number = answer.json().and_then(|answer| call.number(&answer));
        Ok((call.clone(), number.ok_or_else(|| wrong(answer.shown()))?))
    };
    calls.iter().map(of).collect()
}

/// The server's own counts, where it has any.
pub(super) fn read_counts(subject: &Subject) -> Judged<Option<ServerCounts>> {
    let counts = subject.metrics.as_ref().map(metrics::server_counts).transpose();
    counts.map_err(|error| Outcome::Invalid { reason: format!("{error:#}") })
}

pub(super) fn counts_since(subject: &Subject, earlier: Option<ServerCounts>) -> Judged<Option<ServerCounts>> {
    let (Some(now), Some(earlier)) = (read_counts(subject)?, earlier) else { return Ok(None) };
    let grown = |now: u64, earlier: u64| {
        let reason = "the server's own counts fell in the window; let them be those of all its processes";
        now.checked_sub(earlier).ok_or_else(|| Outcome::Invalid { reason: reason.to_owned() })
    };
    Ok(Some(ServerCounts {
        requests: grown(now.requests, earlier.requests)?,
        errors: grown(now.errors, earlier.errors)?,
    }))
}

/// A wrong answer under load is a wrong answer, whatever else was measured.
fn check_answers(checked: Option<&Checked>) -> Judged<()> {
    let Some(Checked { asked, wrong, first_wrong: Some(first), .. }) = checked else { return Ok(()) };
    let (when, answer) = ("under load".to_owned(), first.clone());
    Err(Outcome::WrongAnswer { when, answer, wrong: *wrong, of: *asked })
}

/// Each answer that a user gets is compared with the truth: one that is not it is a wrong answer.
fn check_users(load: &LoadSample) -> Judged<()> {
    let wrong = load.failed.iter().filter(|(kind, _)| Failure::of(kind).is_wrong());
    let of = load.succeeded + load.failures();
    let count = wrong.clone().map(|(_, count)| count).sum();
    let wrong: Vec<String> = wrong.map(|(kind, count)| format!("{count} x {kind}")).collect();
    if load.staged.is_none() || wrong.is_empty() {
        return Ok(());
    }
    let answer = format!("{}; the load tool's stderr has the first", wrong.join(", "));
    Err(Outcome::WrongAnswer { when: "under load".to_owned(), answer, wrong: count, of })
}

/// Compares the server's counts with those of the load tools and the harness's own requests. A JSON-RPC error in HTTP
/// 200 is a success to a tool, and only the server's count shows it.
fn check_counts(
    counted: Option<ServerCounts>,
    loads: &[&LoadSample],
    connections: u32,
    checked: Option<&Checked>,
) -> Judged<()> {
    let Some(ServerCounts { requests, errors }) = counted else { return Ok(()) };
    if errors > 0 {
        let (when, answer) = ("in the window".to_owned(), "a JSON-RPC error, by its own count".to_owned());
        return Err(Outcome::WrongAnswer { when, answer, wrong: errors, of: requests });
    }
    // Only the server counts requests that were in flight when the warm-up or the window ended, at most one for each
    // connection; requests that failed may have been answered too late, and so may the harness's own.
    let (asked, unanswered) = checked.map_or((0, 0), |checked| (checked.asked, checked.unanswered));
    let sum = |calls: fn(&LoadSample) -> u64| loads.iter().map(|load| calls(load)).sum::<u64>();
    let succeeded = sum(|load| load.calls(load.succeeded));
    let failed = sum(|load| load.calls(load.failures()));
    let of_connections = |load: &&LoadSample| load.calls(2 * u64::from(connections));
    let unseen: u64 = loads.iter().map(of_connections).sum();
    let least = succeeded + asked - unanswered;
    let most = succeeded + failed + unseen + asked;
    if requests < least || requests > most {
        let own = if asked > 0 { format!(" and the harness {}", asked - unanswered) } else { String::new() };
        let reason = format!("the server counted {requests} calls, the load tool {succeeded}{own} answers");
        return Err(Outcome::Invalid { reason });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use bench_core::load::k6;
    use bench_core::load::sample_details::Details;

    fn load(succeeded: u64) -> LoadSample {
        LoadSample { succeeded, ..LoadSample::default() }
    }

    fn failed(requests: u64, errors: u64) -> Option<Outcome> {
        check_counts(Some(ServerCounts { requests, errors }), &[&load(1_000)], 10, None).err()
    }

    #[test]
    fn counts_fit_or_make_the_trial_invalid_and_an_error_in_http_200_is_a_wrong_answer() {
        assert_eq!((failed(1_000, 0), failed(1_020, 0)), (None, None));
        assert_eq!(check_counts(None, &[&load(1_000)], 10, None), Ok(()));
        assert!(matches!(failed(1_000, 1), Some(Outcome::WrongAnswer { .. })));
        for requests in [999, 1_021] {
            assert!(matches!(failed(requests, 0), Some(Outcome::Invalid { .. })), "{requests}");
        }
    }

    #[test]
    fn each_call_of_a_batch_counts() {
        let batches = LoadSample { details: Details { batch: Some(100), ..Details::default() }, ..load(10) };
        let fits =
            |requests| check_counts(Some(ServerCounts { requests, errors: 0 }), &[&batches], 2, None).is_ok();
        assert!(!fits(999) && fits(1_000) && fits(1_400) && !fits(1_401));
    }

    #[test]
    fn the_harness_s_own_requests_are_allowed_for() {
        let checked = Checked { asked: 30, wrong: 0, unanswered: 4, first_wrong: None };
        let fits = |requests| {
            let counted = ServerCounts { requests, errors: 0 };
            check_counts(Some(counted), &[&load(1_000)], 10, Some(&checked)).is_ok()
        };
        assert!(!fits(1_025) && fits(1_026) && fits(1_050) && !fits(1_051));
    }

    #[test]
    fn a_wrong_answer_to_a_user_is_a_wrong_answer() {
        let seconds = Vec::new();
        let staged =
            k6::Staged { connect_us: None, send_lag_us: None, left: 0, busiest_cores: None, seconds };
        let of = |kind: &str| LoadSample {
            failed: BTreeMap::from([(kind.to_owned(), 3), ("timeout".to_owned(), 1)]),
            staged: Some(Box::new(staged.clone())),
            ..load(6)
        };
        assert_eq!(check_users(&of("connection closed")), Ok(()));
        for kind in ["wrong answer", "answer to another call", "JSON-RPC error -32602"] {
            let said = check_users(&of(kind)).unwrap_err().failure().unwrap();
            assert!(said.contains(&format!("3 of 10 answers: 3 x {kind}")), "{said}");
        }
        assert_eq!(check_users(&LoadSample { staged: None, ..of("wrong answer") }), Ok(()));
    }

    #[test]
    fn no_answer_is_no_wrong_answer() {
        let silent = right_or(Err(anyhow::anyhow!("no answer from x")), "before the window").unwrap_err();
        assert!(matches!(silent, Outcome::NoAnswer { .. }), "{silent:?}");
        assert_eq!(silent.failure().unwrap(), "before the window: no answer from x");
        let wrong = right_or(Ok(Err("HTTP 500".to_owned())), "before the window").unwrap_err();
        assert_eq!(wrong.failure().unwrap(), "wrong answer before the window: HTTP 500");
    }

    #[test]
    fn a_wrong_answer_under_load_is_a_wrong_answer() {
        let checked = |first_wrong| Checked { asked: 30, wrong: 2, unanswered: 0, first_wrong };
        assert_eq!(check_answers(None), Ok(()));
        assert_eq!(check_answers(Some(&Checked { wrong: 0, ..checked(None) })), Ok(()));
        let wrong = check_answers(Some(&checked(Some("7 instead of 8".to_owned())))).unwrap_err();
        let said = wrong.failure().unwrap();
        assert_eq!(said, "wrong answer under load, 2 of 30 answers: 7 instead of 8");
    }
}
