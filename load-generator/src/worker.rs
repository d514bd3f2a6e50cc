//! What the connections of one thread share, and their timer.
//!
//! A thread runs its connections on a runtime of its own, without locks: what they share is never used by another thread.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use crate::bodies::Bodies;
use crate::http::KeptHead;
use crate::options::Plan;
use crate::stats::Stats;

/// For how long after the window a request that was due in it may still be sent, where the timeout is not shorter.
pub const OVERTIME: Duration = Duration::from_millis(100);

/// What the run's end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// The end of the window.
    Run,
    /// Now: nothing more is sent, answers are awaited.
    End,
    /// Now, and no answer is awaited.
    Abort,
}

/// What the connections of a thread share.
#[derive(Debug)]
pub struct Worker {
    /// What is to be done.
    pub plan: Arc<Plan>,
    /// What is sent and expected.
    pub bodies: Bodies,
    /// What was counted.
    pub stats: RefCell<Stats>,
    /// Bytes read from sockets, and written to them.
    pub traffic: Cell<(u64, u64)>,
    head: RefCell<KeptHead>,
    start: Cell<Instant>,
    end_ns: Cell<u64>,
    aborted: Cell<bool>,
    connections: Cell<u32>,
    alarms: RefCell<Vec<Rc<Alarm>>>,
}

/// Wakes one connection.
#[derive(Debug)]
pub struct Alarm {
    /// The connection's place among all.
    place: u32,
    waker: RefCell<Option<Waker>>,
}

impl Alarm {
    /// The task of this context is woken next.
    pub fn set(&self, cx: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
    }

    /// Waits until the condition is true, which is checked when the alarm goes off.
    pub async fn until(&self, condition: impl Fn() -> bool) {
        poll_fn(|cx| {
            if condition() {
                return Poll::Ready(());
            }
            self.set(cx);
            Poll::Pending
        })
        .await;
    }

    fn ring(&self) {
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Worker {
    /// Before the window.
    ///
    /// # Errors
    /// The histograms can't be made, or the environment lacks what a header names.
    pub fn new(plan: Arc<Plan>, bodies: Bodies) -> Result<Self> {
        Ok(Self {
            head: RefCell::new(KeptHead::new(&plan.target)?),
            stats: RefCell::new(Stats::new(plan.keeps_records, bodies.methods().len())?),
            bodies,
            traffic: Cell::default(),
            start: Cell::new(Instant::now()),
            end_ns: Cell::new(plan.duration_ns),
            aborted: Cell::new(false),
            connections: Cell::new(0),
            alarms: RefCell::default(),
            plan,
        })
    }

    /// Gives what a request over HTTP begins with, up to its length.
    pub fn with_head(&self, take: impl FnOnce(&[u8])) {
        take(self.head.borrow_mut().text(&self.plan.target));
    }

    /// Whether a request over HTTP says that its connection closes behind the answer.
    pub fn closes_each(&self) -> bool {
        self.head.borrow().closes()
    }

    /// Begins the window: when, how many connections there are in all, and the places of those of this thread.
    pub fn begin(&self, start: Instant, connections: u32, places: &[u32]) -> Vec<Rc<Alarm>> {
        self.start.set(start);
        self.connections.set(connections);
        self.traffic.set((0, 0));
        let alarm = |&place| Rc::new(Alarm { place, waker: RefCell::default() });
        *self.alarms.borrow_mut() = places.iter().map(alarm).collect();
        self.alarms.borrow().clone()
    }

    /// Nanoseconds since the window began; 0 before.
    pub fn now_ns(&self) -> u64 {
        self.start.get().elapsed().as_nanos() as u64
    }

    /// When the window ends.
    pub fn end_ns(&self) -> u64 {
        self.end_ns.get()
    }

    /// When the last request is sent at the latest, where requests are due.
    pub fn sends_until_ns(&self) -> u64 {
        let overtime_ns = (OVERTIME.as_nanos() as u64).min(self.plan.timeout_ns);
        self.end_ns.get().saturating_add(overtime_ns)
    }

    /// Whether no answer is awaited any more.
    pub fn aborted(&self) -> bool {
        self.aborted.get()
    }

    /// Whether a connection that was lost is of no more use.
    pub fn over(&self) -> bool {
        let end_ns = if self.plan.rate.is_some() { self.sends_until_ns() } else { self.end_ns() };
        self.aborted() || self.now_ns() >= end_ns
    }

    /// How many connections there are in all threads.
    pub fn connections(&self) -> u32 {
        self.connections.get()
    }

    /// An instant of the window.
    pub fn instant(&self, ns: u64) -> Instant {
        self.start.get() + Duration::from_nanos(ns)
    }

    fn obey(&self, control: Control) {
        if control != Control::Run {
            self.end_ns.set(self.end_ns.get().min(self.now_ns()));
            self.aborted.set(control == Control::Abort);
        }
    }
}

/// Wakes connections when a request of theirs is due, when the window ends, and when the run is ended early. Never ends.
///
/// Tokio's own timers have a resolution of 1 ms, which is many times the latency of a request; this one has that of the kernel's.
///
/// # Errors
/// The system has no timer.
pub async fn wake_when_due(worker: Rc<Worker>, mut control: watch::Receiver<Control>) -> Result<()> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC);
    // SAFETY: the descriptor is owned by the value that is registered, and closed with it.
    let timer = unsafe { AsyncFd::register(timer.context("no timer")?) }.context("no timer")?;
    let alarms = worker.alarms.borrow().clone();
    let connections = u64::from(worker.connections());
    let due_ns = |turn: u64| {
        let alarm = alarms.get((turn % alarms.len().max(1) as u64) as usize)?;
        let round = turn / alarms.len() as u64;
        worker.plan.due_ns(round * connections + u64::from(alarm.place))
    };
    // Which request of this thread's connections is due next.
    let mut turn = 0_u64;
    loop {
        let now_ns = worker.now_ns();
        let end_ns = worker.end_ns();
        while let Some(due) = due_ns(turn)
            && due <= now_ns.min(end_ns)
        {
            alarms[(turn % alarms.len() as u64) as usize].ring();
            turn += 1;
        }
        if now_ns >= end_ns || worker.aborted() {
            alarms.iter().for_each(|alarm| alarm.ring());
        }
        let times = [due_ns(turn).filter(|due| *due <= end_ns), Some(end_ns), Some(worker.sends_until_ns())];
        let next_ns = times.into_iter().flatten().filter(|time| *time > now_ns).min();
        let Some(next_ns) = next_ns else {
            if control.changed().await.is_err() {
                return Ok(());
            }
            worker.obey(*control.borrow_and_update());
            continue;
        };
        tokio::select! {
            fired = wait(&timer, worker.instant(next_ns)) => fired?,
            changed = control.changed() => {
                if changed.is_err() {
                    return Ok(());
                }
                worker.obey(*control.borrow_and_update());
            }
        }
    }
}

async fn wait(timer: &AsyncFd<OwnedFd>, until: Instant) -> Result<()> {
    // A value of zero would stop the timer.
    let left = until.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
    let it_value = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
    timerfd_settime(timer.get_ref(), TimerfdTimerFlags::empty(), &spec).context("the timer can't be set")?;
    loop {
        let mut ready = timer.readable().await?;
        let mut ticks = [0_u8; 8];
        match ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut ticks)?)) {
            Ok(read) => return read.map(drop).context("the timer can't be read"),
            Err(_would_block) => {}
        }
    }
}
