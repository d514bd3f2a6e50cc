//! A connection over HTTP/1.1 with keep-alive: one request at a time.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::Sleep;

use crate::bodies::Outcome;
use crate::connect::{self, HttpConnection, Reconnecting, Socket};
use crate::messages::End;
use crate::requests::{Requests, Turn};
use crate::worker::{Alarm, Worker};

type Http = Connection<TokioIo<Socket>, Full<Bytes>>;

/// Uses a connection until the run is over.
pub async fn run(
    worker: Rc<Worker>,
    alarm: Rc<Alarm>,
    mut requests: Requests,
    mut connection: Box<HttpConnection>,
) {
    let mut reconnecting = Reconnecting::default();
    while session(&worker, &alarm, &mut requests, connection).await == End::Lost {
        worker.stats.borrow_mut().lost += 1;
        requests.give_up(worker.now_ns(), Outcome::ConnectionLost);
        if worker.plan.idle {
            break;
        }
        match reconnecting.again(&worker, &alarm, &mut requests).await {
            Some(connect::Connection::Http(again)) => connection = again,
            _ => break,
        }
    }
    let now_ns = worker.now_ns();
    requests.give_up(now_ns, Outcome::Interrupted);
    requests.finish(now_ns);
}

async fn session(worker: &Worker, alarm: &Alarm, requests: &mut Requests, http: Box<HttpConnection>) -> End {
    let HttpConnection { mut sender, connection } = *http;
    let mut connection = pin!(Some(connection));
    let mut timer = pin!(tokio::time::sleep_until(worker.instant(0).into()));
    loop {
        // A server may end a connection with an answer. Its next request is then another connection's.
        let ready = tokio::select! {
            biased;
            ready = sender.ready() => ready.is_ok(),
            () = ended(connection.as_mut()) => false,
        };
        if !ready {
            return End::Lost;
        }
        let due = || {
            let now_ns = worker.now_ns();
            worker.aborted() || requests.finished(now_ns) || requests.turn(now_ns) == Turn::Now
        };
        tokio::select! {
            biased;
            () = alarm.until(due) => {}
            () = ended(connection.as_mut()) => return End::Lost,
        }
        let now_ns = worker.now_ns();
        if worker.aborted() || requests.turn(now_ns) != Turn::Now {
            return End::Finished;
        }
        let text = requests.send(now_ns);
        let deadline_ns = now_ns + worker.plan.timeout_ns;
        timer.as_mut().reset(worker.instant(deadline_ns).into());
        let mut answer = pin!(exchange(worker, &mut sender, text));
        let answer = tokio::select! {
            biased;
            answer = answer.as_mut() => answer,
            () = timed_out(timer.as_mut(), worker, deadline_ns) => None,
            () = alarm.until(|| worker.aborted()) => return End::Finished,
            // What it has read before it ended is still there.
            () = ended(connection.as_mut()) => answer.await,
        };
        let now_ns = worker.now_ns();
        match answer {
            None => {
                // An answer that comes late would be taken for the next one's, so the connection is given up.
                requests.expire(now_ns);
                return End::Lost;
            }
            Some(Ok((StatusCode::OK, body))) if worker.plan.as_is => {
                requests.end_oldest(now_ns, Outcome::Answered, body.len() as u64);
            }
            Some(Ok((StatusCode::OK, body))) => {
                requests.receive(now_ns, std::str::from_utf8(&body).unwrap_or_default(), true);
            }
            Some(Ok((status, body))) => {
                requests.end_oldest(now_ns, Outcome::HttpStatus(status.as_u16()), body.len() as u64);
            }
            Some(Err(_)) => return End::Lost,
        }
    }
}

/// Drives a connection until it ends, and drops it then: what waits for an answer of it learns it only from that.
async fn ended(mut connection: Pin<&mut Option<Http>>) {
    poll_fn(|cx| match connection.as_mut().as_pin_mut() {
        Some(open) => {
            let ended = open.poll(cx).map(drop);
            if ended.is_ready() {
                connection.set(None);
            }
            ended
        }
        None => Poll::Ready(()),
    })
    .await;
}

/// The timer may fire up to its resolution before the deadline.
async fn timed_out(mut timer: Pin<&mut Sleep>, worker: &Worker, deadline_ns: u64) {
    loop {
        timer.as_mut().await;
        let now_ns = worker.now_ns();
        if now_ns >= deadline_ns {
            return;
        }
        timer.as_mut().reset(worker.instant(deadline_ns).into());
    }
}

/// Sends a request and reads the whole answer.
fn exchange<'a>(
    worker: &Worker,
    sender: &'a mut SendRequest<Full<Bytes>>,
    text: String,
) -> impl Future<Output = Option<Result<(StatusCode, Bytes), hyper::Error>>> + use<'a> {
    let target = &worker.plan.target;
    let mut request = Request::new(Full::from(text));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = target.path.clone();
    request.headers_mut().insert(HOST, target.authority.clone());
    request.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    worker.add_headers(request.headers_mut());
    async move {
        let answer = async {
            sender.ready().await?;
            let response = sender.send_request(request).await?;
            let status = response.status();
            Ok((status, response.into_body().collect().await?.to_bytes()))
        };
        Some(answer.await)
    }
}
