//! One direction of a link: packets that leave one device reach the other one later, or never.
//!
//! All packets wait equally long, so they leave in the order in which they came and a queue is enough. A thread for
//! each direction sleeps until the next packet is due or comes.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{PipeWriter, Read, Write, pipe};
use std::num::NonZeroU64;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use hdrhistogram::Histogram;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::setpriority_process;
use rustix::thread::{gettid, set_current_timer_slack};

use crate::lock;

/// Bytes of the largest packet.
pub(super) const MTU: usize = 1_500;

/// Packets that may be under way in one direction; more are dropped, as at a full queue of a router.
pub(super) const MOST_PACKETS: usize = 100_000;

/// The priority of the threads: before all others that have no real-time priority.
const FIRST: i32 = -20;

/// Packets that are taken before those that are due are passed on.
const AT_ONCE: usize = 64;

/// What happened to the packets of one direction.
#[derive(Debug, Clone)]
pub struct Counts {
    /// Packets that were passed on.
    pub passed: u64,
    /// Packets that were dropped, as the network's loss says.
    pub lost: u64,
    /// Packets that were dropped because too many were under way, or because the other device refused them.
    pub refused: u64,
    /// How much later than due they were passed on, in nanoseconds.
    pub late_ns: Histogram<u64>,
}

impl Counts {
    fn new() -> Result<Self> {
        let late_ns = Histogram::new(3).map_err(|error| anyhow!("no histogram: {error}"))?;
        Ok(Self { passed: 0, lost: 0, refused: 0, late_ns })
    }
}

/// A direction that passes packets on until this is dropped.
#[derive(Debug)]
pub(super) struct Line {
    counts: Arc<Mutex<Counts>>,
    /// The thread's id, for its CPU time.
    tid: i32,
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Line {
    /// Starts passing packets on. Which are lost follows from `seed`.
    ///
    /// # Errors
    /// The system gives no thread or no pipe.
    pub fn start(from: Arc<File>, to: Arc<File>, delay: Duration, loss: f64, seed: u64) -> Result<Self> {
        let counts = Arc::new(Mutex::new(Counts::new()?));
        let (stopped, stop) = pipe().context("no pipe")?;
        let mut passing = Passing {
            from,
            to,
            delay,
            lost_below: (loss * 2_f64.powi(64)) as u64,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            counts: Arc::clone(&counts),
            waiting: VecDeque::new(),
            spare: Vec::new(),
        };
        let (sender, tid) = channel();
        let thread = std::thread::Builder::new().name("link".to_owned()).spawn(move || {
            // Who started it waits for this.
            let _ = sender.send(gettid().as_raw_nonzero().get());
            // By default the kernel wakes a thread up to 50 µs late, to save power; where it does not take this,
            // packets are later.
            let _ = set_current_timer_slack(NonZeroU64::new(1));
            // A network does not wait for a processor that a server or a load tool uses.
            let _ = setpriority_process(None, FIRST);
            while passing.pass(&stopped) {}
        })?;
        let tid = tid.recv().context("the thread of a link has ended")?;
        Ok(Self { counts, tid, stop: Some(stop), thread: Some(thread) })
    }

    /// What happened since the last call.
    ///
    /// # Errors
    /// There is no memory for a histogram.
    pub fn take(&self) -> Result<Counts> {
        Ok(std::mem::replace(&mut *lock(&self.counts), Counts::new()?))
    }

    /// CPU time of its thread, in seconds; `None` where the kernel does not report it.
    pub fn cpu_s(&self) -> Option<f64> {
        let text = std::fs::read_to_string(format!("/proc/self/task/{}/schedstat", self.tid)).ok()?;
        let on_cpu_ns: f64 = text.split_whitespace().next()?.parse().ok()?;
        Some(on_cpu_ns / 1e9)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // The thread ends when nobody holds the other end of its pipe.
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // It says nothing at its end.
            let _ = thread.join();
        }
    }
}

struct Packet {
    due: Instant,
    bytes: Vec<u8>,
}

struct Passing {
    from: Arc<File>,
    to: Arc<File>,
    delay: Duration,
    /// A packet is lost whose random number is below this.
    lost_below: u64,
    rng: Xoshiro256PlusPlus,
    counts: Arc<Mutex<Counts>>,
    /// The packets under way, the oldest first.
    waiting: VecDeque<Packet>,
    /// Buffers for the next ones.
    spare: Vec<Vec<u8>>,
}

impl Passing {
    /// Waits for a packet that comes or is due, and passes on what is due; `false` where the link is to end.
    fn pass(&mut self, stopped: &impl std::os::fd::AsFd) -> bool {
        let left = |packet: &Packet| packet.due.saturating_duration_since(Instant::now());
        let timeout = self.waiting.front().map(left).and_then(|left| Timespec::try_from(left).ok());
        let mut ready = [PollFd::new(&*self.from, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        // An interrupted wait is like one in which nothing came.
        let _ = poll(&mut ready, timeout.as_ref());
        let [has_come, ends] = ready.map(|ready| !ready.revents().is_empty());
        if ends {
            return false;
        }
        if has_come {
            self.take();
        }
        self.send_due();
        true
    }

    /// Takes packets that have come.
    fn take(&mut self) {
        let (mut lost, mut refused) = (0, 0);
        for _ in 0..AT_ONCE {
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.resize(MTU, 0);
            let Ok(length) = (&*self.from).read(&mut bytes) else { break };
            bytes.truncate(length);
            // A device looks for IPv6 neighbours by itself, which is no traffic of a measurement.
            let is_ip4 = bytes.first().is_some_and(|first| first >> 4 == 4);
            if is_ip4 && self.rng.next_u64() < self.lost_below {
                lost += 1;
            } else if is_ip4 && self.waiting.len() >= MOST_PACKETS {
                refused += 1;
            } else if is_ip4 {
                self.waiting.push_back(Packet { due: Instant::now() + self.delay, bytes });
                continue;
            }
            self.spare.push(bytes);
        }
        if lost + refused > 0 {
            let mut counts = lock(&self.counts);
            counts.lost += lost;
            counts.refused += refused;
        }
    }

    /// Passes on the packets that are due.
    fn send_due(&mut self) {
        let mut counts = None;
        while let Some(packet) = self.waiting.front() {
            let now = Instant::now();
            if packet.due > now {
                break;
            }
            let counts = counts.get_or_insert_with(|| lock(&self.counts));
            let late = now.saturating_duration_since(packet.due);
            match (&*self.to).write(&packet.bytes) {
                Ok(_) => {
                    counts.passed += 1;
                    // It grows with what it is given, up to the largest number.
                    let _ = counts.late_ns.record(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
                }
                Err(_) => counts.refused += 1,
            }
            self.spare.extend(self.waiting.pop_front().map(|packet| packet.bytes));
        }
    }
}
