//! The load of a window, and what disturbs the server meanwhile: another load, and being stopped now and then. Each from a
//! thread of its own, over with the window.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Bench, Ended, find};
use crate::config::{Background, Open, Stall, Workload};
use crate::load::bodies::Bodies;
use crate::load::{Client, Load, LoadSample, OpenLoad};
use crate::plan::Trial;
use crate::probe::process::CpuTime;
use crate::process::Owned;
use crate::subject::Subject;

/// What a window's loads saw.
pub(super) struct Loaded {
    /// What the measured load's tool saw.
    pub sample: LoadSample,
    /// CPU time of that tool.
    pub client_cpu: CpuTime,
    /// What the other load's tool saw, where there was one.
    pub background: Option<LoadSample>,
    /// How often the server was stopped, where it was to be.
    pub stalls: Option<u32>,
}

impl Bench<'_> {
    /// Puts the trial's load on for the window, and what is to disturb it beside.
    pub(super) fn load_window(
        &self,
        trial: &Trial,
        workload: &Workload,
        subject: &mut Subject,
        window_ms: u64,
    ) -> Ended<Loaded> {
        let open = self.plan.campaign.open.as_ref().filter(|_| trial.rate.is_some());
        let background = open.and_then(|open| open.background.as_ref()).filter(|_| trial.disturbed);
        let stall = open.and_then(|open: &Open| open.stall);
        let Subject { process, addr, .. } = subject;
        let addr = addr.as_str();
        let (asked, background, stalls) = thread::scope(|scope| {
            let (over, until) = channel::<()>();
            let background =
                background.map(|other| scope.spawn(move || self.background(trial, other, window_ms, addr)));
            let stalls = stall.map(|stall| scope.spawn(move || stall_at_times(process, stall, &until)));
            let asked = self.ask(trial, trial.tool.name(), window_ms, None, workload, addr);
            drop(over);
            (asked, background.map(join), stalls.map(join))
        });
        let background = background.transpose()?.transpose();
        let stalls = stalls.transpose()?;
        Ok(match (asked?, background) {
            (Err(outcome), _) | (_, Err(outcome)) => Err(outcome),
            (Ok((sample, client_cpu)), Ok(background)) => {
                Ok(Loaded { sample, client_cpu, background, stalls })
            }
        })
    }

    /// Puts the campaign's other load on, from its time on, and gives what it saw.
    fn background(
        &self,
        trial: &Trial,
        background: &Background,
        window_ms: u64,
        addr: &str,
    ) -> Ended<LoadSample> {
        let workload = find(&self.plan.workloads, |workload: &Workload| &workload.name, &background.workload)?;
        self.interrupt.wait(Duration::from_millis(background.from_ms), || Ok(None::<()>))?;
        let (connections, timeout_ms) = (background.connections, self.plan.campaign.timeout_ms);
        let duration_ms = background.for_ms.unwrap_or(window_ms - background.from_ms);
        let asked = match background.rate {
            None => {
                let load = Load { connections, duration_ms, timeout_ms, client: Client::default() };
                self.bombard(trial, "background", &load, workload, addr)?
            }
            Some(rate) => {
                let load = OpenLoad { rate, connections, duration_ms, timeout_ms };
                let bodies = Bodies::One(&workload.body);
                self.ask_at_rate(trial, "background", &load, background.tool, bodies, addr)?
            }
        };
        Ok(asked.map(|(sample, _)| sample))
    }
}

/// Stops a server at its times until the window is over, which is when the other end of `over` goes. Gives how often.
fn stall_at_times(server: &mut Owned, stall: Stall, over: &Receiver<()>) -> Result<u32> {
    let began = Instant::now();
    let mut stalls = 0;
    let passes = |time: Duration| over.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    loop {
        let next = Duration::from_millis(stall.every_ms) * (stalls + 1);
        if !passes(next.saturating_sub(began.elapsed())) {
            return Ok(stalls);
        }
        server.hold()?;
        let went_on = passes(Duration::from_millis(stall.for_ms));
        server.release()?;
        stalls += 1;
        if !went_on {
            return Ok(stalls);
        }
    }
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
