//! The allocator of a server, and its name for the ready line.
//!
//! A validator runs on jemalloc, and frameworks allocate unequally often: so all servers are built with the same one.

/// The allocator that this build runs on.
pub(crate) const NAME: &str = if cfg!(feature = "jemalloc") { "jemalloc" } else { "system" };

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
