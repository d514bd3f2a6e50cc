//! The newest numbers that a server has, such as a block's, for requests about these.

use crate::client;
use crate::subject::Subject;
use bench_model::observation::Outcome;
use bench_model::workload::NewestCall;

/// Sends each call.
///
/// # Errors
/// An answer has no number where it is to be.
pub(super) fn read(
    calls: &[NewestCall],
    subject: &Subject,
) -> std::result::Result<Vec<(NewestCall, u64)>, Outcome> {
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
