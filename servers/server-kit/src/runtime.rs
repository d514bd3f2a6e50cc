//! What tokio counts of a server's runtime, where it has one that all its threads share.

use std::fmt::Result;
use std::sync::{Arc, OnceLock};

use metrics_http::{Collector, DescriptorEncoder};
use tokio::runtime::Handle;

/// A server's runtime, once it has one.
#[derive(Debug, Clone, Default)]
pub struct Runtime(Arc<OnceLock<Handle>>);

impl Runtime {
    /// The server runs on this one; the first call counts.
    pub fn is(&self, handle: &Handle) {
        // Set before: then it is the same.
        let _before = self.0.set(handle.clone());
    }
}

impl Collector for Runtime {
    #[cfg(feature = "runtime-metrics")]
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result {
        use metrics_http::{Unit, Writer};

        let mut writer = Writer::new(encoder);
        let Some(handle) = self.0.get() else { return Ok(()) };
        let metrics = handle.metrics();
        let workers = metrics.num_workers();
        writer.gauge("tokio_workers", "Threads of the runtime that run tasks", None, workers as u64)?;
        let tasks = metrics.num_alive_tasks() as u64;
        writer.gauge("tokio_alive_tasks", "Tasks that have begun and not ended", None, tasks)?;
        let depth = metrics.global_queue_depth() as u64;
        writer.gauge(
            "tokio_global_queue_depth",
            "Tasks that wait in the runtime's global queue",
            None,
            depth,
        )?;
        let labels = |worker: usize| [("worker", worker.to_string())];
        let busy = (0..workers)
            .map(|worker| (labels(worker), metrics.worker_total_busy_duration(worker).as_secs_f64()));
        let help = "Time that each worker was busy";
        writer.counters("tokio_worker_busy", help, Some(&Unit::Seconds), busy)?;
        let parks = (0..workers).map(|worker| (labels(worker), metrics.worker_park_count(worker) as f64));
        writer.counters("tokio_worker_parks", "How often each worker had nothing to do", None, parks)
    }

    /// Releases of tokio before 1.45 count none of this.
    #[cfg(not(feature = "runtime-metrics"))]
    fn encode(&self, _: DescriptorEncoder<'_>) -> Result {
        Ok(())
    }
}
