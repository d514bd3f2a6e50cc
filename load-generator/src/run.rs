//! A run: threads that connect, one window for all of them, and their counts added up.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow, bail};
use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};
use tokio::signal::ctrl_c;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinSet, LocalSet};

use crate::bodies::Bodies;
use crate::connect::connect;
use crate::messages::{self, Messages};
use crate::options::{Options, Plan};
use crate::requests::Requests;
use crate::stats::{Stats, count};
use crate::worker::{Control, Worker, wake_when_due};

/// How far ahead the window's begin is set, so that every thread is ready for it.
const LEAD: Duration = Duration::from_millis(5);

/// How connecting went.
#[derive(Debug)]
pub struct Connects {
    /// Those that were established.
    pub established: u32,
    /// Those that were not, by kind.
    pub failed: BTreeMap<String, u32>,
    /// From the first attempt until the last connection was established or had failed.
    pub took: Duration,
    /// How long each took that was established, in nanoseconds: its handshake included, waiting for its turn not.
    pub each_ns: Histogram<u64>,
}

/// What a run brought.
#[derive(Debug)]
pub struct Outcomes {
    /// How connecting went.
    pub connects: Connects,
    /// What was counted in the window and after it.
    pub stats: Stats,
    /// Bytes read and written from the window's begin on, frames and heads included.
    pub traffic: (u64, u64),
    /// When the window began.
    pub began: SystemTime,
    /// From the window's begin until it ended or was ended.
    pub window: Duration,
    /// From the window's begin until the last request had ended.
    pub took: Duration,
    /// Processor time of the generator in that time, of user and system.
    pub cpu: Duration,
    /// Whether a signal ended the window.
    pub interrupted: bool,
}

/// What a thread has once it has connected.
struct Ready {
    connects: Connects,
    begin: oneshot::Sender<Begin>,
}

/// What a thread gets then.
struct Begin {
    start: Instant,
    connections: u32,
    places: Vec<u32>,
}

/// What a thread has counted.
struct Counts {
    stats: Stats,
    traffic: (u64, u64),
    /// When its window ended.
    end: Duration,
}

/// Runs what the options say.
///
/// # Errors
/// No connection was established, or the system lacks something.
pub fn run(options: &Options, plan: Plan, bodies: Bodies) -> Result<Outcomes> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(conduct(options, Arc::new(plan), bodies))
}

async fn conduct(options: &Options, plan: Arc<Plan>, bodies: Bodies) -> Result<Outcomes> {
    let (threads, methods) = (options.threads(), bodies.methods().len());
    let at_once = options.connect_at_once.unwrap_or(options.connections);
    let at_once = Arc::new(Semaphore::new(at_once as usize));
    let (ready, mut all_ready) = mpsc::unbounded_channel();
    let (counted, mut counts) = mpsc::unbounded_channel();
    let (control, obeyed) = watch::channel(Control::Run);
    let began_connecting = Instant::now();
    for i in 0..threads {
        let share = options.connections / threads + u32::from(i < options.connections % threads);
        let (plan, bodies, at_once) = (plan.clone(), bodies.clone(), at_once.clone());
        let (ready, counted, obeyed) = (ready.clone(), counted.clone(), obeyed.clone());
        let work = move || {
            let done = work(plan, bodies, share, &at_once, &ready, obeyed);
            // Nobody receives any more where the run has failed.
            let _ = counted.send(done);
        };
        thread::Builder::new().spawn(work).context("no thread")?;
    }
    drop((ready, counted, obeyed));
    let (connects, begins) = all_connected(threads, &mut all_ready, &mut counts).await?;
    let established: Vec<u32> = connects.iter().map(|connects| connects.established).collect();
    let connects = add_up(connects, began_connecting.elapsed())?;
    if connects.established == 0 {
        let most = connects.failed.iter().max_by_key(|(_, count)| **count);
        let kind = most.map_or("no connection", |(kind, _)| kind.as_str());
        bail!(
            "can't reach {}: {kind} ({} of {} connections failed)",
            options.url,
            options.connections,
            options.connections
        );
    }
    let start = Instant::now() + LEAD;
    for (begin, places) in begins.into_iter().zip(places(&established)) {
        let _ = begin.send(Begin { start, connections: connects.established, places });
    }
    tokio::time::sleep_until(start.into()).await;
    let (began, cpu) = (SystemTime::now(), cpu_time());
    let window = Duration::from_nanos(plan.duration_ns);
    let counts =
        all_counted(threads, Stats::new(plan.keeps_records, methods)?, window, &mut counts, &control).await?;
    Ok(Outcomes {
        connects,
        interrupted: counts.end < window,
        stats: counts.stats,
        traffic: counts.traffic,
        began,
        window: counts.end,
        took: start.elapsed(),
        cpu: cpu_time().saturating_sub(cpu),
    })
}

/// Waits until every thread has tried all of its connections.
async fn all_connected(
    threads: u32,
    ready: &mut mpsc::UnboundedReceiver<Ready>,
    counts: &mut mpsc::UnboundedReceiver<Result<Counts>>,
) -> Result<(Vec<Connects>, Vec<oneshot::Sender<Begin>>)> {
    let (mut connects, mut begins) = (Vec::new(), Vec::new());
    while begins.len() < threads as usize {
        tokio::select! {
            Some(Ready { connects: more, begin }) = ready.recv() => {
                connects.push(more);
                begins.push(begin);
            }
            Some(done) = counts.recv() => {
                done?;
                bail!("a thread ended early");
            }
            _ = ctrl_c() => bail!("interrupted while connecting"),
        }
    }
    Ok((connects, begins))
}

/// Adds the threads' counts to `stats` as they end, and ends them early where a signal comes.
async fn all_counted(
    threads: u32,
    stats: Stats,
    window: Duration,
    counts: &mut mpsc::UnboundedReceiver<Result<Counts>>,
    control: &watch::Sender<Control>,
) -> Result<Counts> {
    let mut sum = Counts { stats, traffic: (0, 0), end: Duration::ZERO };
    let (mut done, mut interrupts) = (0, 0);
    while done < threads {
        tokio::select! {
            counted = counts.recv() => {
                let Counts { stats, traffic: (read, written), end } = counted.context("a thread ended early")??;
                sum.stats.add(stats)?;
                sum.traffic = (sum.traffic.0 + read, sum.traffic.1 + written);
                // A thread without connections has not noticed a signal.
                sum.end = if end < window { sum.end.max(end) } else { sum.end };
                done += 1;
            }
            _ = ctrl_c() => {
                interrupts += 1;
                control.send_replace(if interrupts > 1 { Control::Abort } else { Control::End });
            }
        }
    }
    if sum.end.is_zero() {
        sum.end = window;
    }
    Ok(sum)
}

/// Places of the connections of each thread, given their numbers: the threads take turns, so that requests that are due one after
/// the other are sent by different threads.
fn places(established: &[u32]) -> Vec<Vec<u32>> {
    let mut places: Vec<Vec<u32>> = established.iter().map(|_| Vec::new()).collect();
    let mut next = 0;
    for turn in 0..established.iter().copied().max().unwrap_or(0) {
        for (places, _) in places.iter_mut().zip(established).filter(|(_, established)| turn < **established)
        {
            places.push(next);
            next += 1;
        }
    }
    places
}

fn add_up(parts: Vec<Connects>, took: Duration) -> Result<Connects> {
    let mut sum = Connects::new()?;
    sum.took = took;
    for part in parts {
        sum.established += part.established;
        for (kind, count) in part.failed {
            *sum.failed.entry(kind).or_default() += count;
        }
        sum.each_ns.add(part.each_ns).map_err(|error| anyhow!("connect times: {error}"))?;
    }
    Ok(sum)
}

impl Connects {
    fn new() -> Result<Self> {
        let each_ns = Histogram::new(3).map_err(|error| anyhow!("no histogram: {error}"))?;
        Ok(Self { established: 0, failed: BTreeMap::new(), took: Duration::ZERO, each_ns })
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A thread: connects, waits for the others, and runs its connections.
fn work(
    plan: Arc<Plan>,
    bodies: Bodies,
    share: u32,
    at_once: &Arc<Semaphore>,
    ready: &mpsc::UnboundedSender<Ready>,
    control: watch::Receiver<Control>,
) -> Result<Counts> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime")?;
    let local = LocalSet::new();
    let worker = Rc::new(Worker::new(plan, bodies)?);
    local.block_on(&runtime, async {
        let (connects, connections) = connect_all(&worker, share, at_once).await?;
        let (begin, begun) = oneshot::channel();
        let _ = ready.send(Ready { connects, begin });
        let Begin { start, connections: all, places } = begun.await.context("the run has failed")?;
        tokio::time::sleep_until(start.into()).await;
        let alarms = worker.begin(start, all, &places);
        let mut running = JoinSet::new();
        for ((connection, alarm), place) in connections.into_iter().zip(alarms).zip(places) {
            let requests = Requests::new(worker.clone(), place);
            running.spawn_local(messages::run(worker.clone(), alarm, requests, connection));
        }
        let mut waking = std::pin::pin!(wake_when_due(worker.clone(), control));
        loop {
            tokio::select! {
                ended = running.join_next() => match ended {
                    Some(ended) => ended.context("a connection's task failed")?,
                    None => break,
                },
                woken = waking.as_mut() => {
                    woken?;
                    bail!("the run has failed");
                }
            }
        }
        Ok(())
    })?;
    let stats = worker.stats.replace(Stats::new(false, 0)?);
    Ok(Counts { stats, traffic: worker.traffic.get(), end: Duration::from_nanos(worker.end_ns()) })
}

async fn connect_all(
    worker: &Rc<Worker>,
    share: u32,
    at_once: &Arc<Semaphore>,
) -> Result<(Connects, Vec<Box<Messages>>)> {
    let mut connecting = JoinSet::new();
    for _ in 0..share {
        let (worker, at_once) = (worker.clone(), at_once.clone());
        connecting.spawn_local(async move {
            let _turn = at_once.acquire().await;
            let began = Instant::now();
            connect(&worker).await.map(|connection| (connection, began.elapsed()))
        });
    }
    let mut connects = Connects::new()?;
    let mut connections = Vec::with_capacity(share as usize);
    while let Some(attempt) = connecting.join_next().await {
        match attempt.context("a connection's task failed")? {
            Ok((connection, took)) => {
                connects.established += 1;
                count(&mut connects.each_ns, took.as_nanos() as u64);
                connections.push(connection);
            }
            Err(kind) => *connects.failed.entry(kind).or_default() += 1,
        }
    }
    Ok((connects, connections))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns_and_every_place_is_taken_once() {
        assert_eq!(places(&[2, 3, 0]), [vec![0, 2], vec![1, 3, 4], vec![]]);
    }
}
