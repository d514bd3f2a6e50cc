//! Reads one process's resources again and again, cheaply: its files in `/proc` are opened once and read from their
//! start.

use bench_core::machine::CpuTime;
use bench_core::machine::ResourceSample;
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use rustix::param::page_size;

use super::process_usage::clock_s;

/// Longest file that is read, in bytes; a thread's status has about 1,500.
const LONGEST: usize = 8_192;

/// A process under observation.
pub(super) struct Reader {
    pid: u32,
    stat: File,
    threads: HashMap<u32, Thread>,
    buffer: Vec<u8>,
}

/// A thread's files. Those of a thread that has ended stay, with what it did.
struct Thread {
    status: File,
    schedstat: Option<File>,
    did: Did,
    alive: bool,
}

/// What a thread did since it started.
#[derive(Clone, Copy, Default)]
struct Did {
    voluntary: Option<u64>,
    involuntary: Option<u64>,
    run_delay_ns: Option<u64>,
}

impl Reader {
    /// Opens a process; `None` where it is gone.
    pub(super) fn new(pid: u32) -> Option<Self> {
        let stat = File::open(format!("/proc/{pid}/stat")).ok()?;
        Some(Self { pid, stat, threads: HashMap::new(), buffer: vec![0; LONGEST] })
    }

    /// As of now, counted since the process started; `None` where it is gone.
    pub(super) fn read(&mut self) -> Option<ResourceSample> {
        let total_s = clock_s(self.pid).ok()?;
        let stat = text_of(&self.stat, &mut self.buffer)?;
        // The second field is the program's name in brackets, and may hold anything.
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_ascii_whitespace().collect();
        let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let (user, system, threads, pages) = (field(11)?, field(12)?, field(17)?, field(21)?);
        let cpu = CpuTime::divided(total_s, user, system);
        // Where the process has another number of threads than were read, some are new.
        if self.refresh() != threads {
            self.find_threads();
            self.refresh();
        }
        let sum = |of: fn(&Did) -> Option<u64>| self.threads.values().map(|thread| of(&thread.did)).sum();
        let run_delay_ns: Option<u64> = sum(|did| did.run_delay_ns);
        Some(ResourceSample {
            user_us: Some((cpu.user_s * 1e6) as u64),
            system_us: Some((cpu.system_s * 1e6) as u64),
            memory_bytes: Some(pages * page_size() as u64),
            threads: Some(threads),
            voluntary_switches: sum(|did| did.voluntary),
            involuntary_switches: sum(|did| did.involuntary),
            run_delay_us: run_delay_ns.map(|ns| ns / 1_000),
            open_files: open_files(self.pid),
            ..ResourceSample::default()
        })
    }

    /// Reads the threads that are known and gives how many of them live.
    fn refresh(&mut self) -> u64 {
        let mut alive = 0;
        for thread in self.threads.values_mut().filter(|thread| thread.alive) {
            let schedstat = thread.schedstat.as_ref().and_then(|file| text_of(file, &mut self.buffer));
            let run_delay_ns = schedstat.and_then(|text| text.split_ascii_whitespace().nth(1)?.parse().ok());
            let Some(status) = text_of(&thread.status, &mut self.buffer) else {
                thread.alive = false;
                continue;
            };
            let count = |name: &str| status.rsplit(name).next()?.lines().next()?.trim().parse().ok();
            thread.did = Did {
                voluntary: count("\nvoluntary_ctxt_switches:"),
                involuntary: count("\nnonvoluntary_ctxt_switches:"),
                run_delay_ns,
            };
            alive += 1;
        }
        // A thread that ended before its first reading did nothing that is known, and must not hide what the others
        // did.
        self.threads.retain(|_, thread| thread.alive || thread.did.voluntary.is_some());
        alive
    }

    fn find_threads(&mut self) {
        let folder = format!("/proc/{}/task", self.pid);
        let Ok(entries) = fs::read_dir(&folder) else { return };
        for id in entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok()) {
            if self.threads.get(&id).is_some_and(|thread| thread.alive) {
                continue;
            }
            // A thread may end between the listing and this.
            let Ok(status) = File::open(format!("{folder}/{id}/status")) else { continue };
            let schedstat = File::open(format!("{folder}/{id}/schedstat")).ok();
            self.threads.insert(id, Thread { status, schedstat, did: Did::default(), alive: true });
        }
    }
}

/// A file's text from its start, as far as the buffer goes; `None` where what it describes is gone.
fn text_of<'a>(file: &File, buffer: &'a mut [u8]) -> Option<&'a str> {
    let length = file.read_at(buffer, 0).ok().filter(|length| *length > 0)?;
    std::str::from_utf8(buffer.get(..length)?).ok()
}

/// Files that a process has open. Linux from 6.2 on gives their number as the size of the folder; before, they are
/// counted.
pub fn open_files(pid: u32) -> Option<u64> {
    let folder = format!("/proc/{pid}/fd");
    match fs::metadata(&folder).ok()?.len() {
        0 => Some(fs::read_dir(&folder).ok()?.count() as u64),
        count => Some(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_has_ended_keeps_its_counts() {
        let mut reader = Reader::new(std::process::id()).unwrap();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let naps = std::thread::spawn(move || {
            for _ in 0..50 {
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            let _ = stopped.recv();
        });
        let before = until(&mut reader, |sample| sample.voluntary_switches >= Some(50));
        drop(stop);
        naps.join().unwrap();
        let after = reader.read().unwrap();
        assert!(after.voluntary_switches >= before.voluntary_switches, "{before:?} {after:?}");
        assert!(after.run_delay_us.is_none() || after.run_delay_us >= before.run_delay_us);
    }

    fn until(reader: &mut Reader, done: impl Fn(&ResourceSample) -> bool) -> ResourceSample {
        loop {
            let sample = reader.read().unwrap();
            if done(&sample) {
                return sample;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
