//! A share that a person writes as a percentage: `"2%"`.

use serde::{Deserialize, Deserializer};
use serde_with::{DeserializeFromStr, SerializeDisplay};

/// A share; 0.02 for `"2%"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, SerializeDisplay, DeserializeFromStr)]
pub struct Percent(pub f64);

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Ten-thousandths of a percent are finer than anything that is requested, and hide what binary fractions add.
        write!(f, "{}%", (self.0 * 1e6).round() / 1e4)
    }
}

impl std::str::FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::up_to(50.0, text)
    }
}

impl Percent {
    /// Reads a percentage from 0.1 to `most`.
    fn up_to(most: f64, text: &str) -> Result<Self, String> {
        let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        match number {
            Some(number) if (0.1..=most).contains(&number) => Ok(Self(number / 100.0)),
            Some(_) => Err(format!("{text} is out of range; give \"0.1%\" to \"{most}%\"")),
            None => Err(format!("{text:?} is no percentage; give one such as \"2%\"")),
        }
    }

    /// A share that may be all: `"100%"`.
    ///
    /// # Errors
    /// It is no percentage from 0.1 to 100.
    pub fn share(text: &str) -> Result<Self, String> {
        Self::up_to(100.0, text)
    }

    /// For a field with such a share.
    pub(super) fn up_to_all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::share(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_read_and_written_alike() {
        for text in ["2%", "0.5%", "12.25%", "0.125%", "50%"] {
            assert_eq!(text.parse::<Percent>().unwrap().to_string(), text);
        }
        for text in ["", "2", "0%", "-1%", "51%", "two%", "NaN%", "%"] {
            assert!(text.parse::<Percent>().is_err(), "{text}");
        }
        assert_eq!(Percent::up_to(100.0, "100%"), Ok(Percent(1.0)));
        assert!(Percent::up_to(100.0, "101%").is_err());
    }
}
