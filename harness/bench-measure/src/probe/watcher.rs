//! A thread of the harness that observes a window until it ends.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A thread that observes.
pub struct Watcher<T> {
    window_ended: Sender<()>,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Watcher<T> {
    /// Starts it. What it is given receives a message, or is cut off, once the window has ended.
    pub fn start(watch: impl FnOnce(&Receiver<()>) -> T + Send + 'static) -> Self {
        let (window_ended, ended) = channel();
        Self { window_ended, thread: std::thread::spawn(move || watch(&ended)) }
    }

    /// What it observed, once it has ended. A panic of the thread goes on here: with nothing in its place a window in
    /// which, say, answers were not checked would pass for one in which all were right.
    pub fn end(self) -> T {
        // A thread that has ended takes no message.
        let _ = self.window_ended.send(());
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
