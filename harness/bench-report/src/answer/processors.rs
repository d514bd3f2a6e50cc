//! Short names of processors.

/// Server processors by vendor, family and model as `lscpu` numbers them, by the name of their cores.
const CORES: [(&str, u32, u32, &str); 12] = [
    ("AMD", 23, 49, "Zen 2"),
    ("AMD", 25, 1, "Zen 3"),
    ("AMD", 25, 17, "Zen 4"),
    ("AMD", 25, 160, "Zen 4c"),
    ("AMD", 26, 2, "Zen 5"),
    ("AMD", 26, 17, "Zen 5c"),
    ("Intel", 6, 106, "Ice Lake"),
    ("Intel", 6, 143, "Sapphire Rapids"),
    ("Intel", 6, 167, "Rocket Lake"),
    ("Intel", 6, 173, "Granite Rapids"),
    ("Intel", 6, 175, "Sierra Forest"),
    ("Intel", 6, 207, "Emerald Rapids"),
];

/// `Zen 4` for `AMD EPYC (family 25, model 17)`; `AMD EPYC 25/99` where the name is not known, and the whole where it
/// has no such numbers.
pub(crate) fn short(processor: &str) -> String {
    let parts = || {
        let (name, rest) = processor.split_once(" (family ")?;
        let (family, model) = rest.strip_suffix(')')?.split_once(", model ")?;
        Some((name, family.parse::<u32>().ok()?, model.parse::<u32>().ok()?))
    };
    let Some((name, family, model)) = parts() else { return processor.to_owned() };
    let is_it = |(vendor, of, number, _): &&(&str, u32, u32, &str)| {
        name.starts_with(vendor) && (*of, *number) == (family, model)
    };
    CORES
        .iter()
        .find(is_it)
        .map_or_else(|| format!("{name} {family}/{model}"), |(.., core)| (*core).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_has_the_name_of_its_cores_where_that_is_known() {
        assert_eq!(short("AMD EPYC (family 25, model 17)"), "Zen 4");
        assert_eq!(short("Intel Xeon (family 6, model 167)"), "Rocket Lake");
        assert_eq!(short("AMD EPYC (family 6, model 167)"), "AMD EPYC 6/167", "another vendor's number");
        assert_eq!(short("Intel Xeon (family 6, model 16)"), "Intel Xeon 6/16");
        assert_eq!(short("Neoverse-N1"), "Neoverse-N1");
    }
}
