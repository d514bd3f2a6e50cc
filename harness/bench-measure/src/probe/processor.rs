//! What a processor is. Its name alone says little: a hypervisor's guests of several generations may all read "Intel(R)
//! Xeon(R) Processor".

use bench_core::machine::Processor;
use std::path::Path;

use procfs::CpuInfo;

use crate::kernel_files::text;

/// From what the kernel says of the first processor; `None` where it names no maker.
pub fn of(info: &CpuInfo) -> Option<Processor> {
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
    Some(Processor {
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
