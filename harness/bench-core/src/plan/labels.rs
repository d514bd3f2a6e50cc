//! What a reader knows servers by.

use super::Plan;

impl Plan {
    /// What a reader knows an entry of `servers.toml` by, several subjects of which may be measured: what their labels
    /// begin with before they name settings, in short. The entry's own name where none is measured.
    pub fn label_of_entry(&self, entry: &str) -> String {
        let mut entries: Vec<&str> = Vec::new();
        for server in &self.servers {
            let own = self.campaign.entry_of(&server.name);
            if !entries.contains(&own) {
                entries.push(own);
            }
        }
        let labels: Vec<&str> = entries.iter().map(|entry| self.common_label(entry)).collect();
        let place = entries.iter().position(|known| *known == entry);
        place.map_or_else(|| entry.to_owned(), |place| short_labels(&labels).swap_remove(place))
    }

    /// What the labels of an entry's subjects begin with; the entry's name where it has none.
    fn common_label<'a>(&'a self, entry: &'a str) -> &'a str {
        let subjects = self.servers.iter().filter(|server| self.campaign.entry_of(&server.name) == entry);
        let mut labels = subjects.map(|server| {
            let settings = format!(", {}", server.overrides.words());
            server.label().strip_suffix(&settings).unwrap_or(server.label())
        });
        let first = labels.next().unwrap_or(entry);
        labels.fold(first, common_beginning)
    }
}

/// Labels without what stands behind a plus, where each is still the only one of its name.
pub fn short_labels(labels: &[&str]) -> Vec<String> {
    let all = labels.iter().map(|label| label.split(" + ").next().unwrap_or(label));
    let all: Vec<&str> = all.collect();
    let is_alone = |name: &str| all.iter().filter(|other| **other == name).count() == 1;
    let names = labels.iter().zip(&all);
    names.map(|(label, name)| if is_alone(name) { *name } else { *label }.to_owned()).collect()
}

/// The parts between commas that two labels begin with; the shorter label where they share none.
pub(super) fn common_beginning<'a>(one: &'a str, other: &'a str) -> &'a str {
    let parts = one.split(", ").zip(other.split(", ")).take_while(|(one, other)| one == other);
    let length = parts.map(|(part, _)| part.len() + ", ".len()).sum::<usize>();
    let shorter = if one.len() <= other.len() { one } else { other };
    length.checked_sub(", ".len()).and_then(|length| one.get(..length)).unwrap_or(shorter)
}
