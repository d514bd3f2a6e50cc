//! Boxes of several sizes: every server in each of them, at rates and in a closed loop, and what boxes cost.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Campaign, Overrides, Percent, Server};
use crate::field_checks::{distinct, known, within};
use bench_system::cgroup::{Cpus, Cpuset, MemoryMax, Size};

/// The `[sizes]` table of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// The service level: the 99th percentile of latency, from the moment at which a request was meant to be sent, lies
    /// below this, in milliseconds; and no request fails.
    pub p99_ms: u64,
    /// The service level: how far the achieved rate may fall short of the requested one.
    pub shortfall: Percent,
    /// The rates among which the highest is searched that a box holds, in requests a second, rising.
    pub rates: Vec<u32>,
    /// Those of them that every box gets, whatever it holds.
    pub always: Vec<u32>,
    /// Those of them for which the smallest box is named.
    pub to_hold: Vec<u32>,
    /// Windows that must meet the level before a box counts as holding a rate; one in runs that do not say.
    #[serde(default = "one")]
    pub windows_to_hold: usize,
    /// Connections that the load tool holds at most, at a rate.
    pub connections: u32,
    /// Connections of the closed loop.
    pub closed_connections: u32,
    /// The boxes.
    pub boxes: Vec<SizedBox>,
    /// What boxes cost; as in `prices.toml` where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

const fn one() -> usize {
    1
}

/// A box.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizedBox {
    /// See [`Size::cpu_quota`].
    pub cpu_quota: Option<Cpus>,
    /// See [`Size::cpuset`].
    pub cpuset: Option<Cpuset>,
    /// See [`Size::memory_max`].
    pub memory_max: Option<MemoryMax>,
    /// Whether the server chooses its number of threads by what it sees of the box; the campaign's where left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default_threads: bool,
}

impl SizedBox {
    /// What the kernel lets the server have.
    pub fn size(&self) -> Size {
        let Self { cpu_quota, cpuset, memory_max, .. } = *self;
        Size { cpu_quota, cpuset, memory_max }
    }

    /// As a reader knows it.
    pub fn words(&self) -> String {
        let threads = if self.default_threads { ", its own threads" } else { "" };
        format!("{}{threads}", self.size().words())
    }

    /// What orders boxes from small to large: processors, then memory. What is not limited is larger than any limit.
    pub fn order(&self) -> (u64, u64) {
        let milli = self.size().cpus().map_or(u64::MAX, |cpus| (cpus * 1e3).round() as u64);
        (milli, self.memory_max.map_or(u64::MAX, u64::from))
    }
}

/// `prices.toml`: what boxes cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// In which money, such as `USD`.
    pub currency: String,
    /// The offers.
    pub offers: Vec<Offer>,
}

/// How an offer prices a box: by what is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// What a reader knows it by.
    pub name: String,
    /// For one processor for an hour.
    pub cpu_hour: f64,
    /// For one GiB of memory for an hour.
    pub gib_hour: f64,
}

impl Offer {
    /// What a box costs for an hour; `None` where its processors or its memory are not limited.
    pub fn hour(&self, of: &SizedBox) -> Option<f64> {
        let gib = of.memory_max?.0 as f64 / f64::from(1 << 30);
        Some(of.size().cpus()? * self.cpu_hour + gib * self.gib_hour)
    }

    /// What a million requests cost at that many a second.
    pub fn million(&self, of: &SizedBox, rate: u32) -> Option<f64> {
        Some(self.hour(of)? / (f64::from(rate) * 3_600.0) * 1e6)
    }
}

impl Prices {
    /// Whether the prices make sense.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn check(&self) -> Result<()> {
        let names: Vec<&str> = self.offers.iter().map(|offer| offer.name.as_str()).collect();
        distinct("offers.name", &names)?;
        for Offer { name, cpu_hour, gib_hour } in &self.offers {
            let are_prices = [cpu_hour, gib_hour].iter().all(|price| price.is_finite() && **price >= 0.0);
            ensure!(
                are_prices && cpu_hour + gib_hour > 0.0,
                "field offers: cpu_hour and gib_hour of {name:?} are no prices; give numbers from 0 up, not both 0"
            );
        }
        Ok(())
    }
}

impl Sizes {
    /// The name of a server in a box.
    pub fn arm(server: &str, of: &SizedBox) -> String {
        let threads = if of.default_threads { "-own-threads" } else { "" };
        format!("{server}-{}{threads}", of.size().key())
    }

    /// A server in a box.
    pub fn inside(server: &Server, of: &SizedBox) -> Server {
        let Size { cpu_quota, cpuset, memory_max } = of.size();
        let left_out: &[&str] = if of.default_threads { &["threads"] } else { &[] };
        Server {
            name: Self::arm(&server.name, of),
            label: Some(format!("{} in {}", server.label(), of.words())),
            overrides: Overrides { cpu_quota, cpuset, memory_max, ..server.overrides.clone() },
            args: server.args_without(left_out),
            ..server.clone()
        }
    }

    /// Whether the fields make sense together.
    ///
    /// # Errors
    /// One line with the field.
    pub(super) fn check(&self, campaign: &Campaign) -> Result<()> {
        let others = campaign.open.is_some() || campaign.slo.is_some();
        ensure!(
            !others && !campaign.has_closed_loop(),
            "table [sizes]: the campaign also has other loads (connections, [open], [duets], [threshold] or [slo]); \
             give the boxes a campaign of their own and write connections = []"
        );
        within("max_blocks", campaign.max_blocks.into(), 1, 100)?;
        campaign.environment.check_all_cores("a rate needs its")?;
        ensure!(
            campaign.environment.size().is_empty(),
            "fields environment.cpu_quota, cpuset and memory_max: sizes.boxes says what a server may have; leave them \
             out"
        );
        let can = campaign.tool.can();
        ensure!(can.open_loop, "field tool: {} holds no rate; give tool = \"rpc-load\"", can.name);
        within("sizes.p99_ms", self.p99_ms, 1, campaign.timeout_ms)?;
        distinct("sizes.rates", &self.rates)?;
        ensure!(self.rates.is_sorted(), "field sizes.rates: do not rise; write them from low to high");
        self.rates.iter().try_for_each(|rate| within("sizes.rates", (*rate).into(), 1, 1_000_000))?;
        known("sizes.always", &self.always, "sizes.rates", &self.rates)?;
        known("sizes.to_hold", &self.to_hold, "sizes.rates", &self.rates)?;
        within("sizes.windows_to_hold", self.windows_to_hold as u64, 1, 2)?;
        within("sizes.connections", self.connections.into(), 1, 60_000)?;
        within("sizes.closed_connections", self.closed_connections.into(), 1, 60_000)?;
        distinct("sizes.boxes", &self.boxes)?;
        ensure!(
            self.boxes.iter().all(|of| !of.size().is_empty()),
            "field sizes.boxes: one has no cpu_quota, no cpuset and no memory_max; give it one of them"
        );
        self.prices.iter().try_for_each(Prices::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigDir;

    fn shipped() -> (ConfigDir, Campaign) {
        let config = ConfigDir::of_repository();
        let campaign = config.campaign("sizes").unwrap().0;
        (config, campaign)
    }

    #[test]
    fn a_server_in_a_box_is_limited_and_otherwise_the_same() {
        let (config, campaign) = shipped();
        let actix = config.server("actix").unwrap();
        let of = SizedBox {
            cpu_quota: Some(Cpus(1_500)),
            memory_max: Some(MemoryMax(64 << 20)),
            ..SizedBox::default()
        };
        let boxed = Sizes::inside(&actix, &of);
        assert_eq!(boxed.name, "actix-1.5cpu-64MiB");
        assert!(boxed.label().ends_with("in 1.5 CPUs, 64 MiB"), "{}", boxed.label());
        assert_eq!(campaign.environment.with(&boxed.overrides).size(), of.size());
        assert_eq!(boxed.args, actix.args);
        let own = Sizes::inside(&actix, &SizedBox { default_threads: true, ..of });
        assert_eq!(own.name, "actix-1.5cpu-64MiB-own-threads");
        assert!(!own.args.iter().any(|arg| arg.contains("threads")), "{:?}", own.args);
        assert_eq!(own.args.len() + 2, actix.args.len());
    }

    #[test]
    fn a_box_that_stands_twice_or_limits_nothing_is_refused() {
        let (_, campaign) = shipped();
        let refused = |boxes: Vec<SizedBox>| {
            let sizes = Sizes { boxes, ..campaign.sizes.clone().unwrap() };
            sizes.check(&campaign).unwrap_err().to_string()
        };
        let of = SizedBox { cpu_quota: Some(Cpus(500)), ..SizedBox::default() };
        assert!(refused(vec![of, of]).contains("field sizes.boxes"), "{}", refused(vec![of, of]));
        let nothing = SizedBox { default_threads: true, ..SizedBox::default() };
        assert!(refused(vec![of, nothing]).contains("field sizes.boxes: one has no cpu_quota"));
        // What a server does in a box is a name of its own.
        let own = SizedBox { default_threads: true, ..of };
        let sizes = Sizes { boxes: vec![of, own], ..campaign.sizes.clone().unwrap() };
        sizes.check(&campaign).unwrap();
    }

    #[test]
    fn a_million_requests_cost_what_the_box_costs_for_their_time() {
        let offer = Offer { name: "x".to_owned(), cpu_hour: 0.04, gib_hour: 0.01 };
        let of = SizedBox {
            cpu_quota: Some(Cpus(500)),
            memory_max: Some(MemoryMax(1 << 29)),
            ..SizedBox::default()
        };
        assert!((offer.hour(&of).unwrap() - 0.025).abs() < 1e-12);
        // 1,000/s are 3.6 million an hour.
        assert!((offer.million(&of, 1_000).unwrap() - 0.025 / 3.6).abs() < 1e-12);
        assert_eq!(
            offer.hour(&SizedBox { memory_max: None, ..of }),
            None,
            "memory without a limit has no price"
        );
        let set = SizedBox { cpu_quota: None, cpuset: Some(Cpuset(0b11)), ..of };
        assert!(set.order() > of.order());
    }

    #[test]
    fn the_shipped_prices_are_prices() {
        let (config, campaign) = shipped();
        let prices = config.prices().unwrap();
        assert!(!prices.offers.is_empty());
        assert!(campaign.sizes.unwrap().prices.is_some(), "they are kept with the run");
        let free = Prices {
            offers: vec![Offer { cpu_hour: 0.0, gib_hour: 0.0, ..prices.offers[0].clone() }],
            ..prices
        };
        assert!(free.check().unwrap_err().to_string().contains("no prices"));
    }
}
