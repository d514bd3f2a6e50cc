//! Links between namespaces of this machine. They need root, and say so where they are skipped.

use std::net::UdpSocket;

use super::*;

const MS: Duration = Duration::from_millis(1);

/// A link; `None` where this user may not make one.
fn link(delay: Duration, loss: f64) -> Option<Link> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: network namespaces need root");
        return None;
    }
    match Link::new(delay, loss) {
        Ok(link) => Some(link),
        Err(error) => {
            let said = format!("{error:#}");
            assert!(said.contains("netem") && said.lines().count() == 1, "{said}");
            eprintln!("SKIPPED: {said}");
            None
        }
    }
}

/// The numbers of the datagrams that come through, in order.
fn numbers_through(link: &Link, sent: u32) -> Vec<u32> {
    let server = link.server.inside(|| UdpSocket::bind((SERVER, 0))).unwrap().unwrap();
    server.set_read_timeout(Some(300 * MS)).unwrap();
    let to = server.local_addr().unwrap();
    let client = link.load.inside(|| UdpSocket::bind((LOAD, 0))).unwrap().unwrap();
    let mut read = Vec::new();
    let mut bytes = [0; 4];
    // A few at a time, so that no socket's buffer runs over.
    for batch in (0..sent).collect::<Vec<_>>().chunks(50) {
        batch.iter().for_each(|number| assert_eq!(client.send_to(&number.to_ne_bytes(), to).unwrap(), 4));
        std::thread::sleep(5 * MS);
        server.set_nonblocking(true).unwrap();
        while let Ok(4) = server.recv(&mut bytes) {
            read.push(u32::from_ne_bytes(bytes));
        }
    }
    server.set_nonblocking(false).unwrap();
    while let Ok(4) = server.recv(&mut bytes) {
        read.push(u32::from_ne_bytes(bytes));
    }
    read
}

#[test]
fn packets_keep_their_order_and_the_share_that_is_lost_is_that_of_the_network() {
    let Some(link) = link(MS, 0.1) else { return };
    let read = numbers_through(&link, 2_000);
    assert!(read.is_sorted(), "out of order");
    let lost = 2_000 - read.len();
    // Three standard deviations of 2,000 draws with 0.1 each are 40.
    assert!((160..=240).contains(&lost), "{lost}");
}

#[test]
fn the_ends_see_each_other_and_nothing_else() {
    let Some(link) = link(Duration::ZERO, 0.0) else { return };
    let devices = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let here = devices();
    for end in [&link.server, &link.load] {
        let inside = end.inside(devices).unwrap();
        let names: Vec<&str> =
            inside.lines().skip(2).filter_map(|line| line.trim().split(':').next()).collect();
        assert!(names.contains(&DEVICE) && names.contains(&"lo") && names.len() == 2, "{names:?}");
    }
    drop(link);
    assert_eq!(devices().lines().count(), here.lines().count(), "nothing is left behind");
}

#[test]
fn a_user_without_the_right_is_refused_in_one_line() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: the right to make a network namespace can't be given up by one who lacks it");
        return;
    }
    let refused = std::thread::spawn(|| {
        const NOBODY: libc::c_long = 65_534;
        // SAFETY: the plain system call changes this thread's user alone, and the thread ends right after.
        let changed = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
        assert_eq!(changed, 0);
        format!("{:#}", Link::new(Duration::ZERO, 0.0).unwrap_err())
    });
    let refused = refused.join().unwrap();
    assert!(refused.contains("run as root, or leave network out"), "{refused}");
    assert_eq!(refused.lines().count(), 1, "{refused}");
}
