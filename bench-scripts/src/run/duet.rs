//! Two trials at the same time, step by step: neither goes on to the next step before the other is there.
//!
//! Knows nothing of what the steps are. One that leaves early, for whatever reason, lets the other go.

use std::sync::{Condvar, Mutex, PoisonError};

/// Where two threads meet.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waits: bool,
    met: u64,
    left: bool,
}

/// One of the two. Dropping it leaves for good.
#[derive(Debug)]
pub(super) struct Side<'a>(&'a Meeting);

/// The other has left and will not come.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OtherLeft;

impl Meeting {
    /// A side; there are to be two.
    pub fn side(&self) -> Side<'_> {
        Side(self)
    }
}

impl Side<'_> {
    /// Waits until the other waits too. How long that may take is up to the other's steps, each of which has its own limit.
    pub fn meet(&self) -> Result<(), OtherLeft> {
        let Meeting { state, changed } = self.0;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.left {
            return Err(OtherLeft);
        }
        if state.waits {
            state.waits = false;
            state.met += 1;
            changed.notify_all();
            return Ok(());
        }
        state.waits = true;
        let met = state.met;
        while state.met == met && !state.left {
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.met == met { Err(OtherLeft) } else { Ok(()) }
    }
}

impl Drop for Side<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).left = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn neither_takes_a_step_before_the_other() {
        let (meeting, steps) = (Meeting::default(), [AtomicU32::new(0), AtomicU32::new(0)]);
        thread::scope(|scope| {
            for mine in [0, 1] {
                let (side, steps) = (meeting.side(), &steps);
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
    fn one_that_leaves_lets_the_other_go_whether_it_waits_or_comes_later() {
        let meeting = Meeting::default();
        let (one, other) = (meeting.side(), meeting.side());
        thread::scope(|scope| {
            let waiting = scope.spawn(move || one.meet());
            drop(other);
            assert_eq!(waiting.join().unwrap(), Err(OtherLeft));
        });
        assert_eq!(meeting.side().meet(), Err(OtherLeft));
    }

    #[test]
    fn one_that_leaves_after_a_meeting_does_not_undo_it() {
        for _ in 0..100 {
            let meeting = Meeting::default();
            let (one, other) = (meeting.side(), meeting.side());
            thread::scope(|scope| {
                let met = scope.spawn(move || one.meet());
                assert_eq!(other.meet(), Ok(()));
                drop(other);
                assert_eq!(met.join().unwrap(), Ok(()));
            });
        }
    }
}
