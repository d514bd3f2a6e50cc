//! The loads of a window, and what disturbs the server meanwhile: another load, and being stopped now and then. Each from a
//! thread of its own, over with the window.
//!
//! In three steps, so that the window holds only the second: what the tools read is written, the loads are put on, what the
//! tools wrote is read.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::connecting::Holding;
use super::open::{Asked, Prepared};
use super::{Bench, Draw, Ended, find};
use crate::config::{Background, Stall};
use crate::load::{Client, Load, LoadSample, OpenLoad};
use crate::observation::Connecting;
use crate::plan::Trial;
use crate::probe::process::CpuTime;
use crate::subject::{Process, Subject};
use crate::workload::Workload;

/// One load of a window, ready to be put on.
enum Ready<'a> {
    /// A closed loop needs nothing written beforehand.
    Closed {
        what: &'static str,
        load: Load,
        workload: &'a Workload,
        holding: Option<Holding>,
    },
    Open(Prepared),
}

/// What became of a load: a closed loop's tool prints its sample, an open loop's wrote down its requests.
enum Put {
    Closed(Box<LoadSample>, CpuTime, Option<Connecting>),
    Open(Asked),
}

/// The loads of a window, ready to be put on.
pub(super) struct ReadyWindow<'a> {
    own: Ready<'a>,
    background: Option<(Duration, Ready<'a>)>,
    /// And how long the window is.
    stall: Option<(Stall, Duration)>,
}

/// What became of them.
pub(super) struct PutWindow {
    own: Put,
    background: Option<Put>,
    stalls: Option<u32>,
}

/// What a window's loads saw.
pub(super) struct Loaded {
    /// What the measured load's tool saw.
    pub sample: LoadSample,
    /// CPU time of that tool.
    pub client_cpu: CpuTime,
    /// How the measured load's connections were made, in a closed loop.
    pub connecting: Option<Connecting>,
    /// What the other load's tool saw, where there was one.
    pub background: Option<LoadSample>,
    /// How often the server was stopped, where it was to be.
    pub stalls: Option<u32>,
}

impl Bench<'_> {
    /// Writes down what the window's tools will read.
    pub(super) fn prepare_window<'w>(
        &'w self,
        trial: &Trial,
        workload: &'w Workload,
        addr: &str,
        duration_ms: u64,
        holding: Option<Holding>,
    ) -> Ended<ReadyWindow<'w>> {
        let timeout_ms = self.plan.campaign.timeout_ms;
        let connections = trial.connections;
        let own = match trial.rate {
            None => {
                let load = Load { connections, duration_ms, timeout_ms, client: trial.client };
                Ready::Closed { what: trial.tool.name(), load, workload, holding }
            }
            Some(rate) => {
                let load = OpenLoad { rate, connections, duration_ms, timeout_ms };
                let mut bodies = self.bodies(trial, workload, Draw::Window)?;
                match self.prepare_at_rate(trial, trial.tool.name(), &load, trial.tool, &mut bodies, addr)? {
                    Ok(prepared) => Ready::Open(prepared),
                    Err(outcome) => return Ok(Err(outcome)),
                }
            }
        };
        let open = self.plan.campaign.open.as_ref().filter(|_| trial.rate.is_some());
        let background = open.and_then(|open| open.background.as_ref()).filter(|_| trial.disturbed);
        let background = match background {
            None => None,
            Some(other) => match self.prepare_background(trial, other, addr, duration_ms)? {
                Ok(ready) => Some((Duration::from_millis(other.from_ms), ready)),
                Err(outcome) => return Ok(Err(outcome)),
            },
        };
        let stall = open.and_then(|open| open.stall).map(|stall| (stall, Duration::from_millis(duration_ms)));
        Ok(Ok(ReadyWindow { own, background, stall }))
    }

    fn prepare_background<'w>(
        &'w self,
        trial: &Trial,
        background: &Background,
        addr: &str,
        window_ms: u64,
    ) -> Ended<Ready<'w>> {
        let workload =
            find(&self.plan.workloads, |workload: &Workload| &workload.name, &background.workload)?;
        let (connections, timeout_ms) = (background.connections, self.plan.campaign.timeout_ms);
        let duration_ms = background.for_ms.unwrap_or(window_ms - background.from_ms);
        let what = "background";
        Ok(match background.rate {
            None => {
                let load = Load { connections, duration_ms, timeout_ms, client: Client::default() };
                Ok(Ready::Closed { what, load, workload, holding: None })
            }
            Some(rate) => {
                let load = OpenLoad { rate, connections, duration_ms, timeout_ms };
                let mut bodies = self.bodies(trial, workload, Draw::Background)?;
                self.prepare_at_rate(trial, what, &load, background.tool, &mut bodies, addr)?.map(Ready::Open)
            }
        })
    }

    /// Puts the window's loads on, each at its time, and waits for all of them.
    pub(super) fn put_on(
        &self,
        trial: &Trial,
        subject: &mut Subject,
        window: &ReadyWindow<'_>,
    ) -> Ended<PutWindow> {
        let Subject { process, addr, .. } = subject;
        let addr = addr.as_str();
        let ReadyWindow { own, background, stall } = window;
        let (own, background, stalls) = thread::scope(|scope| {
            let (over, until) = channel::<()>();
            let background = background.as_ref().map(|(from, ready)| {
                scope.spawn(move || {
                    self.interrupt.wait(*from, || Ok(None::<()>))?;
                    self.put(trial, addr, ready)
                })
            });
            let stalls = stall
                .map(|(stall, window)| scope.spawn(move || stall_at_times(process, stall, window, &until)));
            let own = self.put(trial, addr, own);
            drop(over);
            (own, background.map(join), stalls.map(join))
        });
        let (own, background, stalls) = (own?, background.transpose()?.transpose(), stalls.transpose()?);
        Ok(own.and_then(|own| Ok(PutWindow { own, background: background?, stalls })))
    }

    fn put(&self, trial: &Trial, addr: &str, ready: &Ready<'_>) -> Ended<Put> {
        Ok(match ready {
            Ready::Closed { what, load, workload, holding } => {
                let asked = self.bombard_holding(trial, what, load, workload, addr, holding.as_ref())?;
                asked.map(|(sample, cpu, connecting)| Put::Closed(Box::new(sample), cpu, connecting))
            }
            Ready::Open(prepared) => self.ask_prepared(prepared)?.map(Put::Open),
        })
    }

    /// Reads what the tools wrote in the window.
    pub(super) fn read_window(&self, window: &ReadyWindow<'_>, put: PutWindow) -> Ended<Loaded> {
        let read = |ready: &Ready<'_>, put: Put| -> Ended<(LoadSample, CpuTime, Option<Connecting>)> {
            Ok(match (ready, put) {
                (_, Put::Closed(sample, cpu, connecting)) => Ok((*sample, cpu, connecting)),
                (Ready::Open(prepared), Put::Open(asked)) => {
                    self.read_at_rate(prepared, &asked)?.map(|sample| (sample, asked.cpu, None))
                }
                (Ready::Closed { what, .. }, Put::Open(_)) => {
                    anyhow::bail!("{what}: a closed loop's tool writes no requests down")
                }
            })
        };
        let background = match (&window.background, put.background) {
            (Some((_, ready)), Some(put)) => Some(read(ready, put)?),
            _ => None,
        };
        let (own, stalls) = (read(&window.own, put.own)?, put.stalls);
        Ok(own.and_then(|(sample, client_cpu, connecting)| {
            let background = background.transpose()?.map(|(sample, ..)| sample);
            Ok(Loaded { sample, client_cpu, connecting, background, stalls })
        }))
    }
}

/// Stops a server at its times until the window is over, which is when the other end of `over` goes. No stop begins that would
/// last beyond the window. Gives how often.
fn stall_at_times(server: &mut Process, stall: Stall, window: Duration, over: &Receiver<()>) -> Result<u32> {
    let server = server.owned()?;
    let began = Instant::now();
    let mut stalls = 0;
    let passes = |time: Duration| over.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    loop {
        let next = Duration::from_millis(stall.every_ms) * (stalls + 1);
        if next + Duration::from_millis(stall.for_ms) > window {
            return Ok(stalls);
        }
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Placement;
    use crate::process::{Output, Owned};

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
