//! How large a box is: what a person writes, and words for it.

use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay, skip_serializing_none};

use crate::readable_numbers::bytes;

/// A limited part of the machine; what is left out is not limited.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Processor time for each second, in processors.
    pub cpu_quota: Option<Cpus>,
    /// The most memory; a process that needs more is killed.
    pub memory_max: Option<MemoryMax>,
}

impl Size {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As a reader knows it: `0.5 CPUs, 64 MiB`.
    pub fn words(&self) -> String {
        let quota = self.cpu_quota.map(|cpus| cpus.words());
        let memory = self.memory_max.map(|memory| memory.words());
        quota.into_iter().chain(memory).collect::<Vec<_>>().join(", ")
    }
}

/// Processor time for each second, in thousandths of a processor; a person writes it in processors: `0.5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Cpus(pub u32);

impl Cpus {
    /// The smallest and the largest, in thousandths: the kernel takes no less than 1 ms of its period of 100 ms.
    pub const RANGE: (u64, u64) = (10, 1_024_000);

    /// In processors.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1e3
    }

    /// `0.5 CPUs`, `1 CPU`.
    pub fn words(self) -> String {
        let value = self.value();
        format!("{value} CPU{}", if self.0 == 1_000 { "" } else { "s" })
    }
}

impl TryFrom<f64> for Cpus {
    type Error = String;

    fn try_from(cpus: f64) -> Result<Self, String> {
        let milli = (cpus * 1e3).round();
        let (least, most) = Self::RANGE;
        if milli >= least as f64 && milli <= most as f64 {
            Ok(Self(milli as u32))
        } else {
            Err(format!("{cpus} CPUs are out of range; give {} to {}", least as f64 / 1e3, most / 1_000))
        }
    }
}

impl From<Cpus> for f64 {
    fn from(cpus: Cpus) -> Self {
        cpus.value()
    }
}

impl From<Cpus> for u64 {
    fn from(cpus: Cpus) -> Self {
        cpus.0.into()
    }
}

/// Memory in bytes; a person writes it as `"64MiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, SerializeDisplay, DeserializeFromStr)]
pub struct MemoryMax(pub u64);

const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];

impl MemoryMax {
    /// The smallest and the largest, in bytes. No server starts in less.
    pub const RANGE: (u64, u64) = (1 << 20, 1 << 50);

    /// `64 MiB`.
    pub fn words(self) -> String {
        match UNITS.into_iter().find(|(_, bits)| self.0.is_multiple_of(1 << bits)) {
            Some((unit, bits)) => format!("{} {unit}", self.0 >> bits),
            None => bytes(self.0 as f64),
        }
    }
}

impl std::str::FromStr for MemoryMax {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no amount of memory; give one such as \"64MiB\" or \"1GiB\"");
        let (unit, bits) =
            UNITS.into_iter().find(|(unit, _)| text.trim().ends_with(unit)).ok_or_else(wrong)?;
        let number = text.trim().trim_end_matches(unit).trim().parse::<u64>().map_err(|_| wrong())?;
        let bytes = number.checked_mul(1 << bits).ok_or_else(wrong)?;
        let (least, most) = Self::RANGE;
        if (least..=most).contains(&bytes) {
            Ok(Self(bytes))
        } else {
            Err(format!("{text} is out of range; give {}MiB to {}GiB", least >> 20, most >> 30))
        }
    }
}

impl std::fmt::Display for MemoryMax {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (unit, bits) =
            UNITS.into_iter().find(|(_, bits)| self.0.is_multiple_of(1 << bits)).unwrap_or(UNITS[2]);
        write!(f, "{}{unit}", self.0 >> bits)
    }
}

impl From<MemoryMax> for u64 {
    fn from(memory: MemoryMax) -> Self {
        memory.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_read_and_written_alike() {
        let text = "cpu_quota = 1.5\nmemory_max = \"64MiB\"\n";
        let size: Size = toml::from_str(text).unwrap();
        assert_eq!((size.cpu_quota, size.memory_max), (Some(Cpus(1_500)), Some(MemoryMax(64 << 20))));
        assert_eq!(toml::to_string(&size).unwrap(), text);
        assert_eq!(size.words(), "1.5 CPUs, 64 MiB");
        assert_eq!(toml::from_str::<Size>("cpu_quota = 1").unwrap().words(), "1 CPU");
    }

    #[test]
    fn what_is_no_size_is_named() {
        for (text, says) in [
            ("cpu_quota = 0", "out of range"),
            ("cpu_quota = -1", "out of range"),
            ("cpu_quota = nan", "out of range"),
            ("memory_max = \"64\"", "no amount of memory"),
            ("memory_max = \"-1MiB\"", "no amount of memory"),
            ("memory_max = \"1KiB\"", "out of range"),
            ("memory = \"1MiB\"", "unknown field"),
        ] {
            let said = toml::from_str::<Size>(text).unwrap_err().to_string();
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
