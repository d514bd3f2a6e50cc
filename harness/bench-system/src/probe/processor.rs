//! What a processor is. Its name alone says little: a hypervisor's guests of several generations may all read "Intel(R)
//! Xeon(R) Processor".

use std::path::Path;

use procfs::CpuInfo;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::kernel_files::text;

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
    /// From what the kernel says of the first processor; `None` where it names no maker.
    pub fn of(info: &CpuInfo) -> Option<Self> {
        let field = |names: [&str; 2]| {
            let found = names.iter().find_map(|name| info.get_field(0, name));
            found.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let mut flags: Vec<String> = field(["flags", "Features"])
            .map_or_else(Vec::new, |flags| flags.split_whitespace().map(str::to_owned).collect());
        flags.sort();
        flags.dedup();
        let is_guest = flags.iter().any(|flag| flag == "hypervisor");
        let named = text("/sys/hypervisor/type").or_else(|| text("/sys/class/dmi/id/sys_vendor"));
        Some(Self {
            vendor: field(["vendor_id", "CPU implementer"])?,
            family: field(["cpu family", "CPU architecture"]),
            model: field(["model", "CPU part"]),
            stepping: field(["stepping", "CPU revision"]),
            microcode: field(["microcode", "microcode"]),
            caches: caches(),
            hypervisor: is_guest.then(|| named.unwrap_or_else(|| "yes".to_owned())),
            flags,
        })
    }

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

/// The caches of the first processor, from the nearest.
fn caches() -> Vec<String> {
    let folder = Path::new("/sys/devices/system/cpu/cpu0/cache");
    let cache = |index: u32| {
        let of = folder.join(format!("index{index}"));
        let field = |name: &str| text(of.join(name));
        Some(format!("L{} {} {}", field("level")?, field("type")?, field("size")?))
    };
    (0..16).map_while(cache).collect()
}
