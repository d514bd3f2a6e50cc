//! Which thread walks the block store for getBlocks: the async worker that read the request, or another one.
//!
//! For servers on tokio. Out of scope: frameworks' own pools, where they have one (jsonrpsee has).

use clap::{Args, ValueEnum};
use serde::Serialize;
use tokio::runtime::{Builder, Handle};

use crate::error::StartError;

/// For binaries whose framework runs on tokio.
#[derive(Debug, Clone, Copy, Args, Serialize)]
pub struct BlocksOnFlags {
    /// Which thread walks the block store for getBlocks
    #[arg(long, value_name = "THREAD", default_value = "worker")]
    pub blocks_on: BlocksOn,
}

/// Which thread walks the block store for getBlocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlocksOn {
    /// The worker that read the request, as in a validator: other requests of that worker wait
    Worker,
    /// One of the runtime's threads for blocking work
    Blocking,
    /// One for all, so that one store is walked at a time
    OneThread,
}

/// Runs work on a thread other than the async worker that submits it. A copy uses the same threads.
#[derive(Debug, Clone)]
pub struct Offload {
    /// `None` is the caller's runtime.
    runtime: Option<Handle>,
}

/// The work came to no end: it panicked, or the runtime is shutting down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoResult;

impl Offload {
    /// The threads that `on` names; `None` where work stays on the worker.
    ///
    /// # Errors
    /// The thread can't be set up.
    pub fn new(on: BlocksOn) -> Result<Option<Self>, StartError> {
        let runtime = match on {
            BlocksOn::Worker => return Ok(None),
            BlocksOn::Blocking => None,
            BlocksOn::OneThread => {
                // A pool of one thread, behind a runtime that runs nothing else.
                let runtime =
                    Builder::new_current_thread().max_blocking_threads(1).thread_name("blocks").build();
                let runtime =
                    runtime.map_err(|error| StartError::failed("start the thread for blocks", error))?;
                let handle = runtime.handle().clone();
                // For the life of the process: dropped, it would take no more work.
                std::mem::forget(runtime);
                Some(handle)
            }
        };
        Ok(Some(Self { runtime }))
    }

    /// Runs `work` there and gives its result. Work for one thread is done in the order in which it is submitted.
    ///
    /// # Errors
    /// The work came to no end.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoResult> {
        let started = match &self.runtime {
            Some(runtime) => runtime.spawn_blocking(work),
            None => tokio::task::spawn_blocking(work),
        };
        started.await.map_err(|_| NoResult)
    }
}

#[cfg(test)]
mod tests {
    use std::thread::{self, ThreadId};

    use super::*;

    /// The threads that eight pieces of work ran on, submitted at once.
    fn threads(on: BlocksOn) -> Vec<ThreadId> {
        let offload = Offload::new(on).unwrap().unwrap();
        let runtime = Builder::new_current_thread().build().unwrap();
        // None of them ends before all have begun, where they have a thread each.
        let begun =
            std::sync::Arc::new(std::sync::Barrier::new(if on == BlocksOn::Blocking { 8 } else { 1 }));
        let submitted = (0..8).map(|_| {
            let (offload, begun) = (offload.clone(), begun.clone());
            runtime.spawn(async move {
                let work = move || {
                    begun.wait();
                    thread::current().id()
                };
                offload.run(work).await.unwrap()
            })
        });
        let submitted: Vec<_> = submitted.collect();
        runtime.block_on(async {
            let mut threads = Vec::new();
            for one in submitted {
                threads.push(one.await.unwrap());
            }
            threads
        })
    }

    #[test]
    fn blocking_work_has_many_threads_and_one_thread_is_one() {
        let here = thread::current().id();
        for (on, expected) in [(BlocksOn::Blocking, 8), (BlocksOn::OneThread, 1)] {
            let threads = threads(on);
            let distinct: std::collections::HashSet<_> = threads.iter().collect();
            assert_eq!(distinct.len(), expected, "{on:?}");
            assert!(!threads.contains(&here), "{on:?}");
        }
        assert!(Offload::new(BlocksOn::Worker).unwrap().is_none());
    }

    #[test]
    fn work_that_panics_gives_no_result_and_the_thread_goes_on() {
        let offload = Offload::new(BlocksOn::OneThread).unwrap().unwrap();
        let runtime = Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(offload.run(|| panic!("as the test wants"))), Err::<(), _>(NoResult));
        assert_eq!(runtime.block_on(offload.run(|| 7)), Ok(7));
    }
}
