//! When a server's process ended: a thread sleeps until the system says so, which costs a measured processor nothing.

use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A process from now on, and when it ended.
#[derive(Debug)]
pub(super) struct End {
    since: Instant,
    ended: Arc<OnceLock<Instant>>,
    /// Closed when this goes, which ends the thread too.
    _wanted: Option<UnixStream>,
}

impl End {
    /// Of the process of that id. Where the system does not tell of its end, none is seen.
    pub fn of(pid: u32) -> Self {
        let ended = Arc::<OnceLock<Instant>>::default();
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let wanted = process.zip(UnixStream::pair().ok()).map(|(process, (wanted, goes))| {
            let seen = ended.clone();
            thread::spawn(move || {
                let mut both = [PollFd::new(&process, PollFlags::IN), PollFd::new(&goes, PollFlags::IN)];
                if poll(&mut both, None).is_ok() && !both[0].revents().is_empty() {
                    let _ = seen.set(Instant::now());
                }
            });
            wanted
        });
        Self { since: Instant::now(), ended, _wanted: wanted }
    }

    /// How long after this was made it ended, in seconds; `None` where no end was seen.
    pub fn after_s(&self) -> Option<f64> {
        Some(self.ended.get()?.duration_since(self.since).as_secs_f64())
    }
}
