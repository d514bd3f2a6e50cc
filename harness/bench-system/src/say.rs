//! What is printed for a person. Whoever closes the other end of a pipe has read enough: a run goes on all the same,
//! where the standard library's macros would panic.

use std::fmt::Arguments;
use std::io::Write;

/// Prints a line to standard output.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::say::line(::std::io::stdout(), ::std::format_args!($($text)*)) };
}

/// Prints a line to standard error.
#[macro_export]
macro_rules! note {
    ($($text:tt)*) => { $crate::say::line(::std::io::stderr(), ::std::format_args!($($text)*)) };
}

/// Prints a line.
pub fn line(mut to: impl Write, text: Arguments<'_>) {
    // Where that fails, nobody reads it.
    let _ = to.write_fmt(format_args!("{text}\n"));
}
