//! The loads of a window, and what disturbs the server meanwhile: a background load, and being stopped now and then.
//! Each runs in a thread of its own until the window ends.
//!
//! In three steps, so that the window contains only the second: the tools' input is written, the loads run, the tools'
//! output is read.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::Signal;

use super::connecting::Holding;
use super::load::Ready;
use super::tool::{Order, Ran};
use super::{Bench, Draw};
use crate::run::ended::Ended;
use crate::subject::{Process, Subject};
use bench_core::config::{Background, Stages, Stall};
use bench_core::load::{Load, LoadSample};
use bench_core::plan::Trial;
use bench_core::target::Target;

/// The loads of a window, ready to be put on.
pub(super) struct ReadyWindow {
    own: Ready,
    /// And when it begins.
    background: Option<(Duration, Ready)>,
    /// And how long the window is.
    stall: Option<(Stall, Duration)>,
}

/// The loads of a window that is over.
pub(super) struct PutWindow {
    /// The measured load.
    pub own: Ran,
    background: Option<Ran>,
    /// How often the server was stopped, where it was to be.
    pub stalls: Option<u32>,
}

impl Bench<'_> {
    /// Writes the input of the window's tools.
    pub(super) fn prepare_window(
        &self,
        trial: &Trial,
        target: &Target,
        holding: Option<Holding>,
    ) -> Ended<ReadyWindow> {
        let duration_ms = self.window_ms(trial);
        let (what, tool) = (trial.tool.name(), trial.tool);
        let stages = self.plan.campaign.stages.as_ref();
        let stages = stages.map_or_else(Vec::new, Stages::scaled);
        let load = Load { stages, ..self.load(trial, trial.connections, duration_ms) };
        let order = Order { what, tool, load, holding };
        let mut bodies = self.bodies(trial, &trial.workload, Draw::Window)?;
        let own = self.prepare(trial, order, &mut bodies, target)?;
        let open = self.plan.campaign.open.as_ref().filter(|_| trial.rate.is_some());
        let background = self.background_of(trial);
        let prepared = background.map(|other| self.prepare_background(trial, other, target)).transpose()?;
        let from = background.map(|other| Duration::from_millis(other.from_ms));
        let stall = open.and_then(|open| open.stall).map(|stall| (stall, Duration::from_millis(duration_ms)));
        Ok(ReadyWindow { own, background: from.zip(prepared), stall })
    }

    /// The background load of a trial that has one.
    pub(super) fn background_of(&self, trial: &Trial) -> Option<&Background> {
        self.plan.campaign.background().filter(|_| trial.disturbed)
    }

    fn prepare_background(&self, trial: &Trial, background: &Background, target: &Target) -> Ended<Ready> {
        let load = Load {
            connections: background.connections,
            duration_ms: background.for_ms.unwrap_or(self.window_ms(trial) - background.from_ms),
            timeout_ms: self.plan.campaign.timeout_ms,
            rate: background.rate,
            access: self.plan.server(&trial.server)?.access(),
            ..Load::default()
        };
        let tool = if load.rate.is_some() { background.tool } else { self.plan.campaign.tool };
        let order = Order::new("background", tool, load);
        let mut bodies = self.bodies(trial, &background.workload, Draw::Background)?;
        self.prepare(trial, order, &mut bodies, target)
    }

    /// Runs the window's loads, each at its time, and waits for all of them.
    pub(super) fn put_window_on(&self, subject: &mut Subject, window: &ReadyWindow) -> Ended<PutWindow> {
        let process = &mut subject.process;
        let ReadyWindow { own, background, stall } = window;
        let (own, background, stalls) = thread::scope(|scope| {
            let (over, until) = channel::<()>();
            let background = background.as_ref().map(|(from, ready)| {
                scope.spawn(move || {
                    self.interrupt.wait(*from, || Ok(None::<()>))?;
                    self.put_on(ready)
                })
            });
            let stalls = stall
                .map(|(stall, window)| scope.spawn(move || stall_at_times(process, stall, window, &until)));
            let own = self.put_on(own);
            drop(over);
            (own, background.map(join), stalls.map(join))
        });
        Ok(PutWindow { own: own?, background: background.transpose()?, stalls: stalls.transpose()? })
    }

    /// Reads the output of the window's tools: what that of the measured load saw, and that of the background load,
    /// where there was one.
    pub(super) fn read_window(
        &self,
        window: &ReadyWindow,
        put: &PutWindow,
    ) -> Ended<(LoadSample, Option<LoadSample>)> {
        let sample = self.read(&window.own, &put.own)?;
        let background = window.background.as_ref().zip(put.background.as_ref());
        Ok((sample, background.map(|((_, ready), ran)| self.read(ready, ran)).transpose()?))
    }
}

/// Stops a server at its times until the window is over, which is when the other end of `over` is dropped. No stop
/// begins that would last beyond the window. Gives how often.
fn stall_at_times(server: &mut Process, stall: Stall, window: Duration, over: &Receiver<()>) -> Result<u32> {
    let server = server.owned()?;
    let began = Instant::now();
    let mut stalls = 0;
    let passes = |time: Duration| over.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    let [every, lasts] = [stall.every_ms, stall.for_ms].map(Duration::from_millis);
    let mut goes_on = true;
    while goes_on {
        let next = every * (stalls + 1);
        if next + lasts > window || !passes(next.saturating_sub(began.elapsed())) {
            break;
        }
        server.signal(Signal::STOP)?;
        goes_on = passes(lasts);
        server.signal(Signal::CONT)?;
        stalls += 1;
    }
    Ok(stalls)
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::owned_process::{Output, Owned};
    use bench_core::config::Placement;

    #[test]
    fn no_stop_lasts_beyond_the_window() {
        let dir = tempfile::tempdir().unwrap();
        let output = Output { stdout: None, stderr: &dir.path().join("stderr") };
        let sleep = Owned::spawn(Path::new("/bin/sleep"), &["60".to_owned()], &output, Placement::Free);
        let mut server = Process::Owned(sleep.unwrap());
        let (_over, until) = channel::<()>();
        let mut stops = |window_ms| {
            let stall = Stall { every_ms: 20, for_ms: 10 };
            stall_at_times(&mut server, stall, Duration::from_millis(window_ms), &until).unwrap()
        };
        assert_eq!([stops(29), stops(30), stops(60), stops(70)], [0, 1, 2, 3]);
    }
}
