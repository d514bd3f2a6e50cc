//! One file a verb. Each gives `true` where all is well, `false` where it found something that is not; one whose answer
//! may also be open gives an [`Ending`].

pub mod agent;
pub mod bombard;
pub mod browse;
pub mod calibrate;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod gate;
pub mod init;
pub mod manual;
pub mod pack;
pub mod record;
pub mod reference;
pub mod report;
pub mod run;
pub mod send;
pub mod serve;
pub mod splice;
pub mod tools;
pub mod try_call;
pub mod watch;
pub mod why;

use std::io::{Write, stdout};

/// Prints a whole text. One that closes its input has read enough.
pub fn print(text: &str) {
    let _ = stdout().write_all(text.as_bytes());
}

/// How a verb ended that ran well by itself.
pub enum Ending {
    /// All is well.
    Well,
    /// Something is not as it should be.
    Found,
    /// It can't be told.
    Open,
}

impl Ending {
    /// The exit code that says so.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Well => 0,
            Self::Found => 1,
            Self::Open => 3,
        }
    }
}

impl From<bool> for Ending {
    fn from(is_well: bool) -> Self {
        if is_well { Self::Well } else { Self::Found }
    }
}
