//! An actix-web server with a planted fault, for tests of whoever has to find it: a handler that waits, a lock, a stall,
//! memory that grows, an accept loop that stops, answers that are not true. Flags, ledger, tuning and counters are the server's own. It is never measured.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use actix_web::web::{self, Bytes, Data};
use actix_web::{App, HttpResponse, HttpServer, Responder, rt};
use server_kit::{Context, Counters, Defaults, Framework, StartError, Threads};
use validator_state::State;

const FRAMEWORK: Framework = Framework {
    name: "actix-faulty",
    shipped: Defaults {
        threads: Threads::Cores,
        backlog: 1_024,
        tcp_nodelay: false,
        keep_alive_ms: Some(5_000),
        max_connections: Some(25_600),
        max_body_bytes: 262_144,
    },
    fixed_backlog: None,
    global_queue: false,
    websocket: false,
};

#[derive(Debug, Clone, Copy, clap::Args, serde::Serialize)]
struct Faults {
    /// Wait so long before each answer, the thread with it
    #[arg(long, value_name = "N", default_value_t = 0)]
    sleep_us: u64,
    /// Wait so long before each answer, while the thread answers others
    #[arg(long, value_name = "N", default_value_t = 0)]
    await_us: u64,
    /// Hold a lock that every request takes for so long before each answer
    #[arg(long, value_name = "N", default_value_t = 0)]
    lock_us: u64,
    /// Answer nothing for so long, again and again
    #[arg(long, value_name = "N", default_value_t = 0)]
    stall_ms: u64,
    /// The time from one such stall's begin to the next one's
    #[arg(long, value_name = "N", default_value_t = 3_000)]
    stall_every_ms: u64,
    /// Keep N bytes for ever with each answer
    #[arg(long, value_name = "N", default_value_t = 0)]
    leak_bytes: usize,
    /// Answer with another result after N answers
    #[arg(long, value_name = "N")]
    lie_after: Option<u64>,
    /// Accept no more connections after N
    #[arg(long, value_name = "N")]
    stop_accepting_after: Option<u64>,
}

fn main() -> ExitCode {
    server_kit::run_with(&FRAMEWORK, serve)
}

fn serve(context: Context, faults: Faults) -> Result<(), StartError> {
    let failed = |error| StartError::failed("start actix-web", error);
    let listener = context.listener()?;
    let addr = listener.local_addr().map_err(failed)?;
    let (state, counters) = (Data::from(Arc::clone(&context.state)), Data::new(context.counters));
    let left = Arc::new(AtomicU64::new(faults.stop_accepting_after.unwrap_or(u64::MAX)));
    let answered = Data::new(Answered::default());
    let (stop_accepting, stopped) = channel();
    let server = HttpServer::new(move || {
        App::new()
            .app_data(state.clone())
            .app_data(counters.clone())
            .app_data(Data::new(faults))
            .app_data(answered.clone())
            .default_service(web::post().to(answer))
    })
    .workers(context.settings.threads)
    .on_connect(move |_, _| {
        if left.fetch_sub(1, Ordering::Relaxed) == 1 {
            // Whoever waits for this outlives every connection.
            let _ = stop_accepting.send(());
        }
    })
    .keep_alive(Duration::from_secs(3_600))
    .client_request_timeout(Duration::ZERO)
    .shutdown_timeout(1)
    .disable_signals();
    rt::System::new().block_on(async {
        let server = server.listen(listener).map_err(failed)?.run();
        let (pausing, stopping) = (server.handle(), server.handle());
        std::thread::spawn(move || {
            if stopped.recv().is_ok() {
                // Sent by the call; the answer is of no interest.
                drop(pausing.pause());
            }
        });
        context.ready(addr)?;
        let shutdown = context.shutdown().clone();
        std::thread::spawn(move || {
            shutdown.wait();
            drop(stopping.stop(true));
        });
        server.await.map_err(failed)
    })
}

/// Answers given so far.
#[derive(Debug, Default)]
struct Answered(AtomicU64);

/// When the first request came: the first stall begins a whole period after it.
static BEGIN: OnceLock<Instant> = OnceLock::new();

/// Waits as long as a planted stall lasts, the thread with it.
fn stall(faults: &Faults) {
    let served_ms = BEGIN.get_or_init(Instant::now).elapsed().as_millis() as u64;
    let into_period_ms = served_ms % faults.stall_every_ms.max(1);
    if served_ms >= faults.stall_every_ms && into_period_ms < faults.stall_ms {
        std::thread::sleep(Duration::from_millis(faults.stall_ms - into_period_ms));
    }
}

/// What every request takes.
static LOCK: Mutex<()> = Mutex::new(());

async fn answer(
    state: Data<State>,
    counters: Data<Counters>,
    faults: Data<Faults>,
    answered: Data<Answered>,
    body: Bytes,
) -> impl Responder {
    std::thread::sleep(Duration::from_micros(faults.sleep_us));
    if faults.lock_us > 0 {
        let _held = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::sleep(Duration::from_micros(faults.lock_us));
    }
    stall(&faults);
    if faults.leak_bytes > 0 {
        Box::leak(vec![1_u8; faults.leak_bytes].into_boxed_slice());
    }
    if faults.await_us > 0 {
        rt::time::sleep(Duration::from_micros(faults.await_us)).await;
    }
    let Ok(body) = std::str::from_utf8(&body) else { return HttpResponse::BadRequest().finish() };
    let mut answer = Vec::new();
    let tally = typed_rpc::answer(&state, body, &mut answer);
    counters.count(tally.answered, tally.errors);
    if answered.0.fetch_add(1, Ordering::Relaxed) >= faults.lie_after.unwrap_or(u64::MAX) {
        answer = br#"{"jsonrpc":"2.0","result":"a lie","id":1}"#.to_vec();
    }
    HttpResponse::Ok().content_type("application/json; charset=utf-8").body(answer)
}
