//! Numbers as the sentences say them.

/// A whole number with thousands set apart: 65,326.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many of a thing: `1 connection`, `2,300 connections`.
pub fn counted(value: u64, what: &str) -> String {
    format!("{} {what}{}", count(value), if value == 1 { "" } else { "s" })
}

/// A time in microseconds, with the unit that fits.
pub fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{:.2} s", us / 1e6),
        us if us >= 1e4 => format!("{:.0} ms", us / 1e3),
        us if us >= 1e3 => format!("{:.1} ms", us / 1e3),
        us => format!("{us:.0} us"),
    }
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_set_apart() {
        assert_eq!(
            [count(0), count(999), count(1_000), count(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!([counted(1, "trial"), counted(2_355, "trial")], ["1 trial", "2,355 trials"]);
        assert_eq!(
            [time(80.4), time(2_100.0), time(42_000.0), time(1.5e6)],
            ["80 us", "2.1 ms", "42 ms", "1.50 s"]
        );
    }
}
