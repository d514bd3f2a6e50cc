//! What is worked out from observations, and the reports of it: on synthetic samples whose truth is known, and on kept
//! runs. One program, since each has to be linked with the whole harness.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod all_runs;
mod answer;
mod charts;
mod hosts;
mod kept;
mod mixes;
mod observed;
mod open_loop;
mod own_campaigns;
mod planted;
#[path = "../../../bench-report/tests/shared/samples.rs"]
mod samples;
mod schema;
mod soak;
mod summary;
mod two_runs;
mod usual_rate;
mod verbs;
mod views;

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does the work on every item, on all processors, and gives the results in no order. What fails, fails the test.
fn on_all_processors<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let taken = std::iter::from_fn(|| items.get(next.fetch_add(1, Ordering::Relaxed)));
        taken.map(&work).collect::<Vec<R>>()
    };
    thread::scope(|scope| {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}
