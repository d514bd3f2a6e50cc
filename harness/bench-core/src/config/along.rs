//! What cells stand along: the axes of a campaign, by their names, and figures.

use anyhow::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Overrides;
use super::server_settings::is_number;
use crate::figure::Figure;

/// What an axis names that is no setting.
pub(super) const SERVER: &str = "server";
pub(super) const WORKLOAD: &str = "workload";
pub(super) const CONNECTIONS: &str = "connections";
pub(super) const RATE: &str = "rate";
pub(super) const TOOL: &str = "tool";

/// All of them.
pub(super) const NO_SETTINGS: [&str; 5] = [SERVER, WORKLOAD, CONNECTIONS, RATE, TOOL];

/// The figure of a network's axis, by its name in a campaign.
const ROUND_TRIP: &str = "network.round_trip";

/// The axis that an open loop with a background load has, by its name in a view.
pub(super) const BACKGROUND: &str = "background";

/// What cells are ordered or told by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Along {
    /// The server's entry in `servers.toml`.
    Server,
    /// The request.
    Workload,
    /// Connections, or requests a second in an open loop.
    Load,
    /// The load tool.
    Tool,
    /// Whether the background load of an open loop runs as well.
    Background,
    /// A setting that an arm may have.
    Setting(&'static str),
    /// An axis of variants in `servers.toml`.
    Variant(String),
    /// A figure.
    Figure(Figure),
}

impl Along {
    /// Its name in a campaign.
    pub fn name(&self) -> String {
        match self {
            Self::Server => SERVER.to_owned(),
            Self::Workload => WORKLOAD.to_owned(),
            Self::Load => CONNECTIONS.to_owned(),
            Self::Tool => TOOL.to_owned(),
            Self::Background => BACKGROUND.to_owned(),
            Self::Setting(name) => (*name).to_owned(),
            Self::Variant(name) => name.clone(),
            Self::Figure(figure) => figure.name(),
        }
    }

    /// Whether its values are numbers.
    pub(super) fn is_number(&self) -> bool {
        match self {
            Self::Load | Self::Figure(_) => true,
            Self::Setting(name) => is_number(name),
            Self::Server | Self::Workload | Self::Tool | Self::Background | Self::Variant(_) => false,
        }
    }

    /// The axis or figure of that name that every campaign may have.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            SERVER => Self::Server,
            WORKLOAD => Self::Workload,
            CONNECTIONS | RATE => Self::Load,
            TOOL => Self::Tool,
            BACKGROUND => Self::Background,
            ROUND_TRIP => Self::Figure(Figure::RoundTripUs),
            name => match Overrides::names().find(|known| *known == name) {
                Some(setting) => Self::Setting(setting),
                None => Self::Figure(Figure::named(name)?),
            },
        })
    }
}

/// Reads a value, or those of a list.
pub(super) fn one_or_many<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let values = one_or_several(&Value::deserialize(deserializer)?).to_vec();
    serde_json::from_value(Value::Array(values)).map_err(serde::de::Error::custom)
}

/// A value, or those of a list.
pub(super) fn one_or_several(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// What a name in a bound stands for, and what its value is multiplied by: a figure of microseconds is in seconds
/// without its unit.
pub fn variable(name: &str) -> Option<(Along, f64)> {
    let name = if name == ROUND_TRIP { "round_trip" } else { name };
    let seconds = || Some((Along::named(&format!("{name}_us"))?, 1e-6));
    Along::named(name).map(|along| (along, 1.0)).or_else(seconds)
}
