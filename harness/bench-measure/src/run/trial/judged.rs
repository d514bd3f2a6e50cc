//! What a server answers without load, and what becomes of a trial: its sample, or why that is no figure.

use std::collections::BTreeMap;

use anyhow::Result;

use super::checker::rises;
use super::{Ended, Ending, Judged, counts};
use crate::client;
use crate::metrics::ServerCounts;
use crate::subject::Subject;
use bench_model::load::LoadSample;
use bench_model::observation::{Differences, Outcome, Sample};
use bench_model::workload::NewestCall;
use bench_model::workload::requests::Known;
use bench_system::cgroup::{OutOfMemory, Usage};

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
                None => Outcome::ServerDied { reason: how },
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

/// Sends the known requests and compares the answers with the truth; numbers that must not fall also with what was
/// verified before.
pub(super) fn verify(known: &[Known], subject: &Subject, before: &Verified, when: &str) -> Judged<Verified> {
    let wrong = |answer| Outcome::WrongAnswer { when: when.to_owned(), answer };
    let mut verified = Verified { highest: before.highest.clone(), ..Verified::default() };
    for (request, Known { body, truth, share, .. }) in known.iter().enumerate() {
        // That another server is silent is no fault of this one.
        let settled = client::settled(truth, body)
            .map_err(|error| Outcome::Invalid { reason: format!("{error:#}") })?;
        let right = client::compare(&subject.target, body, truth.counts_differences(), &settled);
        let right = right.unwrap_or_else(|error| Err(format!("{error:#}"))).map_err(wrong)?;
        rises(&mut verified.highest, request, right.number).map_err(wrong)?;
        verified.bytes += right.bytes as f64 * share;
        if let Some((answer, reference)) = &right.both {
            verified.differences.add(body, answer, reference);
        }
    }
    Ok(verified)
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
    counts::check_answers(sample.checked.as_ref())?;
    counts::check_users(&sample.load)?;
    if sample.load.succeeded == 0 && !sample.load.details.held {
        return Err(Outcome::NoSuccess(Box::new(sample)));
    }
    // One that answers nothing at all, not even wrongly.
    if known.first().is_some_and(|Known { body, .. }| client::request(&subject.target, body).is_err()) {
        return Err(Outcome::Silent(Box::new(sample)));
    }
    let after = verify(known, subject, before, "after the window")?;
    if let Some(differences) = &mut sample.differences {
        differences.merge(&after.differences);
    }
    let loads: Vec<&LoadSample> = std::iter::once(&sample.load).chain(sample.background.as_deref()).collect();
    counts::check(counted, &loads, connections, sample.checked.as_ref())?;
    if sample.short_of().is_some() {
        return Err(Outcome::NotHeld(Box::new(sample)));
    }
    Ok(sample)
}

/// The newest numbers that a server has, such as a block's, for requests about these: sends each call.
///
/// # Errors
/// An answer has no number where it is to be.
pub(super) fn read_newest(calls: &[NewestCall], subject: &Subject) -> Judged<Vec<(NewestCall, u64)>> {
    let of = |call: &NewestCall| {
        let wrong = |what: String| Outcome::WrongAnswer {
            when: "before the window".to_owned(),
            answer: format!("no number at {} in the answer to {}: {what}", call.pointer, call.method),
        };
        let answer = client::request(&subject.target, &call.body());
        let answer = answer.map_err(|error| wrong(format!("{error:#}")))?;
        let number = answer.json().and_then(|answer| call.number(&answer));
        Ok((call.clone(), number.ok_or_else(|| wrong(answer.shown()))?))
    };
    calls.iter().map(of).collect()
}
