//! A server that is reached over TLS, with a token that is made for each request, or by a Unix socket: started by the
//! harness, and one that runs already.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, DnType, KeyPair};

use crate::bench::{Bench, PATIENCE, stderr};
use crate::own_service::holds_none_of;

const SERVICE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/harness/service.py");

/// What tokens are signed with.
const SECRET: &str = "1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f";

/// A bench with a certificate for localhost, a workload, and a campaign over these ways.
fn bench(arms: &str) -> Option<Bench> {
    let bench = Bench::of("reached", &[("SERVICE", SERVICE), ("ARMS", arms)])?;
    let params = |name: &str| {
        let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params
    };
    for name in ["own", "other"] {
        let key = KeyPair::generate().unwrap();
        let certificate = params(name).self_signed(&key).unwrap().pem();
        bench.write(&format!("{name}.pem"), &certificate);
        bench.write(&format!("{name}-with-key.pem"), &format!("{certificate}{}", key.serialize_pem()));
    }
    Some(bench)
}

fn run(bench: &Bench, args: &[&str]) -> Output {
    let mut command = bench.command(args);
    command.env("OWN_SECRET", SECRET).output().unwrap()
}

/// The same service, started by somebody else; ended with its owner.
struct Running(Child);

impl Running {
    fn start(bench: &Bench, listen: &str, ipc: &Path) -> Self {
        let mut command = Command::new("python3");
        command.args([SERVICE, listen]).arg(bench.path("own-with-key.pem")).env("OWN_SECRET", SECRET);
        command.arg(format!("--ipc={}", ipc.display())).stdin(Stdio::null()).stderr(Stdio::null());
        let mut running = Self(command.spawn().unwrap());
        let began = Instant::now();
        while std::net::TcpStream::connect(listen).is_err() || !ipc.exists() {
            assert!(began.elapsed() < PATIENCE, "it does not start");
            std::thread::sleep(Duration::from_millis(20));
            // Its port is held a little longer where another test is starting a process meanwhile.
            if running.0.try_wait().unwrap().is_some() {
                running = Self(command.spawn().unwrap());
            }
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_is_measured_over_tls_with_a_token_of_now() {
    let Some(bench) = bench("") else { return };
    let output = run(&bench, &["run", "tiny"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let sample = &bench.observations()[0]["outcome"];
    assert!(sample["load"]["succeeded"].as_u64().unwrap() > 10, "{sample}");
    assert_eq!(sample["load"]["failed"], serde_json::json!({}), "{sample}");
    bench.nothing_is_left_running();
    // A token of the Engine API begins with its head in base64; three letters of that stand in histograms by chance.
    assert!(holds_none_of(&bench.path("results"), &[SECRET, "eyJ0eXAiOiJKV1Qi"]) > 3);
    let refused = |named: &str| {
        let output = run(&bench, &["run", "tiny"]);
        let said = stderr(&output);
        assert!(output.status.code() != Some(0) && said.contains(named), "{said}");
    };
    let entry = std::fs::read_to_string(bench.path("servers.toml")).unwrap();
    bench.write("servers.toml", &entry.replace("own.pem", "other.pem"));
    refused("invalid peer certificate");
    bench.write("servers.toml", &entry.replace("own.pem", "no.pem"));
    refused("no.pem");
    bench.write("servers.toml", &entry.replace("tls = true", "tls = false"));
    refused("field ca");
    bench.write("servers.toml", &entry);
    bench.replace("campaigns/tiny.toml", "tool = \"rpc-load\"\n", "");
    refused("choose another load tool (rpc-load)");
}

#[test]
fn a_server_is_measured_by_its_unix_socket() {
    let campaign = "[axes]\nserver = [\"service\"]\ntransport = [\"ipc\"]\nin_flight = [2]\n";
    let Some(bench) = bench(campaign) else { return };
    bench.replace("campaigns/tiny.toml", "servers = [\"service\"]", "servers = []");
    let refused = run(&bench, &["run", "tiny"]);
    assert!(stderr(&refused).contains("a Unix socket has no headers"), "{}", stderr(&refused));
    bench.replace("servers.toml", "headers = ", "# ");
    // Over TLS it would answer nobody without a token.
    bench.replace("servers.toml", "ready = ", "ready = { connect = {} } # ");
    bench.replace("servers.toml", "tls = true", "");
    bench.replace("servers.toml", "ca = ", "# ");
    let output = run(&bench, &["run", "tiny"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let sample = &bench.observations()[0]["outcome"];
    assert!(sample["load"]["succeeded"].as_u64().unwrap() > 10, "{sample}");
    bench.nothing_is_left_running();
}

#[test]
fn a_service_that_runs_already_is_tried_over_tls_and_by_its_socket() {
    let Some(bench) = bench("") else { return };
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ipc = bench.path("node.ipc");
    let _running = Running::start(&bench, &format!("127.0.0.1:{port}"), &ipc);
    let tried = |url: &str, more: &[&str]| {
        let fixed = ["try", url, "--method", "eth_blockNumber", "--seconds", "5", "--result", "\"0xc8\""];
        let busy = ["--max-foreign-cpu", "100%"];
        let output = run(&bench, &[&fixed[..], &busy, more].concat());
        (output.status.code(), format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output)))
    };
    let token = ["--header", "Authorization: Bearer ${jwt:OWN_SECRET}"];
    let url = format!("https://localhost:{port}/");
    let ca = bench.path("own.pem").display().to_string();
    let (code, said) = tried(&url, &[&token[..], &["--ca", &ca]].concat());
    assert!(code == Some(0) && said.contains("requests/s"), "{said}");
    let (code, said) = tried(&url, &["--ca", &ca]);
    assert!(code == Some(2) && said.contains("HTTP 401"), "{said}");
    let (code, said) = tried(&url, &token);
    assert!(code == Some(2) && said.contains("certificate") && said.lines().count() == 1, "{said}");
    let (code, said) = tried(&format!("unix:{}", ipc.display()), &[]);
    assert!(code == Some(0) && said.contains("requests/s"), "{said}");
    let (code, said) = tried("unix:/no/such/socket", &[]);
    assert!(code == Some(2) && said.contains("no connection; start the service first"), "{said}");
}
