//! How a step of a trial ends that gives nothing: the trial is over, or the run is.

use anyhow::{Error, anyhow};

use bench_core::observation::Outcome;

/// Why a trial, or a step of it, gave no result.
#[derive(Debug)]
pub(super) enum Ending {
    /// The trial ends with this outcome.
    Trial(Outcome),
    /// The run ends: an interrupt, or what would fail in every trial, such as a full results folder.
    Run(Error),
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        Self::Trial(outcome)
    }
}

impl From<Error> for Ending {
    fn from(error: Error) -> Self {
        Self::Run(error)
    }
}

impl From<Ending> for Error {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Trial(outcome) => anyhow!(outcome.failure().unwrap_or_default()),
            Ending::Run(error) => error,
        }
    }
}

/// The result of a trial or of a step of it.
pub(super) type Ended<T> = std::result::Result<T, Ending>;

/// The same of a step that can't end the run.
pub(super) type Judged<T> = std::result::Result<T, Outcome>;
