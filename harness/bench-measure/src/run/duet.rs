//! Two trials at the same time, step by step: neither begins the next step before the other is ready for it.
//!
//! The steps are those of a trial. One that leaves early, for whatever reason, releases the other.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::Result;

use super::Bench;
use super::trial::tool::keep_template;
use bench_core::config::Placement;
use bench_core::observation::{Observation, Outcome};
use bench_core::plan::Trial;

/// One of two threads that wait for each other. Dropping it leaves for good.
#[derive(Debug)]
pub(super) struct Side {
    is_here: Sender<()>,
    other: Receiver<()>,
}

/// The other has left and will not come.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OtherLeft;

impl Side {
    /// The two.
    pub fn pair() -> [Self; 2] {
        let ((to_one, of_one), (to_other, of_other)) = (channel(), channel());
        [Self { is_here: to_other, other: of_one }, Self { is_here: to_one, other: of_other }]
    }

    /// Waits until the other waits too. How long that may take is up to the other's steps, each of which has its own
    /// limit.
    pub fn meet(&self) -> Result<(), OtherLeft> {
        self.is_here.send(()).map_err(|_| OtherLeft)?;
        self.other.recv().map_err(|_| OtherLeft)
    }
}

impl Bench<'_> {
    /// Trials that are run at the same time: in a duet the two of a block, otherwise each by itself.
    pub fn groups<'t>(&self, trials: &'t [Trial]) -> impl Iterator<Item = &'t [Trial]> {
        let is_duet = self.plan.campaign.environment.placement == Placement::Duet;
        trials.chunk_by(move |a, b| {
            let is_other = |a: &Trial, b: &Trial| a.beside.as_ref().is_none_or(|other| *other == b.server);
            is_duet
                && (a.block, &a.workload, a.level()) == (b.block, &b.workload, b.level())
                && is_other(a, b)
                && is_other(b, a)
        })
    }

    /// Runs the trials of a group.
    ///
    /// # Errors
    /// Only what ends the run: an interrupt, or a results folder that takes no more.
    pub fn run_group(&self, group: &[Trial]) -> Result<Vec<Observation>> {
        match group {
            [one, other] => Ok(self.run_duet([one, other])?.into()),
            [lone] if self.plan.campaign.environment.placement == Placement::Duet => {
                // The other one was kept and this one was not, when a run was cut off between the two.
                let reason = "the run was cut off when the paired trial had been kept".to_owned();
                let (trial, started_at) = (lone.clone(), super::now());
                let outcome = Outcome::Invalid { reason };
                Ok(vec![Observation { trial, started_at, took_s: 0.0, outcome }])
            }
            group => group.iter().map(|trial| self.run_paired(trial, None)).collect(),
        }
    }

    /// Runs two trials at the same time, their warm-ups and their windows side by side. Where one fails the other is
    /// invalid.
    ///
    /// # Errors
    /// As for one trial.
    fn run_duet(&self, trials: [&Trial; 2]) -> Result<[Observation; 2]> {
        // Written once, before both need it.
        trials.iter().try_for_each(|trial| keep_template(self.folder, trial.tool).map(drop))?;
        let ([one, other], [side, other_side]) = (trials, Side::pair());
        let ended = thread::scope(|scope| {
            let other = scope.spawn(move || self.run_paired(other, Some(other_side)));
            (self.run_paired(one, Some(side)), other.join())
        });
        // Both have ended, so nothing of theirs is left running whichever ended the run.
        Ok([ended.0?, ended.1.unwrap_or_else(|panic| resume_unwind(panic))?])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn neither_takes_a_step_before_the_other() {
        let steps = [AtomicU32::new(0), AtomicU32::new(0)];
        thread::scope(|scope| {
            for (mine, side) in Side::pair().into_iter().enumerate() {
                let steps = &steps;
                scope.spawn(move || {
                    for step in 1..=200 {
                        steps[mine].store(step, Ordering::SeqCst);
                        side.meet().unwrap();
                        let others = steps[1 - mine].load(Ordering::SeqCst);
                        assert!(others == step || others == step + 1, "{others} at {step}");
                        if step < 200 {
                            side.meet().unwrap();
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn one_that_leaves_releases_the_other() {
        let [one, other] = Side::pair();
        thread::scope(|scope| {
            let waiting = scope.spawn(move || [one.meet(), one.meet()]);
            drop(other);
            assert_eq!(waiting.join().unwrap(), [Err(OtherLeft), Err(OtherLeft)]);
        });
    }

    #[test]
    fn one_that_leaves_after_a_meeting_does_not_undo_it() {
        for _ in 0..100 {
            let [one, other] = Side::pair();
            thread::scope(|scope| {
                let met = scope.spawn(move || one.meet());
                assert_eq!(other.meet(), Ok(()));
                drop(other);
                assert_eq!(met.join().unwrap(), Ok(()));
            });
        }
    }
}
