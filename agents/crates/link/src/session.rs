//! One connection of the link as a pure machine: what came in, what is due, and what to do about it.
//! Owns the order of messages and every deadline. Never touches a socket, a file or a clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fairlead_model::Version;
use fairlead_wire::agent::{self, agent_envelope, gateway_envelope};

/// Pushes sent and not yet acknowledged; the gateway asks for at most 512.
pub(crate) const PUSHES_IN_FLIGHT_MAX: usize = 256;
/// From connecting to the welcome.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(15);
/// A full sync even when nothing seems to have changed: it repairs whatever was lost.
const SYNC_INTERVAL: Duration = Duration::from_secs(300);
/// A sync that stays unanswered is asked again.
const SYNC_TIMEOUT: Duration = Duration::from_secs(30);
/// A report is sent at least this often.
const REPORT_INTERVAL: Duration = Duration::from_secs(30);

/// What happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A message came.
    Received(gateway_envelope::Body),
    /// The driver signed the challenge.
    Proved(Vec<u8>),
    /// The driver judged a state; the version held now.
    Judged(Version),
    /// What is true changed, or the driver has the report that was asked for.
    Report(Box<agent::Report>),
    /// Lines of an app's log that were asked for.
    Lines(Box<agent::LogLines>),
    /// Plan of a source that was asked for.
    Inspection(Box<agent::Inspection>),
    /// The driver read this push from the spool.
    Push(Box<agent::Push>),
    /// Time passed.
    Tick,
}

/// What to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// Send this message.
    Send(Box<agent_envelope::Body>),
    /// Sign this nonce and answer with `Proved`.
    Prove(Vec<u8>),
    /// The session is open; read the spool again after this sequence.
    Open {
        /// The highest sequence the control plane has.
        acked: u64,
        /// Opens the artifact store as long as this session lasts.
        transfer_token: String,
    },
    /// Check, save and hand out this state; answer with `Judged`.
    Judge(Box<agent::SignedState>),
    /// The control plane stored all pushes up to this one.
    Acknowledged(u64),
    /// A report is due; answer with `Report`.
    WantReport,
    /// Hand this to whoever keeps the apps' logs; the answers come as `Lines`.
    Ask(LogRequest),
    /// Inspect a source; the answer comes as `Inspection`.
    Inspect(InspectRequest),
    /// Close the connection; nothing more will be done on it.
    Close(Closed),
}

/// Request of the control plane that is answered once or more often. Never kept: it ends with its connection.
#[derive(Debug, Clone, PartialEq)]
pub enum Request<Query> {
    /// Answer this with messages that carry its id.
    Query(Box<Query>),
    /// The answer to the query of this id is not needed any more.
    Cancel(String),
    /// No answer is needed any more: the connection has ended.
    CancelAll,
}

/// Request for lines of apps' logs.
pub type LogRequest = Request<agent::LogQuery>;
/// Request for the plan of a source.
pub type InspectRequest = Request<agent::InspectQuery>;

/// Why a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Closed {
    /// The gateway said why.
    ByGateway {
        /// Its code.
        code: String,
        /// Its words.
        message: String,
        /// Whether trying again soon makes sense.
        retryable: bool,
    },
    /// The gateway sent something that has no place at this point.
    OutOfTurn(&'static str),
    /// Nothing came for too long.
    Silent,
}

#[derive(Debug)]
enum Phase {
    AwaitChallenge,
    AwaitWelcome,
    Open,
    Closed,
}

/// The state of one connection.
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
    /// Begins a connection. `unix_ms` is only read to answer pings.
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

    /// Whether the session is open.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// Whether another push may be sent now.
    pub(crate) fn wants_push(&self) -> bool {
        self.is_open() && self.in_flight.len() < PUSHES_IN_FLIGHT_MAX
    }

    /// When `Tick` is due next.
    pub(crate) fn deadline(&self) -> Instant {
        let silence = self.last_received + self.silence_max;
        if !self.is_open() {
            return silence;
        }
        silence.min(self.report_due).min(self.sync_deadline())
    }

    /// One event, and what follows from it.
    pub(crate) fn step(mut self, event: Event, now: Instant) -> (Self, Vec<Action>) {
        let actions = match event {
            _ if matches!(self.phase, Phase::Closed) => Vec::new(),
            Event::Received(body) => {
                self.last_received = now;
                self.received(body, now)
            }
            Event::Proved(signature) => vec![send(agent_envelope::Body::Proof(agent::Proof { signature }))],
            Event::Judged(held) => {
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
            (_, Body::Error(error)) => self.close(Closed::ByGateway {
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
                vec![Action::Judge(Box::new(state))]
            }
            (Phase::Open, Body::PushAck(ack)) => {
                while self.in_flight.front().is_some_and(|sequence| *sequence <= ack.sequence) {
                    self.in_flight.pop_front();
                }
                vec![Action::Acknowledged(ack.sequence)]
            }
            (Phase::Open, Body::ReportAck(_)) => Vec::new(),
            (Phase::Open, Body::LogQuery(query)) => vec![Action::Ask(LogRequest::Query(Box::new(query)))],
            (Phase::Open, Body::LogCancel(cancel)) => vec![Action::Ask(LogRequest::Cancel(cancel.query_id))],
            (Phase::Open, Body::InspectQuery(query)) => vec![Action::Inspect(InspectRequest::Query(Box::new(query)))],
            (Phase::Open, Body::InspectCancel(cancel)) => {
                vec![Action::Inspect(InspectRequest::Cancel(cancel.query_id))]
            }
            (Phase::AwaitWelcome | Phase::Open, Body::Ping(ping)) => {
                let pong = agent::Pong { ping_sent_unix_ms: ping.sent_unix_ms, agent_unix_ms: (self.clock)() };
                vec![send(agent_envelope::Body::Pong(pong))]
            }
            (Phase::AwaitChallenge, _) => self.close(Closed::OutOfTurn("a challenge was due")),
            (Phase::AwaitWelcome, _) => self.close(Closed::OutOfTurn("a welcome was due")),
            (Phase::Open | Phase::Closed, _) => self.close(Closed::OutOfTurn("the session was open already")),
        }
    }

    fn tick(&mut self, now: Instant) -> Vec<Action> {
        if now >= self.last_received + self.silence_max {
            return self.close(Closed::Silent);
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

    fn close(&mut self, reason: Closed) -> Vec<Action> {
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
