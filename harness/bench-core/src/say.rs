//! What is printed for a person. Whoever closes the other end of a pipe has read enough: a run goes on all the same,
//! where the standard library's macros would panic.

use std::fmt::Arguments;
use std::io::Write;

use crate::foreign_text::escaped_lines;

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

/// Prints a line. No part of it is obeyed by a terminal, whoever wrote that.
pub fn line(mut to: impl Write, text: Arguments<'_>) {
    // Where that fails, nobody reads it.
    let _ = writeln!(to, "{}", escaped_lines(&text.to_string()));
}
