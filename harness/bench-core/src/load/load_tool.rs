//! What a load tool is to the harness. Each tool is a module that implements [`Driver`] and one entry of
//! [`super::LoadTool`]'s table; nothing outside of `load` names what a tool can do, how it is called or what it prints.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::PathBuf;

use super::records::Record;
use super::sample_details::Details;
use super::{Load, LoadSample};
use crate::transport::Transport;
use crate::workload::requests::{Known, Stream};
use anyhow::{Context, Result, ensure};

/// How a tool is built.
#[derive(Debug, Clone, Copy)]
pub enum Build {
    /// A package of a Go module.
    Go {
        /// The package.
        package: &'static str,
        /// The folder of its `go.mod`, inside that of the tools.
        folder: &'static str,
        /// The environment variable that names another program.
        variable: &'static str,
        /// The option with which the program prints its version, and which word of that it is, from 0.
        own_version: (&'static str, usize),
        /// Whether that takes seconds, and not minutes.
        is_quick: bool,
    },
    /// A part of this program: `rpc-bench load`.
    Here,
}

impl Build {
    /// Whether a tool is built in seconds, and not in minutes.
    pub const fn is_quick(self) -> bool {
        matches!(self, Self::Here | Self::Go { is_quick: true, .. })
    }
}

/// What a campaign may ask of a load tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// To reach a server so.
    Over(Transport),
    /// Closed loops.
    ClosedLoop,
    /// A rate: as due times, or as an upper limit on a closed loop, for comparison.
    Rate,
    /// Open loops: requests are sent when they are due, whatever became of earlier ones.
    OpenLoop,
    /// Loads with more than one body.
    SeveralBodies,
    /// Closed loops with more than one body: in order, and then again from the first.
    RepeatsBodies,
    /// Headers of a user's own.
    Headers,
    /// TLS, its certificates verified by those that a user trusts.
    Tls,
    /// Loads with more than one request in flight on a connection.
    SeveralInFlight,
    /// Loads with several calls in a request, as a JSON-RPC batch.
    Batches,
    /// Loads that hold connections and send nothing.
    Holds,
    /// Loads with a connection for each request.
    ClosesEach,
    /// Results that hold when each request was due, so that latency can count from then.
    TellsWhenDue,
    /// Users who come and go, and not connections that are all there from the start.
    Users,
}

impl Capability {
    /// What a tool without it can't do.
    pub(super) fn words(self) -> String {
        let words = match self {
            Self::Over(transport) => return format!("send over {}", transport.name()),
            Self::ClosedLoop => "send in a closed loop",
            Self::Rate => "send at a rate",
            Self::OpenLoop => "send in an open loop",
            Self::SeveralBodies => "send more than one body",
            Self::RepeatsBodies => "send more than one body in a closed loop",
            Self::Headers => "send headers of your own, or fill a variable into a URL",
            Self::Tls => "verify a certificate as a campaign says",
            Self::SeveralInFlight => "have several requests in flight on a connection",
            Self::Batches => "send batches",
            Self::Holds => "hold connections without sending",
            Self::ClosesEach => "close a connection after each request",
            Self::TellsWhenDue => "say when a request was due",
            Self::Users => "send as users in stages",
        };
        words.to_owned()
    }
}

/// What a load tool is: what it can do, its pinned version, and how that is built.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Its name: in campaigns, in results, and of its program.
    pub name: &'static str,
    /// All that it can do.
    pub can: &'static [Capability],
    /// The name and the content of a file that it reads in every load.
    pub template: Option<(&'static str, &'static str)>,
    /// The pinned version, for a person.
    pub version: &'static str,
    /// How it is built.
    pub build: Build,
}

/// What a load's requests hold.
pub enum Bodies<'a> {
    /// The same body for every request.
    One(&'a str),
    /// One body a request, until there are no more.
    Stream(&'a mut dyn Iterator<Item = String>),
    /// One body a request, drawn from a mix without end.
    Drawn(Stream),
}

impl Bodies<'_> {
    /// The next body; `None` where the stream is exhausted.
    ///
    /// # Errors
    /// The body has more than one line. The tools read a body a line.
    pub fn take(&mut self) -> Result<Option<Cow<'_, str>>> {
        let body = match self {
            Self::One(body) => Some(Cow::Borrowed(*body)),
            Self::Stream(bodies) => bodies.next().map(Cow::Owned),
            Self::Drawn(requests) => {
                let mut body = String::with_capacity(128);
                requests.write_next(&mut body);
                Some(Cow::Owned(body))
            }
        };
        if let Some(body) = &body {
            ensure!(!body.contains(['\n', '\r']), "a body has more than one line: {body}");
        }
        Ok(body)
    }
}

/// Bytes of a body that a tool gets as an argument; a longer one is in a file. Linux takes 131,071 for an argument.
const LONGEST_ARGUMENT: usize = 100_000;

/// Whether a body is given in a file.
pub(super) const fn is_for_a_file(body: &str) -> bool {
    body.len() > LONGEST_ARGUMENT
}

/// Requests that a closed loop with several bodies repeats.
const REPEATED: u64 = 20_000;

/// The files of one load.
#[derive(Debug, Clone)]
pub struct Files {
    /// For what the tool reads: a target or a body a line. Removed after the load.
    pub requests: PathBuf,
    /// For the tool's own record of its requests. Removed after the load.
    pub answered: PathBuf,
    /// For the result that each answer must have, where the tool compares it. Removed after the load.
    pub expected: PathBuf,
    /// The tool's [`About::template`].
    pub template: PathBuf,
    /// What the tool prints in the load, unless it prints its own record after it.
    pub printed: PathBuf,
}

impl Files {
    /// Writes one body into [`Files::requests`], and gives its path as an argument.
    pub(super) fn write_body(&self, body: &str) -> Result<String> {
        crate::text_files::write(&self.requests, body)?;
        Ok(self.requests.display().to_string())
    }

    /// Writes a line into [`Files::requests`] for each request that is due, or a number of them for a closed loop that
    /// repeats them, as long as there are bodies, and gives their number. `write` appends a body's line to an empty
    /// one.
    pub(super) fn write_requests(
        &self,
        load: &Load,
        bodies: &mut Bodies<'_>,
        write: impl Fn(&mut String, &str),
    ) -> Result<u64> {
        let context = || format!("can't write {}", self.requests.display());
        let mut out = BufWriter::new(File::create(&self.requests).with_context(context)?);
        let (mut line, mut written) = (String::new(), 0);
        let most = if load.rate.is_some() { load.intended() } else { REPEATED };
        while written < most
            && let Some(body) = bodies.take()?
        {
            line.clear();
            write(&mut line, &body);
            writeln!(out, "{line}").with_context(context)?;
            written += 1;
        }
        out.flush().with_context(context)?;
        Ok(written)
    }
}

/// One load, as a tool gets it.
#[derive(Debug)]
pub struct Job<'a> {
    /// How much.
    pub load: &'a Load,
    /// Where to.
    pub url: &'a str,
    /// Its files.
    pub files: &'a Files,
    /// What is sent, with the true answers: the one request of all, or for a tool that has users one for each.
    pub known: &'a [Known],
    /// How long connecting may take, in milliseconds, where a closed loop's window begins once all connections are
    /// established.
    pub connecting_ms: Option<u64>,
}

/// How a tool is called for a load.
#[derive(Debug)]
pub struct Invocation {
    /// Its arguments.
    pub args: Vec<String>,
    /// Whether it would run beyond the window, so that it is interrupted (SIGINT) when that ends.
    pub interrupted: bool,
    /// Requests that there are bodies for.
    pub bodies: u64,
}

/// What a tool's results hold.
#[derive(Debug)]
pub enum Reading {
    /// Counts and quantiles.
    Sample(Box<LoadSample>),
    /// Every request; and what the tool reports besides, of methods and of examples.
    Records(Vec<Record>, Box<Details>),
}

impl From<LoadSample> for Reading {
    fn from(sample: LoadSample) -> Self {
        Self::Sample(Box::new(sample))
    }
}

/// A load tool.
pub trait Driver: Sync {
    /// What it is.
    fn about(&self) -> About;

    /// What to know of another version, where its figures do not compare with those of the pinned one. What a tool
    /// prints may change at any time.
    fn caveat(&self, version: &str) -> Option<String> {
        let About { name, version: pinned, .. } = self.about();
        (version.trim_start_matches('v') != pinned)
            .then(|| format!("{name} {version} was used, not {pinned}, with which the harness was tested"))
    }

    /// Writes what it reads, and gives its arguments. Bodies are taken from a stream here, all that the load needs.
    ///
    /// # Errors
    /// It can't put that load on, the files can't be written, or a body has more than one line.
    fn prepare(&self, job: &Job<'_>, bodies: &mut Bodies<'_>) -> Result<Invocation>;

    /// The arguments that make it print its own record of the requests, where only it can read that.
    fn decoding(&self, _files: &Files) -> Option<Vec<String>> {
        None
    }

    /// Reads what it printed in the load, or for [`Driver::decoding`], and its files. `bodies` is
    /// [`Invocation::bodies`].
    ///
    /// # Errors
    /// It is not what the tool writes: what is missing.
    fn read(&self, load: &Load, bodies: u64, files: &Files, printed: &mut dyn Read) -> Result<Reading>;

    /// Whether what it wrote to standard error is only what it always writes.
    fn said_nothing(&self, _stderr: &str) -> bool {
        false
    }

    /// The commands that put a load on by hand, each piped into the next.
    fn by_hand(&self, load: &Load, body: &str, url: &str) -> Vec<Vec<String>>;
}

/// The rate of a load, for a tool that has open loops only.
pub(super) fn rate_of(load: &Load, tool: &dyn Driver) -> Result<u32> {
    load.rate.with_context(|| format!("{} has no closed loop; give it a rate", tool.about().name))
}

/// The text that a tool printed.
pub(super) fn text(printed: &mut dyn Read) -> Result<String> {
    let mut text = String::new();
    printed.read_to_string(&mut text).context("can't read what the tool printed")?;
    Ok(text)
}

/// A program's name and its arguments.
pub(super) fn command(program: &str, args: Vec<String>) -> Vec<String> {
    std::iter::once(program.to_owned()).chain(args).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_of_two_lines_is_refused() {
        assert!(Bodies::One("{\n}").take().is_err());
    }
}
