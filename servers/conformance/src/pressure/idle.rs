//! Many connections that are kept and say nothing.

use std::net::{SocketAddr, TcpStream};

use server_kit::testing::connect;

use super::client::{balance_call, exchange, p99_us, reset};
use super::{Check, Plan, Subject, process};

/// Measures another client with and without the idle connections, in turn.
pub fn press(subject: &Subject<'_>, check: &mut Check) {
    let plan = subject.plan;
    let server = subject.server.start_seeded(&[]);
    // Warms up both sides.
    p99_us(server.addr, plan.requests);
    let open_files = process::open_files(server.pid());
    let resident = process::resident_bytes(server.pid());
    let (mut quiet_us, mut loaded_us) = (Vec::new(), Vec::new());
    let (mut lost, mut grown) = (0, 0.0_f64);
    for _ in 0..plan.rounds {
        process::wait_for_open_files(server.pid(), open_files);
        quiet_us.push(p99_us(server.addr, plan.requests));
        let held = hold(server.addr, plan.idle_connections);
        loaded_us.push(p99_us(server.addr, plan.requests));
        grown = grown.max(process::resident_bytes(server.pid()) - resident);
        lost += held.iter().filter(|connection| !is_held(connection)).count();
        reset(held);
    }
    check.figure("idle connections", plan.idle_connections as f64, "");
    check.figure("requests of each measurement", plan.requests as f64, "");
    for (name, times) in [("quiet", &mut quiet_us), ("loaded", &mut loaded_us)] {
        times.sort_by(f64::total_cmp);
        check.figure(format!("{name} p99, median of {} rounds", times.len()), median(times), "µs");
        check.figure(format!("{name} p99, best round"), times[0], "µs");
        check.figure(format!("{name} p99, worst round"), times[times.len() - 1], "µs");
    }
    let ratio = median(&loaded_us) / median(&quiet_us);
    check.figure("loaded / quiet, medians", ratio, "x");
    check.figure("loaded / quiet, best rounds", loaded_us[0] / quiet_us[0], "x");
    check.figure("connections lost", lost as f64, "");
    check.figure("resident memory grew by", grown / 1_048_576.0, "MiB");
    judge_speed(plan, ratio, check);
    check.demand(lost == 0, || format!("{lost} connections were not held"));
}

/// Compares a server's p99 with its own quiet one, where speeds are compared.
fn judge_speed(plan: &Plan, ratio: f64, check: &mut Check) {
    check.demand(!plan.compare_speed || ratio <= 2.0, || format!("p99 is {ratio:.2} times its quiet value"));
}

/// Opens connections, each of which has one request answered.
fn hold(addr: SocketAddr, count: usize) -> Vec<TcpStream> {
    let open = |id| {
        let mut connection = connect(addr).expect("the server accepts");
        let answer = exchange(&mut connection, &balance_call(id)).expect("the server answers");
        assert_eq!(answer.status, 200);
        connection
    };
    (0..count).map(open).collect()
}

/// A connection on which nothing came, not even an end.
fn is_held(connection: &TcpStream) -> bool {
    connection.set_nonblocking(true).expect("sockets have the mode");
    connection.peek(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_on_a_busy_machine_compares_no_speeds() {
        let fails = |plan: &Plan, ratio: f64| {
            let mut check = Check::new("idle-connections", "");
            judge_speed(plan, ratio, &mut check);
            !check.passed()
        };
        assert!(!fails(&Plan::SHORT, 100.0));
        assert!(fails(&Plan::FULL, 2.1) && !fails(&Plan::FULL, 2.0));
        let bound = |plan: &Plan| super::super::checks(plan)[0].0.bound.clone();
        assert!(!bound(&Plan::SHORT).contains("p99"), "{}", bound(&Plan::SHORT));
        assert!(bound(&Plan::FULL).contains("its p99 <= 2 x its quiet p99"), "{}", bound(&Plan::FULL));
    }
}
