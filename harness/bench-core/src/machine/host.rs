//! The machine that a run was made on, and what it did meanwhile.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::counted;

/// What of a machine decides figures. Names no person, no path and no address.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// What the processor calls itself.
    pub cpu: String,
    /// What it is: its name alone says little. None in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<Processor>,
    /// Processors that this process may use.
    pub cores: usize,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Open files that a process may hold.
    pub open_files: u64,
    /// First and last port that a client may connect from.
    pub client_ports: Option<(u16, u16)>,
    /// Longest accept queue that the kernel grants (`somaxconn`).
    pub max_backlog: Option<u64>,
    /// The processor that placement `one-core` puts server and load tool on: the last that this process may use.
    pub one_core: Option<usize>,
    /// The compiler.
    pub rustc: Option<String>,
    /// The commit that was measured, with `+` where files had changed since.
    pub commit: Option<String>,
    /// The files that git tracks and that had changed since, by their paths in the repository; none where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_files: Option<Vec<String>>,
}

impl Host {
    /// The processor for readers: by vendor, family and model where these are known, such as `AMD EPYC (family 25,
    /// model 17)`.
    pub fn processor_name(&self) -> String {
        self.processor.as_ref().map_or_else(|| self.cpu.clone(), |processor| processor.name(&self.cpu))
    }
}

/// The first processor of this machine.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    /// Its maker, as it says: `GenuineIntel`, `AuthenticAMD`; of ARM the implementer's number.
    pub vendor: String,
    /// Family; of ARM the architecture.
    pub family: Option<String>,
    /// Model; of ARM the part's number.
    pub model: Option<String>,
    /// Revision of the model.
    pub stepping: Option<String>,
    /// Revision of the microcode, as the hypervisor shows it.
    pub microcode: Option<String>,
    /// The caches that it has a part in, from the nearest: `L1 Data 32K`.
    #[serde(default)]
    pub caches: Vec<String>,
    /// What it can do, by the kernel's names, sorted.
    #[serde(default)]
    pub flags: Vec<String>,
    /// The hypervisor by its own name, or `yes` where there is one without a name; none where there is none.
    pub hypervisor: Option<String>,
}

impl Processor {
    /// Its name for readers, from what it calls itself: `Intel Xeon (family 6, model 143)`.
    pub fn name(&self, cpu: &str) -> String {
        let maker = match self.vendor.as_str() {
            "GenuineIntel" => "Intel",
            "AuthenticAMD" => "AMD",
            "HygonGenuine" => "Hygon",
            "0x41" => "ARM",
            other => other,
        };
        // A clock rate is a setting, and the rest says nothing.
        let own = cpu.split('@').next().unwrap_or(cpu).replace("(R)", "").replace("(TM)", "");
        let words = own.split_whitespace().filter(|word| !["Processor", "CPU", maker].contains(word));
        let own: Vec<&str> = words.filter(|word| *word != "unknown").collect();
        let mut name = [&[maker], own.as_slice()].concat().join(" ");
        if let (Some(family), Some(model)) = (&self.family, &self.model) {
            name.push_str(&format!(" (family {family}, model {model})"));
        }
        name
    }
}

/// Steal above this share of the processors' time makes a trial invalid, unless its campaign states another one.
pub const MUCH_STEAL: f64 = 0.02;

/// What the machine has done since it started; the difference of two readings says what it did meanwhile.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HostActivity {
    /// CPU time in which a processor worked, summed over processors, in seconds.
    pub busy_s: Option<f64>,
    /// CPU time that the hypervisor gave to others (steal), in seconds.
    pub steal_s: Option<f64>,
    /// The share of the processors' time that may be stolen, where the campaign states it.
    pub steal_limit: Option<f64>,
    /// Periods in which the control group was held back (throttled).
    pub throttled_periods: Option<u64>,
    /// Time in which some task had to wait for a processor (`some` of /proc/pressure/cpu), in microseconds.
    pub cpu_pressure_us: Option<u64>,
    /// Time in which some task had to wait for memory (`some` of /proc/pressure/memory), in microseconds.
    pub memory_pressure_us: Option<u64>,
    /// Time for which the control group was held back, in microseconds.
    pub throttled_us: Option<u64>,
}

impl HostActivity {
    /// What happened between an earlier reading and this one.
    pub fn since(self, earlier: Self) -> Self {
        let grown = |now: Option<f64>, then: Option<f64>| Some(now? - then?);
        Self {
            busy_s: grown(self.busy_s, earlier.busy_s),
            steal_s: grown(self.steal_s, earlier.steal_s),
            steal_limit: None,
            throttled_periods: counted(self.throttled_periods, earlier.throttled_periods),
            cpu_pressure_us: counted(self.cpu_pressure_us, earlier.cpu_pressure_us),
            memory_pressure_us: counted(self.memory_pressure_us, earlier.memory_pressure_us),
            throttled_us: counted(self.throttled_us, earlier.throttled_us),
        }
    }
}
