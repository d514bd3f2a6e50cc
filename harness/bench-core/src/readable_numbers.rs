//! Numbers as a person reads them, with the units that fit.

/// A whole number with thousands set apart: 65,326.
pub fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("-{out}") } else { out }
}

/// A count with thousands set apart.
pub fn count(value: u64) -> String {
    thousands(value as f64)
}

/// N of a thing: `1 connection`, `2,300 connections`.
pub fn counted(value: u64, what: &str) -> String {
    format!("{} {what}{}", count(value), if value == 1 { "" } else { "s" })
}

/// Three significant digits, without an exponent.
pub fn significant(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => thousands(value),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A number of at least 1 to three digits, zeros behind them: 146,000.
pub fn rounded(value: f64) -> String {
    let unit = 10_f64.powf((value.abs().max(1.0).log10().floor() - 2.0).max(0.0));
    thousands((value / unit).round() * unit)
}

/// A time in microseconds, with the unit that fits.
pub fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{} s", significant(us / 1e6)),
        us if us >= 1e3 => format!("{} ms", significant(us / 1e3)),
        us => format!("{} µs", significant(us)),
    }
}

/// Bytes, with the unit that fits.
pub fn bytes(value: f64) -> String {
    match value {
        v if v >= 1024.0 * 1024.0 => format!("{} MiB", significant(v / 1024.0 / 1024.0)),
        v if v >= 1024.0 => format!("{} KiB", significant(v / 1024.0)),
        v => format!("{v:.0} B"),
    }
}

/// A share in percent, with decimals below 1 %, so that what is there is no "0 %".
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent <= 0.0 || percent >= 0.95 => format!("{percent:.0} %"),
        _ if percent >= 0.095 => format!("{percent:.1} %"),
        _ => format!("{:.2} %", percent.max(0.01)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([65_326.4, 999.6, -1_234.0].map(thousands), ["65,326", "1,000", "-1,234"]);
        assert_eq!([counted(1, "trial"), counted(2_355, "trial")], ["1 trial", "2,355 trials"]);
        assert_eq!([0.0, 0.0004, 0.002, 0.0096, 0.4].map(percent), ["0 %", "0.04 %", "0.2 %", "1 %", "40 %"]);
        assert_eq!([7.346, 950.0, 0.5].map(significant), ["7.35", "950", "0.500"]);
        assert_eq!(
            [80.4, 2_100.0, 42_000.0, 1_230_257.0].map(time),
            ["80.4 µs", "2.10 ms", "42.0 ms", "1.23 s"]
        );
        assert_eq!(bytes(3.5 * 1024.0 * 1024.0), "3.50 MiB");
    }
}
