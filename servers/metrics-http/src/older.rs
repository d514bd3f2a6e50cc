//! Prometheus' text format 0.0.4, for readers that do not accept OpenMetrics, such as `promtool check metrics` and older tools.

/// The same metrics in the older format: there a counter is described by its whole name with `_total`, a unit has no line, and
/// nothing marks the end.
pub(crate) fn from_open_metrics(text: &str) -> String {
    let counters: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut older = String::with_capacity(text.len() + 6 * counters.len());
    for line in text.lines() {
        if line == "# EOF" || line.starts_with("# UNIT ") {
            continue;
        }
        match described(line).filter(|(_, name, _)| counters.contains(name)) {
            Some((kind, name, rest)) => older.extend([kind, name, "_total ", rest]),
            None => older.push_str(line),
        }
        older.push('\n');
    }
    older
}

/// The three parts of a line that describes a metric: up to its name, the name, and what follows.
fn described(line: &str) -> Option<(&str, &str, &str)> {
    let kind = ["# HELP ", "# TYPE "].into_iter().find(|kind| line.starts_with(kind))?;
    let (name, rest) = line.strip_prefix(kind)?.split_once(' ')?;
    Some((kind, name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_get_their_whole_names_and_the_rest_stays() {
        let text = "# HELP calls Calls.\n# TYPE calls counter\ncalls_total 3\n# HELP cpu_seconds CPU.\n# TYPE cpu_seconds counter\n# UNIT \
                    cpu_seconds seconds\ncpu_seconds_total 1.5\n# HELP open Open.\n# TYPE open gauge\nopen 2\n# EOF\n";
        let older = "# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total 3\n# HELP cpu_seconds_total CPU.\n# TYPE \
                     cpu_seconds_total counter\ncpu_seconds_total 1.5\n# HELP open Open.\n# TYPE open gauge\nopen 2\n";
        assert_eq!(from_open_metrics(text), older);
    }
}
