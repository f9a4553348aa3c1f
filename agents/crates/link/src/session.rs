//! State machine of one connection: order of messages and deadlines. Pure: it touches no socket, file or clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fairlead_model::Version;
use fairlead_wire::agent::{self, agent_envelope, gateway_envelope};

/// Maximum number of unacknowledged pushes; the gateway requires at most 512.
pub(crate) const PUSHES_IN_FLIGHT_MAX: usize = 256;
/// Limit from connecting to the welcome.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(15);
/// Interval of full syncs, which repair whatever was lost.
const SYNC_INTERVAL: Duration = Duration::from_secs(300);
/// Time after which an unanswered sync is repeated.
const SYNC_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum interval between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(30);

/// Input of the state machine.
#[derive(Debug)]
pub(crate) enum Event {
    /// The gateway sent a message.
    Received(gateway_envelope::Body),
    /// The driver signed the challenge.
    Proved(Vec<u8>),
    /// The driver verified a state; holds the version that is accepted now.
    StateVerified(Version),
    /// The actual state changed, or the driver answers `WantReport`.
    Report(Box<agent::Report>),
    /// Answer to a log query.
    Lines(Box<agent::LogLines>),
    /// Answer to an inspection query.
    Inspection(Box<agent::Inspection>),
    /// The driver read this push from the spool.
    Push(Box<agent::Push>),
    /// The time of `deadline` has passed.
    Tick,
}

/// Output of the state machine.
#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// Send a message to the gateway.
    Send(Box<agent_envelope::Body>),
    /// Sign the nonce and return `Proved`.
    Prove(Vec<u8>),
    /// The session is open; rewind the spool to this sequence.
    Open {
        /// Highest sequence that the control plane has stored.
        acked: u64,
        /// Token for the artifact store during this session.
        transfer_token: String,
    },
    /// Verify, save and publish this state; return `StateVerified`.
    VerifyState(Box<agent::SignedState>),
    /// The control plane stored all pushes up to this one.
    Acknowledged(u64),
    /// A report is due; return `Report`.
    WantReport,
    /// Forward a log query; answers return as `Lines`.
    QueryLogs(LogRequest),
    /// Inspect a source; the answer returns as `Inspection`.
    Inspect(InspectRequest),
    /// Close the connection; no further action follows.
    Close(CloseReason),
}

/// Request of the control plane with one or more answers. It ends with its connection.
#[derive(Debug, Clone, PartialEq)]
pub enum Request<Query> {
    /// Start a query; every answer carries its id.
    Query(Box<Query>),
    /// Cancel the query of this id.
    Cancel(String),
    /// Cancel all queries: the connection has ended.
    CancelAll,
}

/// Request for lines of apps' logs.
pub type LogRequest = Request<agent::LogQuery>;
/// Request for the plan of a source.
pub type InspectRequest = Request<agent::InspectQuery>;

/// Reason for the end of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The gateway closed it with an error.
    ByGateway {
        /// Code of the contract's error table.
        code: String,
        /// Message of the gateway.
        message: String,
        /// True if an early retry may succeed.
        retryable: bool,
    },
    /// The gateway sent a message that is invalid in this phase.
    OutOfTurn(&'static str),
    /// The gateway sent nothing within the limit.
    Silent,
}

#[derive(Debug)]
enum Phase {
    AwaitChallenge,
    AwaitWelcome,
    Open,
    Closed,
}

/// State of one connection.
#[derive(Debug)]
pub(crate) struct Session {
    phase: Phase,
    held: Version,
    desired: Version,
    silence_max: Duration,
    last_received: Instant,
    sync_sent: Option<Instant>,
    synced: Instant,
    report_due: Instant,
    report_id: u64,
    in_flight: VecDeque<u64>,
    clock: fn() -> u64,
}

impl Session {
    /// Starts a connection. `unix_ms` is only read to answer pings.
    pub(crate) fn start(hello: agent::Hello, held: Version, now: Instant, unix_ms: fn() -> u64) -> (Self, Vec<Action>) {
        let session = Self {
            phase: Phase::AwaitChallenge,
            held,
            desired: held,
            silence_max: HANDSHAKE_TIMEOUT,
            last_received: now,
            sync_sent: None,
            synced: now,
            report_due: now,
            report_id: 0,
            in_flight: VecDeque::new(),
            clock: unix_ms,
        };
        (session, vec![send(agent_envelope::Body::Hello(hello))])
    }

    /// True if the session is open.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// True if another push may be sent now.
    pub(crate) fn wants_push(&self) -> bool {
        self.is_open() && self.in_flight.len() < PUSHES_IN_FLIGHT_MAX
    }

    /// Returns the time of the next `Tick`.
    pub(crate) fn deadline(&self) -> Instant {
        let silence = self.last_received + self.silence_max;
        if !self.is_open() {
            return silence;
        }
        silence.min(self.report_due).min(self.sync_deadline())
    }

    /// Handles one event and returns the resulting actions.
    pub(crate) fn step(mut self, event: Event, now: Instant) -> (Self, Vec<Action>) {
        let actions = match event {
            _ if matches!(self.phase, Phase::Closed) => Vec::new(),
            Event::Received(body) => {
                self.last_received = now;
                self.received(body, now)
            }
            Event::Proved(signature) => vec![send(agent_envelope::Body::Proof(agent::Proof { signature }))],
            Event::StateVerified(held) => {
                self.held = held;
                Vec::new()
            }
            Event::Report(report) if self.is_open() => {
                self.report_id += 1;
                self.report_due = now + REPORT_INTERVAL;
                vec![send(agent_envelope::Body::Report(agent::Report { report_id: self.report_id, ..*report }))]
            }
            Event::Push(push) if self.is_open() => {
                self.in_flight.push_back(push.sequence);
                vec![send(agent_envelope::Body::Push(*push))]
            }
            Event::Lines(lines) if self.is_open() => vec![send(agent_envelope::Body::LogLines(*lines))],
            Event::Inspection(found) if self.is_open() => vec![send(agent_envelope::Body::Inspection(*found))],
            Event::Report(_) | Event::Push(_) | Event::Lines(_) | Event::Inspection(_) => Vec::new(),
            Event::Tick => self.tick(now),
        };
        (self, actions)
    }

    fn received(&mut self, body: gateway_envelope::Body, now: Instant) -> Vec<Action> {
        use gateway_envelope::Body;
        match (&self.phase, body) {
            (_, Body::Error(error)) => self.close(CloseReason::ByGateway {
                code: error.code.chars().take(80).collect(),
                message: error.message.chars().take(400).collect(),
                retryable: error.retryable,
            }),
            (Phase::AwaitChallenge, Body::Challenge(challenge)) => {
                self.phase = Phase::AwaitWelcome;
                vec![Action::Prove(challenge.nonce)]
            }
            (Phase::AwaitWelcome, Body::Welcome(welcome)) => {
                self.phase = Phase::Open;
                let interval = Duration::from_millis(welcome.ping_interval_ms.clamp(1_000, 300_000).into());
                self.silence_max = interval * 3;
                self.desired = welcome.desired.map(Version::from).unwrap_or_default();
                self.report_due = now + REPORT_INTERVAL;
                vec![
                    Action::Open { acked: welcome.push_acked_sequence, transfer_token: welcome.transfer_token },
                    self.sync(now),
                    Action::WantReport,
                ]
            }
            (Phase::Open, Body::Desired(desired)) => {
                self.desired = desired.version.map(Version::from).unwrap_or_default();
                if self.desired > self.held { vec![self.sync(now)] } else { Vec::new() }
            }
            (Phase::Open, Body::State(state)) => {
                self.sync_sent = None;
                self.synced = now;
                vec![Action::VerifyState(Box::new(state))]
            }
            (Phase::Open, Body::PushAck(ack)) => {
                while self.in_flight.front().is_some_and(|sequence| *sequence <= ack.sequence) {
                    self.in_flight.pop_front();
                }
                vec![Action::Acknowledged(ack.sequence)]
            }
            (Phase::Open, Body::ReportAck(_)) => Vec::new(),
            (Phase::Open, Body::LogQuery(query)) => vec![Action::QueryLogs(LogRequest::Query(Box::new(query)))],
            (Phase::Open, Body::LogCancel(cancel)) => vec![Action::QueryLogs(LogRequest::Cancel(cancel.query_id))],
            (Phase::Open, Body::InspectQuery(query)) => vec![Action::Inspect(InspectRequest::Query(Box::new(query)))],
            (Phase::Open, Body::InspectCancel(cancel)) => {
                vec![Action::Inspect(InspectRequest::Cancel(cancel.query_id))]
            }
            (Phase::AwaitWelcome | Phase::Open, Body::Ping(ping)) => {
                let pong = agent::Pong { ping_sent_unix_ms: ping.sent_unix_ms, agent_unix_ms: (self.clock)() };
                vec![send(agent_envelope::Body::Pong(pong))]
            }
            (Phase::AwaitChallenge, _) => self.close(CloseReason::OutOfTurn("a challenge was due")),
            (Phase::AwaitWelcome, _) => self.close(CloseReason::OutOfTurn("a welcome was due")),
            (Phase::Open | Phase::Closed, _) => self.close(CloseReason::OutOfTurn("the session was open already")),
        }
    }

    fn tick(&mut self, now: Instant) -> Vec<Action> {
        if now >= self.last_received + self.silence_max {
            return self.close(CloseReason::Silent);
        }
        let mut actions = Vec::new();
        if self.is_open() {
            if now >= self.sync_deadline() {
                actions.push(self.sync(now));
            }
            if now >= self.report_due {
                self.report_due = now + REPORT_INTERVAL;
                actions.push(Action::WantReport);
            }
        }
        actions
    }

    fn sync_deadline(&self) -> Instant {
        self.sync_sent.map_or(self.synced + SYNC_INTERVAL, |sent| sent + SYNC_TIMEOUT)
    }

    fn sync(&mut self, now: Instant) -> Action {
        self.sync_sent = Some(now);
        send(agent_envelope::Body::Sync(agent::SyncRequest { have: Some(fairlead_wire::version(self.held)) }))
    }

    fn close(&mut self, reason: CloseReason) -> Vec<Action> {
        self.phase = Phase::Closed;
        vec![Action::Close(reason)]
    }
}

fn send(body: agent_envelope::Body) -> Action {
    Action::Send(Box::new(body))
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
