//! A network between load tool and server, as a person writes it: `network = { delay_ms = 1, loss = "0.1%" }`.

use std::time::Duration;

use anyhow::{Error, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Campaign, Percent};

/// The longest delay in one direction, in milliseconds.
const MOST_DELAY_MS: f64 = 500.0;

/// The largest share of packets that may be lost.
const MOST_LOSS: f64 = 0.2;

/// A network between the load tool and a server, each in a network namespace of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Network {
    delay_us: u32,
    /// Lost packets in a million.
    loss_ppm: u32,
}

#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    delay_ms: f64,
    loss: Option<Percent>,
}

impl Network {
    /// How long a packet takes in each direction; a round trip takes twice as long.
    pub fn delay(self) -> Duration {
        Duration::from_micros(self.delay_us.into())
    }

    /// The share of packets that are lost in each direction, from 0 to 1.
    pub fn loss(self) -> f64 {
        f64::from(self.loss_ppm) / 1e6
    }

    /// What a reader knows it by, such as `1 ms each way, 0.1 % lost`.
    pub fn words(self) -> String {
        let delay = format!("{} ms each way", f64::from(self.delay_us) / 1e3);
        match self.loss_ppm {
            0 => delay,
            ppm => format!("{delay}, {} % lost", f64::from(ppm) / 1e4),
        }
    }
}

impl TryFrom<Written> for Network {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        let delay_ms = written.delay_ms;
        let loss = written.loss.unwrap_or_default();
        ensure!(
            (0.0..=MOST_DELAY_MS).contains(&delay_ms),
            "network.delay_ms must be from 0 to {MOST_DELAY_MS}, in each direction, and is {delay_ms}"
        );
        ensure!(
            (0.0..=MOST_LOSS).contains(&loss.0),
            "network.loss must be up to {}%, of the packets of each direction, and is {loss}",
            MOST_LOSS * 100.0
        );
        Ok(Self { delay_us: (delay_ms * 1e3).round() as u32, loss_ppm: (loss.0 * 1e6).round() as u32 })
    }
}

impl From<Network> for Written {
    fn from(network: Network) -> Self {
        let loss = (network.loss_ppm > 0).then(|| Percent(network.loss()));
        Self { delay_ms: f64::from(network.delay_us) / 1e3, loss }
    }
}

impl Campaign {
    /// Whether the campaign names a network between load tool and any of its servers.
    pub fn has_network(&self) -> bool {
        self.environment.network.is_some() || self.arms.iter().any(|arm| arm.settings.network.is_some())
    }
}

/// Both numbers in one, so that settings compare alike: microseconds above, lost packets in a million in the lower
/// half.
impl From<Network> for u64 {
    fn from(network: Network) -> Self {
        Self::from(network.delay_us) << 32 | Self::from(network.loss_ppm)
    }
}

/// Back from that number.
impl From<u64> for Network {
    fn from(both: u64) -> Self {
        Self { delay_us: (both >> 32) as u32, loss_ppm: both as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::each_is_refused;

    fn read(text: &str) -> std::result::Result<Network, String> {
        #[derive(Deserialize)]
        struct Table {
            network: Network,
        }
        let table: std::result::Result<Table, _> = toml::from_str(&format!("network = {text}"));
        table.map(|table| table.network).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_network_is_read_and_written_as_it_was() {
        let network = read(r#"{ delay_ms = 0.2, loss = "0.1%" }"#).unwrap();
        assert_eq!((network.delay(), network.loss()), (Duration::from_micros(200), 0.001));
        assert_eq!(network.words(), "0.2 ms each way, 0.1 % lost");
        assert_eq!(Network::from(u64::from(network)), network);
        let text = serde_json::to_string(&network).unwrap();
        assert_eq!(serde_json::from_str::<Network>(&text).unwrap(), network, "{text}");
        assert_eq!(read("{ delay_ms = 20 }").unwrap().words(), "20 ms each way");
    }

    #[test]
    fn rubbish_in_a_network_is_named_in_one_line() {
        each_is_refused("networks", "{}", read);
    }
}
