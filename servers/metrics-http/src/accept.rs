//! Which format a reader wants most of those that there are.

/// The formats, the one that is given to a reader without a preference first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Older,
    OpenMetrics,
    Protobuf,
}

/// The format that these `Accept` headers weigh most; of equal ones the one named first, and where none is accepted, the older text.
pub(crate) fn best<'a>(accepts: impl Iterator<Item = &'a str>) -> Format {
    let weighed = accepts.flat_map(|accept| accept.split(',')).filter_map(weighed);
    let none = (Format::Older, 0.0);
    weighed.fold(none, |best, one| if one.1 > best.1 { one } else { best }).0
}

/// A format and its weight; `None` of a media type that is none of these.
fn weighed(accepted: &str) -> Option<(Format, f64)> {
    let mut parts = accepted.split(';').map(str::trim);
    let media_type = parts.next()?;
    let (mut weight, mut is_families, mut is_delimited) = (1.0, false, false);
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name.trim() {
            "q" => weight = value.trim().parse().ok()?,
            "proto" => is_families = value.trim() == "io.prometheus.client.MetricFamily",
            "encoding" => is_delimited = value.trim() == "delimited",
            _ => {}
        }
    }
    let format = match media_type {
        "application/vnd.google.protobuf" if is_families && is_delimited => Format::Protobuf,
        "application/openmetrics-text" => Format::OpenMetrics,
        "text/plain" => Format::Older,
        _ => return None,
    };
    Some((format, weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weightiest_format_is_chosen_and_the_older_text_without_one() {
        let families =
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        // Of Prometheus 2.42 with native histograms, without them, and of one that is set to read text first.
        let native = format!(
            "{families},application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.6,*/*;q=0.1"
        );
        let without = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let text_first = format!("application/openmetrics-text;version=1.0.0;q=0.5, {families};q=0.4");
        for (accept, format) in [
            (native.as_str(), Format::Protobuf),
            (without, Format::OpenMetrics),
            (&text_first, Format::OpenMetrics),
            ("application/vnd.google.protobuf", Format::Older),
            ("application/openmetrics-text;q=much", Format::Older),
            ("text/plain, application/openmetrics-text", Format::Older),
            ("*/*", Format::Older),
            ("", Format::Older),
        ] {
            assert_eq!(best([accept].into_iter()), format, "{accept}");
        }
        assert_eq!(best(["text/html", families].into_iter()), Format::Protobuf, "of two headers");
    }
}
