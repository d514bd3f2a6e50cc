//! The first line of a server's output, by which it says that it is ready. A thread reads what it prints, so that it
//! never waits for a reader; only the first line is kept, and of that no more than a bound.

use std::io::Read;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use anyhow::{Context, Result, bail};

use crate::owned_process::Owned;
use bench_core::foreign_text::{MOST_READ, bounded};
use bench_core::readable_numbers::{bytes, count};

/// What came of the first line so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has ended.
    Whole(String),
    /// It goes on, or has not begun.
    Open,
    /// The output was closed before it began.
    Closed,
}

/// What a process prints, up to its first line's end.
pub(super) struct FirstLine {
    pieces: Receiver<Vec<u8>>,
    so_far: Vec<u8>,
}

impl FirstLine {
    /// That of a process whose output is piped.
    ///
    /// # Errors
    /// It is not, or was taken already.
    pub fn of(process: &mut Owned) -> Result<Self> {
        Ok(Self::read(process.stdout().context("its output is not piped")?))
    }

    /// Reads on a thread of its own, to the output's end.
    fn read(mut stdout: impl Read + Send + 'static) -> Self {
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let (mut piece, mut sent) = (vec![0; 4_096], 0);
            while let Ok(length @ 1..) = stdout.read(&mut piece) {
                let said = piece.get(..length).unwrap_or_default();
                sent += length as u64;
                // The harness may have given up on the line.
                if sender.send(said.to_vec()).is_err() || said.contains(&b'\n') || sent >= MOST_READ {
                    break;
                }
            }
            drop(sender);
            let _ = std::io::copy(&mut stdout, &mut std::io::sink());
        });
        Self { pieces, so_far: Vec::new() }
    }

    /// What came of it until now.
    ///
    /// # Errors
    /// It is longer than any line that is read.
    pub fn state(&mut self) -> Result<State> {
        let is_closed = loop {
            match self.pieces.try_recv() {
                Ok(piece) => self.so_far.extend(piece),
                Err(TryRecvError::Empty) => break false,
                Err(TryRecvError::Disconnected) => break true,
            }
        };
        let end = self.so_far.iter().position(|byte| *byte == b'\n');
        Ok(match end.or((is_closed && !self.so_far.is_empty()).then_some(self.so_far.len())) {
            _ if end.unwrap_or(self.so_far.len()) as u64 >= MOST_READ => {
                let (most, text) = (bytes(MOST_READ as f64), bounded(&self.text()));
                bail!("its first line does not end within {most}, and should be its ready line: {text}")
            }
            Some(end) => {
                self.so_far.truncate(end);
                State::Whole(self.text())
            }
            None if is_closed => State::Closed,
            None => State::Open,
        })
    }

    /// Whether what is there of it can't become a JSON object.
    pub fn is_no_json(&self) -> bool {
        self.so_far.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|first| *first != b'{')
    }

    /// What is there of a line that has no end, for a person.
    pub fn unended(&self) -> String {
        let (length, text) = (count(self.so_far.len() as u64), bounded(&self.text()));
        if self.so_far.is_empty() {
            return "it printed nothing".to_owned();
        }
        format!("its first line has no end after {length} bytes: {text}")
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.so_far).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a line comes to.
    fn end_of(output: impl Read + Send + 'static) -> Result<State> {
        let mut line = FirstLine::read(output);
        loop {
            match line.state() {
                Ok(State::Open) => std::thread::yield_now(),
                ended => return ended,
            }
        }
    }

    #[test]
    fn a_first_line_is_whole_cut_off_or_none() {
        assert_eq!(end_of(&b"{}\r\nmore\n"[..]).unwrap(), State::Whole("{}".to_owned()));
        assert_eq!(end_of(&b"no end"[..]).unwrap(), State::Whole("no end".to_owned()));
        assert_eq!(end_of(&b"\xff\n"[..]).unwrap(), State::Whole("\u{fffd}".to_owned()));
        assert_eq!(end_of(&b""[..]).unwrap(), State::Closed);
    }
}
