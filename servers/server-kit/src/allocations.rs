//! Counts what a process allocates: the system's allocator with two counters.
//!
//! Only in a build with the feature `count-allocations`, and never in one that is timed: the counters are shared by all
//! threads, and cost more than what they count.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// What was allocated so far, by all threads. What was given back is not taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocations {
    /// Calls of the allocator for new or larger or smaller memory.
    pub count: u64,
    /// Requested bytes; of memory that grew, the difference.
    pub bytes: u64,
}

/// What this process has allocated so far.
pub fn allocations() -> Allocations {
    Allocations { count: ALLOCATIONS.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
}

fn count(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
}

struct Counting;

// SAFETY: every call is handed on to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the promises of `alloc`, which are those of the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size.saturating_sub(layout.size()));
        // SAFETY: as for `alloc`; `old` came from the system's allocator, since all calls do.
        unsafe { System.realloc(old, layout, new_size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as for `realloc`.
        unsafe { System.dealloc(old, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_is_counted() {
        let before = allocations();
        let mut bytes = std::hint::black_box(Vec::<u8>::with_capacity(1_000_000));
        bytes.reserve_exact(3_000_000);
        let after = allocations();
        assert!(after.count >= before.count + 2, "{before:?} {after:?}");
        assert!(after.bytes >= before.bytes + 3_000_000, "{before:?} {after:?}");
    }
}
