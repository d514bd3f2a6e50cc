//! What the system counts of this process, by the names that Prometheus' own client libraries use.

use std::fmt::Result;

use procfs::{boot_time_secs, page_size, ticks_per_second};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use crate::write::Writer;

/// CPU time, memory, threads and open files of this process, read from /proc when it is called.
#[derive(Debug, Clone, Copy, Default)]
pub struct Process;

impl Collector for Process {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result {
        let mut writer = Writer::new(encoder);
        // A system without /proc has no such metrics, and its servers still answer.
        let Ok(process) = procfs::process::Process::myself() else { return Ok(()) };
        let Ok(stat) = process.stat() else { return Ok(()) };
        let ticks = ticks_per_second() as f64;
        let cpu_s = (stat.utime + stat.stime) as f64 / ticks;
        writer.counter_f64("process_cpu", "User and system CPU time spent", Some(&Unit::Seconds), cpu_s)?;
        let resident = stat.rss * page_size();
        writer.gauge("process_resident_memory", "Memory in RAM", Some(&Unit::Bytes), resident)?;
        writer.gauge("process_virtual_memory", "Virtual memory", Some(&Unit::Bytes), stat.vsize)?;
        let threads = u64::try_from(stat.num_threads).unwrap_or_default();
        writer.gauge("process_threads", "Threads of the process", None, threads)?;
        if let Ok(began) = boot_time_secs() {
            let began = began as f64 + stat.starttime as f64 / ticks;
            let help = "Start time since the Unix epoch";
            writer.gauge_f64("process_start_time", help, Some(&Unit::Seconds), began)?;
        }
        if let Ok(open) = process.fd_count() {
            writer.gauge("process_open_fds", "Open file descriptors", None, open as u64)?;
        }
        let most = process.limits().map(|limits| limits.max_open_files.soft_limit);
        if let Ok(procfs::process::LimitValue::Value(most)) = most {
            writer.gauge("process_max_fds", "Most file descriptors that may be open", None, most)?;
        }
        Ok(())
    }
}
