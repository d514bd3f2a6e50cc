//! What is printed for a person. Whoever closes the other end of a pipe has read enough: a run goes on all the same,
//! where the standard library's macros would panic.

/// Prints a line to standard output.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {{
        // Nobody reads it.
        let mut to = ::std::io::stdout();
        let _ = ::std::io::Write::write_fmt(&mut to, ::std::format_args!("{}\n", ::std::format_args!($($text)*)));
    }};
}

/// Prints a line to standard error.
#[macro_export]
macro_rules! note {
    ($($text:tt)*) => {{
        // Nobody reads it.
        let mut to = ::std::io::stderr();
        let _ = ::std::io::Write::write_fmt(&mut to, ::std::format_args!("{}\n", ::std::format_args!($($text)*)));
    }};
}
