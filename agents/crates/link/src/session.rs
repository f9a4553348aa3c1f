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
pub(crate) enum SessionEvent {
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
pub(crate) enum SessionAction {
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
    /// The control plane stored a report of this session.
    ReportStored,
    /// Forward a log query; answers return as `Lines`.
    QueryLogs(LogRequest),
    /// Inspect a source; the answer returns as `Inspection`.
    Inspect(InspectRequest),
    /// Close the connection; no further action follows.
    Close(CloseReason),
}

/// Request of the control plane with one or more answers. It ends with its connection.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryRequest<Query> {
    /// Start a query; every answer carries its id.
    Query(Box<Query>),
    /// Cancel the query of this id.
    Cancel(String),
    /// Cancel all queries: the connection has ended.
    CancelAll,
}

/// Request for lines of apps' logs.
pub type LogRequest = QueryRequest<agent::LogQuery>;
/// Request for the plan of a source.
pub type InspectRequest = QueryRequest<agent::InspectQuery>;

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
enum SessionPhase {
    AwaitChallenge,
    AwaitWelcome,
    Open,
    Closed,
}

/// State of one connection.
#[derive(Debug)]
pub(crate) struct Session {
    phase: SessionPhase,
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
    /// Starts a connection. `unix_us` is only read to answer pings.
    pub(crate) fn start(
        hello: agent::Hello,
        held: Version,
        now: Instant,
        unix_us: fn() -> u64,
    ) -> (Self, Vec<SessionAction>) {
        let session = Self {
            phase: SessionPhase::AwaitChallenge,
            held,
            desired: held,
            silence_max: HANDSHAKE_TIMEOUT,
            last_received: now,
            sync_sent: None,
            synced: now,
            report_due: now,
            report_id: 0,
            in_flight: VecDeque::new(),
            clock: unix_us,
        };
        (session, vec![send(agent_envelope::Body::Hello(hello))])
    }

    /// True if the session is open.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.phase, SessionPhase::Open)
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
    pub(crate) fn step(mut self, event: SessionEvent, now: Instant) -> (Self, Vec<SessionAction>) {
        let actions = match event {
            _ if matches!(self.phase, SessionPhase::Closed) => Vec::new(),
            SessionEvent::Received(body) => {
                self.last_received = now;
                self.received(body, now)
            }
            SessionEvent::Proved(signature) => vec![send(agent_envelope::Body::Proof(agent::Proof { signature }))],
            SessionEvent::StateVerified(held) => {
                self.held = held;
                Vec::new()
            }
            SessionEvent::Report(report) if self.is_open() => {
                self.report_id += 1;
                self.report_due = now + REPORT_INTERVAL;
                vec![send(agent_envelope::Body::Report(agent::Report { report_id: self.report_id, ..*report }))]
            }
            SessionEvent::Push(push) if self.is_open() => {
                self.in_flight.push_back(push.sequence);
                vec![send(agent_envelope::Body::Push(*push))]
            }
            SessionEvent::Lines(lines) if self.is_open() => vec![send(agent_envelope::Body::LogLines(*lines))],
            SessionEvent::Inspection(found) if self.is_open() => vec![send(agent_envelope::Body::Inspection(*found))],
            SessionEvent::Report(_) | SessionEvent::Push(_) | SessionEvent::Lines(_) | SessionEvent::Inspection(_) => {
                Vec::new()
            }
            SessionEvent::Tick => self.tick(now),
        };
        (self, actions)
    }

    fn received(&mut self, body: gateway_envelope::Body, now: Instant) -> Vec<SessionAction> {
        use gateway_envelope::Body;
        match (&self.phase, body) {
            (_, Body::Error(error)) => self.close(CloseReason::ByGateway {
                code: error.code.chars().take(80).collect(),
                message: error.message.chars().take(400).collect(),
                retryable: error.retryable,
            }),
            (SessionPhase::AwaitChallenge, Body::Challenge(challenge)) => {
                self.phase = SessionPhase::AwaitWelcome;
                vec![SessionAction::Prove(challenge.nonce)]
            }
            (SessionPhase::AwaitWelcome, Body::Welcome(welcome)) => {
                self.phase = SessionPhase::Open;
                let interval = Duration::from_millis(welcome.ping_interval_ms.clamp(1_000, 300_000).into());
                self.silence_max = interval * 3;
                self.desired = welcome.desired.map(Version::from).unwrap_or_default();
                self.report_due = now + REPORT_INTERVAL;
                vec![
                    SessionAction::Open { acked: welcome.push_acked_sequence, transfer_token: welcome.transfer_token },
                    self.sync(now),
                    SessionAction::WantReport,
                ]
            }
            (SessionPhase::Open, Body::Desired(desired)) => {
                self.desired = desired.version.map(Version::from).unwrap_or_default();
                if self.desired > self.held { vec![self.sync(now)] } else { Vec::new() }
            }
            (SessionPhase::Open, Body::State(state)) => {
                self.sync_sent = None;
                self.synced = now;
                vec![SessionAction::VerifyState(Box::new(state))]
            }
            (SessionPhase::Open, Body::PushAck(ack)) => {
                while self.in_flight.front().is_some_and(|sequence| *sequence <= ack.sequence) {
                    self.in_flight.pop_front();
                }
                vec![SessionAction::Acknowledged(ack.sequence)]
            }
            (SessionPhase::Open, Body::ReportAck(_)) => vec![SessionAction::ReportStored],
            (SessionPhase::Open, Body::LogQuery(query)) => {
                vec![SessionAction::QueryLogs(LogRequest::Query(Box::new(query)))]
            }
            (SessionPhase::Open, Body::LogCancel(cancel)) => {
                vec![SessionAction::QueryLogs(LogRequest::Cancel(cancel.query_id))]
            }
            (SessionPhase::Open, Body::InspectQuery(query)) => {
                vec![SessionAction::Inspect(InspectRequest::Query(Box::new(query)))]
            }
            (SessionPhase::Open, Body::InspectCancel(cancel)) => {
                vec![SessionAction::Inspect(InspectRequest::Cancel(cancel.query_id))]
            }
            (SessionPhase::AwaitWelcome | SessionPhase::Open, Body::Ping(ping)) => {
                let agent_unix_us = (self.clock)();
                let pong = agent::Pong {
                    ping_sent_unix_ms: ping.sent_unix_ms,
                    agent_unix_ms: agent_unix_us / 1000,
                    agent_unix_us,
                };
                vec![send(agent_envelope::Body::Pong(pong))]
            }
            (SessionPhase::AwaitChallenge, _) => self.close(CloseReason::OutOfTurn("a challenge was due")),
            (SessionPhase::AwaitWelcome, _) => self.close(CloseReason::OutOfTurn("a welcome was due")),
            (SessionPhase::Open | SessionPhase::Closed, _) => {
                self.close(CloseReason::OutOfTurn("the session was open already"))
            }
        }
    }

    fn tick(&mut self, now: Instant) -> Vec<SessionAction> {
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
                actions.push(SessionAction::WantReport);
            }
        }
        actions
    }

    fn sync_deadline(&self) -> Instant {
        self.sync_sent.map_or(self.synced + SYNC_INTERVAL, |sent| sent + SYNC_TIMEOUT)
    }

    fn sync(&mut self, now: Instant) -> SessionAction {
        self.sync_sent = Some(now);
        send(agent_envelope::Body::Sync(agent::SyncRequest { have: Some(fairlead_wire::version(self.held)) }))
    }

    fn close(&mut self, reason: CloseReason) -> Vec<SessionAction> {
        self.phase = SessionPhase::Closed;
        vec![SessionAction::Close(reason)]
    }
}

fn send(body: agent_envelope::Body) -> SessionAction {
    SessionAction::Send(Box::new(body))
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
