//! Maintains the connection to the control plane: connects, drives the session state machine, reconnects, and spools pushes
//! during outages. Never applies a state and never waits for it to be applied.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fairlead_base::{Backoff, CancellationToken, Folders, clock, error::chain};
use fairlead_model::DesiredState;
use fairlead_wire::LINK_PROTOCOL;
use fairlead_wire::agent::{self, push};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use crate::config::AgentConfig;
use crate::dial::{DialError, Endpoint, LinkSocket};
use crate::key::{AgentKey, KeyError};
use crate::session::{CloseReason, InspectRequest, LogRequest, Session, SessionAction, SessionEvent};
use crate::socket::{self, SocketError};
use crate::spool::{Spool, SpoolLimits};
use crate::trust::{StateDecision, Trust, TrustError};

/// Capacity of the queue of pushes for the spool. A full queue blocks log readers and drops frames.
const PUSH_QUEUE: usize = 256;
/// Capacity of the queues of log and inspection answers; each holds a few hundred KiB at most.
const ANSWER_QUEUE: usize = 4;
const BACKOFF_FIRST: Duration = Duration::from_millis(250);
const BACKOFF_MOST: Duration = Duration::from_secs(15);
/// Pause after an error that a retry will not change, such as a deleted server.
const PAUSE_REFUSED: Duration = Duration::from_secs(60);
/// Code of the refusal of a server that was deleted.
const SERVER_UNKNOWN: &str = "link.server_unknown";

/// Configuration of the link.
#[derive(Debug)]
pub struct LinkOptions {
    /// Configuration of the enrolled agent.
    pub config: AgentConfig,
    /// Layout of the data folder.
    pub folders: Folders,
    /// Version of this agent.
    pub agent_version: String,
    /// Description of this host, for people.
    pub host: agent::HostInfo,
    /// Capabilities of this server, sent in each hello. A change reconnects.
    pub capabilities: watch::Receiver<Vec<String>>,
    /// Recipient that this server's secrets are sealed to, `age1…`.
    pub sealing_recipient: String,
    /// Bounds of the spool.
    pub spool: SpoolLimits,
}

/// Reason why the link can't start.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The key is missing or damaged.
    #[error("{path} can't be used")]
    Key {
        /// File of the key.
        path: PathBuf,
        #[source]
        source: KeyError,
    },
    /// The saved state can't be read.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The control plane's address or its authorities are wrong.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The spool can't be opened.
    #[error("the spool can't be opened")]
    Spool(#[from] io::Error),
}

/// Desired state of the control plane, as accepted.
#[derive(Debug, Clone, Default)]
pub struct AcceptedState {
    /// Newest accepted state, also from before a restart.
    pub state: Option<Arc<DesiredState>>,
    /// Reason why the newest received state was refused: code and message.
    pub refused: Option<(&'static str, String)>,
}

/// Sends samples and log lines to the spool.
#[derive(Debug, Clone)]
pub struct PushSender(mpsc::Sender<push::Body>);

impl PushSender {
    /// Creates a sender and its receiver; the link creates its own pair.
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<push::Body>) {
        let (sender, receiver) = mpsc::channel(capacity);
        (Self(sender), receiver)
    }

    /// Queues one frame. Returns false if it was dropped because the disk is too slow.
    pub fn frame(&self, frame: agent::Frame) -> bool {
        self.0.try_send(push::Body::Frame(frame)).is_ok()
    }

    /// Queues log lines and waits for capacity, since a log has no gaps. Returns false when the link has ended.
    pub async fn log(&self, chunk: agent::LogChunk) -> bool {
        self.0.send(push::Body::Log(chunk)).await.is_ok()
    }
}

/// Channels between the link and the agent.
#[derive(Debug)]
pub struct LinkEnds {
    /// Desired state, which starts with the saved one.
    pub desired: watch::Receiver<AcceptedState>,
    /// Report of the actual state. The link sends every new value at once, and repeats the last one every 30 s.
    pub report: watch::Sender<Option<agent::Report>>,
    /// Queue of samples and log lines.
    pub pushes: PushSender,
    /// True while a session is open.
    pub connected: watch::Receiver<bool>,
    /// True while a session is open whose newest desired state was verified. A gateway can open a session without the control
    /// plane, so only a verified state proves that the orders of the control plane arrive.
    pub state_verified: watch::Receiver<bool>,
    /// Log queries of the control plane.
    pub log_requests: mpsc::UnboundedReceiver<LogRequest>,
    /// Log answers. The channel blocks while the connection is slow; without an open session answers are dropped.
    pub log_answers: mpsc::Sender<agent::LogLines>,
    /// Inspection queries of the control plane.
    pub inspect_requests: mpsc::UnboundedReceiver<InspectRequest>,
    /// Inspection answers, with the same backpressure as `log_answers`.
    pub inspections: mpsc::Sender<agent::Inspection>,
    /// Token for the artifact store during a session; empty without one.
    pub transfer_token: watch::Receiver<String>,
    /// True once the control plane has stored a report, or has deleted this server.
    pub reported: watch::Receiver<bool>,
}

/// Connection of an enrolled agent to its control plane.
#[derive(Debug)]
pub struct Link {
    endpoint: Endpoint,
    key: AgentKey,
    trust: Trust,
    spool: Spool,
    options: LinkOptions,
    desired: watch::Sender<AcceptedState>,
    report: watch::Receiver<Option<agent::Report>>,
    pushes: mpsc::Receiver<push::Body>,
    connected: watch::Sender<bool>,
    state_verified: watch::Sender<bool>,
    log_requests: mpsc::UnboundedSender<LogRequest>,
    log_answers: mpsc::Receiver<agent::LogLines>,
    inspect_requests: mpsc::UnboundedSender<InspectRequest>,
    inspections: mpsc::Receiver<agent::Inspection>,
    transfer_token: watch::Sender<String>,
    reported: watch::Sender<bool>,
    spool_failing: bool,
}

#[derive(Debug, thiserror::Error)]
enum DisconnectReason {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error("the spool can't be read")]
    Spool(#[from] io::Error),
    #[error("{}", close_message(.0))]
    Closed(CloseReason),
    #[error("what this server can do has changed")]
    CapabilitiesChanged,
    #[error("the agent stops")]
    Shutdown,
}

impl Link {
    /// Reads key, saved state and spool without connecting.
    pub fn open(options: LinkOptions) -> Result<(Self, LinkEnds), LinkError> {
        let endpoint = Endpoint::new(&options.config.control_url, options.config.control_ca_file.as_deref())?;
        let path = options.folders.key();
        let key = AgentKey::open(&path).map_err(|source| LinkError::Key { path, source })?;
        let (trust, saved) = Trust::open(&options.config, &options.folders)?;
        let spool = Spool::open(&options.folders.spool(), options.spool)?;
        let (desired, desired_end) = watch::channel(AcceptedState { state: saved.map(Arc::new), refused: None });
        let (report_end, report) = watch::channel(None);
        let (pushes_end, pushes) = PushSender::channel(PUSH_QUEUE);
        let (connected, connected_end) = watch::channel(false);
        let (state_verified, state_verified_end) = watch::channel(false);
        let (log_requests, log_requests_end) = mpsc::unbounded_channel();
        let (log_answers_end, log_answers) = mpsc::channel(ANSWER_QUEUE);
        let (inspect_requests, inspect_requests_end) = mpsc::unbounded_channel();
        let (inspections_end, inspections) = mpsc::channel(ANSWER_QUEUE);
        let (transfer_token, token_end) = watch::channel(String::new());
        let (reported, reported_end) = watch::channel(false);
        let ends = LinkEnds {
            desired: desired_end,
            report: report_end,
            pushes: pushes_end,
            connected: connected_end,
            state_verified: state_verified_end,
            log_requests: log_requests_end,
            log_answers: log_answers_end,
            inspect_requests: inspect_requests_end,
            inspections: inspections_end,
            transfer_token: token_end,
            reported: reported_end,
        };
        let link = Self {
            endpoint,
            key,
            trust,
            spool,
            options,
            desired,
            report,
            pushes,
            connected,
            state_verified,
            log_requests,
            log_answers,
            inspect_requests,
            inspections,
            transfer_token,
            reported,
            spool_failing: false,
        };
        Ok((link, ends))
    }

    /// Connects, serves and reconnects until `shutdown`.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let mut backoff = Backoff::new(BACKOFF_FIRST, BACKOFF_MOST);
        let mut last_reason = None;
        loop {
            let began = Instant::now();
            let ended = self.connection(&shutdown).await;
            let was_open = self.connected.send_replace(false);
            self.state_verified.send_replace(false);
            self.query_logs(LogRequest::CancelAll);
            self.inspect(InspectRequest::CancelAll);
            while self.log_answers.try_recv().is_ok() {}
            while self.inspections.try_recv().is_ok() {}
            self.transfer_token.send_replace(String::new());
            if was_open {
                last_reason = None;
            }
            if was_open && began.elapsed() > BACKOFF_MOST {
                backoff.reset();
            }
            let pause = match &ended {
                DisconnectReason::Shutdown => break,
                DisconnectReason::Closed(CloseReason::ByGateway { retryable: false, code, .. }) => {
                    if code == SERVER_UNKNOWN {
                        self.reported.send_replace(true);
                    }
                    PAUSE_REFUSED.max(backoff.pause())
                }
                _ => backoff.pause(),
            };
            let reason = chain(&ended);
            // Warns once per reason, since an outage may last for days.
            if last_reason.as_ref() == Some(&reason) {
                tracing::debug!(reason, again_in_ms = pause.as_millis() as u64, "no link");
            } else {
                tracing::warn!(reason, again_in_ms = pause.as_millis() as u64, "no link");
                last_reason = Some(reason);
            }
            if self.spooling(&shutdown, sleep(pause)).await.is_none() {
                break;
            }
        }
        self.drain_queue();
    }

    async fn connection(&mut self, shutdown: &CancellationToken) -> DisconnectReason {
        let endpoint = self.endpoint.clone();
        let mut socket = match self.spooling(shutdown, endpoint.connect()).await {
            None => return DisconnectReason::Shutdown,
            Some(Err(error)) => return error.into(),
            Some(Ok(socket)) => socket,
        };
        let ended = match self.converse(&mut socket, shutdown).await {
            Ok(ended) | Err(ended) => ended,
        };
        socket::close(&mut socket).await;
        ended
    }

    /// Runs `work` while it spools pushes; `None` at shutdown.
    async fn spooling<F: Future>(&mut self, shutdown: &CancellationToken, work: F) -> Option<F::Output> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return None,
                output = &mut work => return Some(output),
                Some(body) = self.pushes.recv() => self.keep(body),
            }
        }
    }

    async fn converse(
        &mut self,
        socket: &mut LinkSocket,
        shutdown: &CancellationToken,
    ) -> Result<DisconnectReason, DisconnectReason> {
        let now = Instant::now().into_std();
        self.options.capabilities.mark_unchanged();
        let (mut session, actions) = Session::start(self.hello(), self.trust.held(), now, clock::unix_us);
        session = self.act(socket, session, actions).await?;
        self.report.mark_unchanged();
        loop {
            while session.wants_push() {
                let Some(push) = self.spool.read()? else { break };
                session = self.feed(socket, session, SessionEvent::Push(Box::new(push))).await?;
            }
            socket::flush(socket).await?;
            let deadline = Instant::from_std(session.deadline());
            let event = tokio::select! {
                () = shutdown.cancelled() => return Ok(DisconnectReason::Shutdown),
                // Only a hello carries capabilities, so a change reconnects.
                Ok(()) = self.options.capabilities.changed() => return Ok(DisconnectReason::CapabilitiesChanged),
                body = socket::next(socket) => SessionEvent::Received(body?),
                Some(body) = self.pushes.recv() => { self.keep(body); continue }
                // Takes answers only after `flush`, so that at most one waits for the connection.
                Some(lines) = self.log_answers.recv() => SessionEvent::Lines(Box::new(lines)),
                Some(found) = self.inspections.recv() => SessionEvent::Inspection(Box::new(found)),
                Ok(()) = self.report.changed() => match self.latest_report() { Some(event) => event, None => continue },
                () = sleep_until(deadline) => SessionEvent::Tick,
            };
            session = self.feed(socket, session, event).await?;
        }
    }

    async fn feed(
        &mut self,
        socket: &mut LinkSocket,
        session: Session,
        event: SessionEvent,
    ) -> Result<Session, DisconnectReason> {
        let (session, actions) = session.step(event, Instant::now().into_std());
        self.act(socket, session, actions).await
    }

    /// Executes the state machine's actions and feeds their results back at once.
    async fn act(
        &mut self,
        socket: &mut LinkSocket,
        mut session: Session,
        actions: Vec<SessionAction>,
    ) -> Result<Session, DisconnectReason> {
        let mut todo = std::collections::VecDeque::from(actions);
        while let Some(action) = todo.pop_front() {
            let answer = match action {
                SessionAction::Send(body) => {
                    socket::feed(socket, *body).await?;
                    None
                }
                SessionAction::Prove(nonce) => {
                    Some(SessionEvent::Proved(self.key.sign_hello(&self.options.config.server_id, &nonce)))
                }
                SessionAction::Open { acked, transfer_token } => {
                    self.spool.rewind(acked)?;
                    self.transfer_token.send_replace(transfer_token);
                    self.connected.send_replace(true);
                    tracing::info!(control = ?self.endpoint, "linked");
                    None
                }
                SessionAction::VerifyState(signed) => {
                    self.verify_state(&signed);
                    Some(SessionEvent::StateVerified(self.trust.held()))
                }
                SessionAction::Acknowledged(sequence) => {
                    self.spool.acknowledge(sequence)?;
                    None
                }
                SessionAction::WantReport => self.latest_report(),
                SessionAction::ReportStored => {
                    self.reported.send_replace(true);
                    None
                }
                SessionAction::QueryLogs(request) => {
                    self.query_logs(request);
                    None
                }
                SessionAction::Inspect(request) => {
                    self.inspect(request);
                    None
                }
                SessionAction::Close(reason) => return Err(DisconnectReason::Closed(reason)),
            };
            if let Some(event) = answer {
                let (next, more) = session.step(event, Instant::now().into_std());
                session = next;
                todo.extend(more);
            }
        }
        Ok(session)
    }

    fn verify_state(&mut self, signed: &agent::SignedState) {
        match self.trust.offer(signed) {
            Ok(StateDecision::Accepted(state)) => {
                tracing::info!(version = %state.version, "desired state accepted");
                self.desired.send_replace(AcceptedState { state: Some(Arc::from(state)), refused: None });
                self.state_verified.send_replace(true);
            }
            Ok(StateDecision::Unchanged) => {
                self.desired.send_if_modified(|desired| desired.refused.take().is_some());
                self.state_verified.send_replace(true);
            }
            Err(refusal) => {
                self.state_verified.send_replace(false);
                let refused = Some((refusal.code(), refusal.to_string()));
                tracing::error!(code = refusal.code(), reason = %refusal, "desired state refused");
                self.desired.send_if_modified(|desired| {
                    let changed = desired.refused != refused;
                    desired.refused = refused;
                    changed
                });
            }
        }
    }

    fn query_logs(&self, request: LogRequest) {
        // The channel is closed only while the agent shuts down.
        self.log_requests.send(request).ok();
    }

    fn inspect(&self, request: InspectRequest) {
        // The channel is closed only while the agent shuts down.
        self.inspect_requests.send(request).ok();
    }

    fn latest_report(&mut self) -> Option<SessionEvent> {
        self.report.borrow_and_update().clone().map(|report| SessionEvent::Report(Box::new(report)))
    }

    fn hello(&self) -> agent::Hello {
        let applied = self.report.borrow().as_ref().and_then(|report| report.applied);
        agent::Hello {
            protocol_version: LINK_PROTOCOL,
            server_id: self.options.config.server_id.to_string(),
            agent_version: self.options.agent_version.clone(),
            capabilities: self.options.capabilities.borrow().clone(),
            applied: applied.or(Some(agent::Version::default())),
            host: Some(self.options.host.clone()),
            sealing: Some(self.key.sign_sealing(&self.options.sealing_recipient)),
        }
    }

    fn keep(&mut self, body: push::Body) {
        match self.spool.append(body) {
            Ok(_) => self.spool_failing = false,
            Err(error) if self.spool_failing => tracing::debug!(%error, "a push was not spooled"),
            Err(error) => {
                self.spool_failing = true;
                tracing::error!(%error, "samples and logs can't be spooled and are lost until this ends");
            }
        }
    }

    fn drain_queue(&mut self) {
        self.pushes.close();
        while let Ok(body) = self.pushes.try_recv() {
            self.keep(body);
        }
    }
}

fn close_message(reason: &CloseReason) -> String {
    match reason {
        CloseReason::ByGateway { code, message, .. } => format!("{message} ({code})"),
        CloseReason::OutOfTurn(what) => format!("the control plane broke the protocol: {what}"),
        CloseReason::Silent => "the control plane fell silent".into(),
    }
}
