//! Clients of HTTP/2, HTTP/3 and gRPC: several share a connection, each with one stream at a time. A failed stream fails one request;
//! the end of a connection fails the requests in flight on it, and the next request opens another.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use http::{Request, Version};
use tokio::sync::Mutex;

use crate::client::{LoadTarget, Shared, SharedRef, pause_after_failure};
use crate::deadline::Deadline;
use crate::failure::{FailureKind, RequestError};
use crate::open_loop::Requester;
use crate::response::Response;

/// Protocol with several requests on one connection.
pub(crate) trait Multiplexed: 'static {
    const VERSION: Version;
    type Sender: Clone + 'static;

    /// Opens a connection. The driver runs as long as the connection takes requests.
    async fn connect(shared: &Shared) -> Result<(Self::Sender, Driver), RequestError>;

    /// Waits until the connection can take a request; fails if it takes no more.
    async fn ready(sender: &mut Self::Sender) -> Result<(), RequestError>;

    /// Sends a request and reads its complete response.
    async fn send(sender: &mut Self::Sender, request: &MultiplexedRequest) -> Result<Response, RequestError>;

    /// Encodes the requests of a destination, in their order.
    fn requests(destination: &LoadTarget) -> Result<Rc<[MultiplexedRequest]>, RequestError> {
        requests(destination, Self::VERSION)
    }
}

/// Encoded request.
#[derive(Debug, Clone)]
pub(crate) struct MultiplexedRequest {
    pub(crate) head: Request<()>,
    pub(crate) body: Bytes,
}

pub(crate) type Driver = Pin<Box<dyn Future<Output = ()>>>;

/// Connection of several clients.
pub(crate) struct SharedConnection<P: Multiplexed> {
    shared: SharedRef,
    requests: Rc<[MultiplexedRequest]>,
    state: Rc<RefCell<SharedConnectionState<P::Sender>>>,
    /// Lock of the client that opens the connection.
    opening: Mutex<()>,
}

struct SharedConnectionState<S> {
    /// Sender of the open connection.
    sender: Option<S>,
    /// Number of ended attempts to open one.
    attempts: u64,
    /// Failure of the last attempt.
    failure: Option<(FailureKind, String)>,
}

impl<P: Multiplexed> SharedConnection<P> {
    pub(crate) fn new(shared: SharedRef, requests: Rc<[MultiplexedRequest]>) -> Rc<Self> {
        let state = SharedConnectionState { sender: None, attempts: 0, failure: None };
        Rc::new(Self { shared, requests, state: Rc::new(RefCell::new(state)), opening: Mutex::default() })
    }

    /// Returns a sender of the open connection. Opens one if there is none; clients that wait for the same attempt share its
    /// failure.
    async fn sender(&self) -> Result<CurrentSender<P::Sender>, RequestError> {
        let attempts = self.state.borrow().attempts;
        let _opening = self.opening.lock().await;
        {
            let state = self.state.borrow();
            if let Some(sender) = &state.sender {
                return Ok(CurrentSender { sender: sender.clone(), attempt: state.attempts, is_new: false });
            }
            if let (true, Some((kind, reason))) = (state.attempts != attempts, &state.failure) {
                return Err(RequestError::new(*kind, reason.clone()));
            }
        }
        let opened = P::connect(&self.shared).await;
        let mut state = self.state.borrow_mut();
        state.attempts += 1;
        match opened {
            Ok((sender, driver)) => {
                (state.sender, state.failure) = (Some(sender.clone()), None);
                let (attempt, state) = (state.attempts, self.state.clone());
                tokio::task::spawn_local(async move {
                    driver.await;
                    state.borrow_mut().close(attempt);
                });
                Ok(CurrentSender { sender, attempt, is_new: true })
            }
            Err(error) => {
                state.failure = Some((error.kind, error.to_string()));
                Err(error)
            }
        }
    }
}

/// Sender of the open connection.
struct CurrentSender<S> {
    sender: S,
    /// Number of the attempt that opened the connection.
    attempt: u64,
    /// True if the connection was opened for this sender.
    is_new: bool,
}

impl<S> SharedConnectionState<S> {
    fn is_open(&self, attempt: u64) -> bool {
        self.sender.is_some() && self.attempts == attempt
    }

    fn close(&mut self, attempt: u64) {
        if self.attempts == attempt {
            self.sender = None;
        }
    }
}

/// One of the clients of a connection.
pub(crate) struct StreamClient<P: Multiplexed> {
    connection: Rc<SharedConnection<P>>,
    /// Sender of the last request.
    sender: Option<CurrentSender<P::Sender>>,
    deadline: Deadline,
}

impl<P: Multiplexed> StreamClient<P> {
    pub(crate) fn new(connection: Rc<SharedConnection<P>>) -> Self {
        let deadline = Deadline::new(connection.shared.request_timeout);
        Self { connection, sender: None, deadline }
    }

    /// Sends a request; returns the time of sending and the response.
    async fn ask(&mut self, request: usize) -> Result<(Instant, Response), RequestError> {
        loop {
            let state = &self.connection.state;
            let kept = self.sender.take().filter(|kept| state.borrow().is_open(kept.attempt));
            let mut current = match kept {
                Some(kept) => kept,
                None => self.connection.sender().await?,
            };
            let started = Instant::now();
            match self.deadline.limit(started, P::ready(&mut current.sender)).await {
                Err(error) if error.kind != FailureKind::Timeout => {
                    self.connection.state.borrow_mut().close(current.attempt);
                    // The server ended a reused connection before it had this request.
                    if current.is_new {
                        return Err(error);
                    }
                    continue;
                }
                ready => ready?,
            }
            let sent = Instant::now();
            let request = &self.connection.requests[request];
            let response = self.deadline.limit(sent, P::send(&mut current.sender, request)).await?;
            self.sender = Some(CurrentSender { is_new: false, ..current });
            return Ok((sent, response));
        }
    }

    /// Sends requests in a closed loop until its worker ends it.
    pub(crate) async fn run(mut self) {
        let shared = self.connection.shared.clone();
        let mut ready = false;
        loop {
            match self.ask(shared.order.take()).await {
                Ok((sent, response)) => {
                    shared.answered(sent, &response);
                    shared.ready(&mut ready);
                    shared.think().await;
                }
                Err(error) => {
                    shared.failed(&error);
                    pause_after_failure().await;
                }
            }
        }
    }
}

impl<P: Multiplexed> Requester for StreamClient<P> {
    async fn ask(&mut self, _shared: &SharedRef, request: usize) -> Result<Response, RequestError> {
        Self::ask(self, request).await.map(|(_, response)| response)
    }
}

/// Encodes the requests of a destination, in their order.
fn requests(destination: &LoadTarget, version: Version) -> Result<Rc<[MultiplexedRequest]>, RequestError> {
    let LoadTarget { authority, path, requests, .. } = destination;
    let encode = |method: &str, path: &str, headers: &[(String, String)], body: &str| {
        let head = Request::builder().method(method).version(version).uri(format!("https://{authority}{path}"));
        let is_set = |name: &str| headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let mut head = if is_set("user-agent") { head } else { head.header("user-agent", "fairlead-bench") };
        for (name, value) in headers {
            head = head.header(name, value);
        }
        if !body.is_empty() {
            head = head.header("content-length", body.len());
        }
        let head = head.body(()).map_err(|error| RequestError::new(FailureKind::Malformed, error))?;
        Ok(MultiplexedRequest { head, body: Bytes::copy_from_slice(body.as_bytes()) })
    };
    if requests.is_empty() {
        return Ok([encode("GET", path, &[], "")?].into());
    }
    requests.iter().map(|each| encode(&each.method, &each.path, &each.headers, &each.body)).collect()
}
