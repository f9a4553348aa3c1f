//! Keeps the one connection: dials, drives the session machine, spools while it is down. Owns reconnection.
//! Never applies a state and never waits for whoever does.

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
use crate::dial::{DialError, Endpoint, Socket};
use crate::key::{AgentKey, KeyError};
use crate::session::{Action, Closed, Event, InspectRequest, LogRequest, Session};
use crate::socket::{self, SocketError};
use crate::spool::{Spool, SpoolLimits};
use crate::trust::{Trust, TrustError, Verdict};

/// Pushes waiting for the spool; a full queue holds log readers back and drops frames.
const PUSH_QUEUE: usize = 256;
/// Answers of logs on their way; each holds a few hundred KiB at most.
const ANSWER_QUEUE: usize = 4;
const BACKOFF_FIRST: Duration = Duration::from_millis(250);
const BACKOFF_MOST: Duration = Duration::from_secs(15);
/// After an answer that trying again will not change, like a server that was deleted.
const PAUSE_REFUSED: Duration = Duration::from_secs(60);

/// What the link needs to know.
#[derive(Debug)]
pub struct LinkOptions {
    /// Who this is and whom it dials.
    pub config: AgentConfig,
    /// The data folder.
    pub folders: Folders,
    /// This agent's version.
    pub agent_version: String,
    /// This host, for people.
    pub host: agent::HostInfo,
    /// What this server can do, told when a connection begins; a change makes a new one.
    pub capabilities: watch::Receiver<Vec<String>>,
    /// Whom to seal this server's secrets to, `age1…`.
    pub sealing_recipient: String,
    /// Bounds of the spool.
    pub spool: SpoolLimits,
}

/// Why the link can't start.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The key is missing or damaged.
    #[error("{path} can't be used")]
    Key {
        /// File of the key.
        path: PathBuf,
        /// Reason.
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

/// What the control plane wants, as far as it was accepted.
#[derive(Debug, Clone, Default)]
pub struct Desired {
    /// The newest state accepted, also from before a restart.
    pub state: Option<Arc<DesiredState>>,
    /// Why the newest one offered was refused: a code and a sentence.
    pub refused: Option<(&'static str, String)>,
}

/// Hands samples and log lines to the spool.
#[derive(Debug, Clone)]
pub struct PushSender(mpsc::Sender<push::Body>);

impl PushSender {
    /// A sender and what it is emptied by; the link makes its own.
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<push::Body>) {
        let (sender, receiver) = mpsc::channel(capacity);
        (Self(sender), receiver)
    }

    /// Hands over one frame; `false` when the disk can't follow and it was dropped.
    pub fn frame(&self, frame: agent::Frame) -> bool {
        self.0.try_send(push::Body::Frame(frame)).is_ok()
    }

    /// Hands over log lines, waiting for room: a log has no gaps. `false` when the link has ended.
    pub async fn log(&self, chunk: agent::LogChunk) -> bool {
        self.0.send(push::Body::Log(chunk)).await.is_ok()
    }
}

/// The agent's ends of the link.
#[derive(Debug)]
pub struct LinkEnds {
    /// What to do; the saved state is there from the start.
    pub desired: watch::Receiver<Desired>,
    /// What is true: every new value is sent at once, and the last one every 30 s.
    pub report: watch::Sender<Option<agent::Report>>,
    /// Samples and logs.
    pub pushes: PushSender,
    /// Whether a session is open.
    pub connected: watch::Receiver<bool>,
    /// What is asked of the apps' logs.
    pub log_requests: mpsc::UnboundedReceiver<LogRequest>,
    /// The answers; whoever answers waits while the connection is slow. What nobody waits for any more is dropped.
    pub log_answers: mpsc::Sender<agent::LogLines>,
    /// Sources to inspect.
    pub inspect_requests: mpsc::UnboundedReceiver<InspectRequest>,
    /// Plans of sources; the same holds as for `log_answers`.
    pub inspections: mpsc::Sender<agent::Inspection>,
    /// Opens the artifact store while a session is; empty without one.
    pub transfer_token: watch::Receiver<String>,
}

/// The link of an enrolled agent.
#[derive(Debug)]
pub struct Link {
    endpoint: Endpoint,
    key: AgentKey,
    trust: Trust,
    spool: Spool,
    options: LinkOptions,
    desired: watch::Sender<Desired>,
    report: watch::Receiver<Option<agent::Report>>,
    pushes: mpsc::Receiver<push::Body>,
    connected: watch::Sender<bool>,
    log_requests: mpsc::UnboundedSender<LogRequest>,
    log_answers: mpsc::Receiver<agent::LogLines>,
    inspect_requests: mpsc::UnboundedSender<InspectRequest>,
    inspections: mpsc::Receiver<agent::Inspection>,
    transfer_token: watch::Sender<String>,
    spool_failing: bool,
}

#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error("the spool can't be read")]
    Spool(#[from] io::Error),
    #[error("{}", closed(.0))]
    Closed(Closed),
    #[error("what this server can do has changed")]
    Changed,
    #[error("the agent stops")]
    Shutdown,
}

impl Link {
    /// Reads key, saved state and spool. Dials nothing yet.
    pub fn open(options: LinkOptions) -> Result<(Self, LinkEnds), LinkError> {
        let endpoint = Endpoint::new(&options.config.control_url, options.config.control_ca_file.as_deref())?;
        let path = options.folders.key();
        let key = AgentKey::open(&path).map_err(|source| LinkError::Key { path, source })?;
        let (trust, saved) = Trust::open(&options.config, &options.folders)?;
        let spool = Spool::open(&options.folders.spool(), options.spool)?;
        let (desired, desired_end) = watch::channel(Desired { state: saved.map(Arc::new), refused: None });
        let (report_end, report) = watch::channel(None);
        let (pushes_end, pushes) = PushSender::channel(PUSH_QUEUE);
        let (connected, connected_end) = watch::channel(false);
        let (log_requests, log_requests_end) = mpsc::unbounded_channel();
        let (log_answers_end, log_answers) = mpsc::channel(ANSWER_QUEUE);
        let (inspect_requests, inspect_requests_end) = mpsc::unbounded_channel();
        let (inspections_end, inspections) = mpsc::channel(ANSWER_QUEUE);
        let (transfer_token, token_end) = watch::channel(String::new());
        let ends = LinkEnds {
            desired: desired_end,
            report: report_end,
            pushes: pushes_end,
            connected: connected_end,
            log_requests: log_requests_end,
            log_answers: log_answers_end,
            inspect_requests: inspect_requests_end,
            inspections: inspections_end,
            transfer_token: token_end,
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
            log_requests,
            log_answers,
            inspect_requests,
            inspections,
            transfer_token,
            spool_failing: false,
        };
        Ok((link, ends))
    }

    /// Dials, serves and dials again until `shutdown`.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let mut backoff = Backoff::new(BACKOFF_FIRST, BACKOFF_MOST);
        let mut told = None;
        loop {
            let began = Instant::now();
            let ended = self.connection(&shutdown).await;
            let was_open = self.connected.send_replace(false);
            self.ask(LogRequest::CancelAll);
            self.inspect(InspectRequest::CancelAll);
            while self.log_answers.try_recv().is_ok() {}
            while self.inspections.try_recv().is_ok() {}
            self.transfer_token.send_replace(String::new());
            if was_open {
                told = None;
            }
            if was_open && began.elapsed() > BACKOFF_MOST {
                backoff.reset();
            }
            let pause = match &ended {
                Ended::Shutdown => break,
                Ended::Closed(Closed::ByGateway { retryable: false, .. }) => PAUSE_REFUSED.max(backoff.pause()),
                _ => backoff.pause(),
            };
            let reason = chain(&ended);
            // An outage may last for days: its reason is told once, and again when it changes.
            if told.as_ref() == Some(&reason) {
                tracing::debug!(reason, again_in_ms = pause.as_millis() as u64, "no link");
            } else {
                tracing::warn!(reason, again_in_ms = pause.as_millis() as u64, "no link");
                told = Some(reason);
            }
            if self.spooling(&shutdown, sleep(pause)).await.is_none() {
                break;
            }
        }
        self.drain_queue();
    }

    async fn connection(&mut self, shutdown: &CancellationToken) -> Ended {
        let endpoint = self.endpoint.clone();
        let mut socket = match self.spooling(shutdown, endpoint.connect()).await {
            None => return Ended::Shutdown,
            Some(Err(error)) => return error.into(),
            Some(Ok(socket)) => socket,
        };
        let ended = match self.converse(&mut socket, shutdown).await {
            Ok(ended) | Err(ended) => ended,
        };
        socket::close(&mut socket).await;
        ended
    }

    /// Runs `work` while pushes go on to disk; `None` at shutdown.
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

    async fn converse(&mut self, socket: &mut Socket, shutdown: &CancellationToken) -> Result<Ended, Ended> {
        let now = Instant::now().into_std();
        self.options.capabilities.mark_unchanged();
        let (mut session, actions) = Session::start(self.hello(), self.trust.held(), now, clock::unix_ms);
        session = self.act(socket, session, actions).await?;
        self.report.mark_unchanged();
        loop {
            while session.wants_push() {
                let Some(push) = self.spool.read()? else { break };
                session = self.feed(socket, session, Event::Push(Box::new(push))).await?;
            }
            socket::flush(socket).await?;
            let deadline = Instant::from_std(session.deadline());
            let event = tokio::select! {
                () = shutdown.cancelled() => return Ok(Ended::Shutdown),
                // It is told when a connection begins.
                Ok(()) = self.options.capabilities.changed() => return Ok(Ended::Changed),
                body = socket::next(socket) => Event::Received(body?),
                Some(body) = self.pushes.recv() => { self.keep(body); continue }
                // After `flush`: the next ones are taken once these have gone.
                Some(lines) = self.log_answers.recv() => Event::Lines(Box::new(lines)),
                Some(found) = self.inspections.recv() => Event::Inspection(Box::new(found)),
                Ok(()) = self.report.changed() => match self.latest_report() { Some(event) => event, None => continue },
                () = sleep_until(deadline) => Event::Tick,
            };
            session = self.feed(socket, session, event).await?;
        }
    }

    async fn feed(&mut self, socket: &mut Socket, session: Session, event: Event) -> Result<Session, Ended> {
        let (session, actions) = session.step(event, Instant::now().into_std());
        self.act(socket, session, actions).await
    }

    /// Does what the machine said; the answers it wants go back into it at once.
    async fn act(&mut self, socket: &mut Socket, mut session: Session, actions: Vec<Action>) -> Result<Session, Ended> {
        let mut todo = std::collections::VecDeque::from(actions);
        while let Some(action) = todo.pop_front() {
            let answer = match action {
                Action::Send(body) => {
                    socket::feed(socket, *body).await?;
                    None
                }
                Action::Prove(nonce) => {
                    Some(Event::Proved(self.key.sign_hello(&self.options.config.server_id, &nonce)))
                }
                Action::Open { acked, transfer_token } => {
                    self.spool.rewind(acked)?;
                    self.transfer_token.send_replace(transfer_token);
                    self.connected.send_replace(true);
                    tracing::info!(control = ?self.endpoint, "linked");
                    None
                }
                Action::Judge(signed) => {
                    self.judge(&signed);
                    Some(Event::Judged(self.trust.held()))
                }
                Action::Acknowledged(sequence) => {
                    self.spool.acknowledge(sequence)?;
                    None
                }
                Action::WantReport => self.latest_report(),
                Action::Ask(request) => {
                    self.ask(request);
                    None
                }
                Action::Inspect(request) => {
                    self.inspect(request);
                    None
                }
                Action::Close(reason) => return Err(Ended::Closed(reason)),
            };
            if let Some(event) = answer {
                let (next, more) = session.step(event, Instant::now().into_std());
                session = next;
                todo.extend(more);
            }
        }
        Ok(session)
    }

    fn judge(&mut self, signed: &agent::SignedState) {
        match self.trust.offer(signed) {
            Ok(Verdict::Accepted(state)) => {
                tracing::info!(version = %state.version, "desired state accepted");
                self.desired.send_replace(Desired { state: Some(Arc::from(state)), refused: None });
            }
            Ok(Verdict::Held) => {
                self.desired.send_if_modified(|desired| desired.refused.take().is_some());
            }
            Err(refusal) => {
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

    fn ask(&self, request: LogRequest) {
        // Nobody who keeps logs is there only while the agent ends.
        self.log_requests.send(request).ok();
    }

    fn inspect(&self, request: InspectRequest) {
        // Closed only while the agent ends.
        self.inspect_requests.send(request).ok();
    }

    fn latest_report(&mut self) -> Option<Event> {
        self.report.borrow_and_update().clone().map(|report| Event::Report(Box::new(report)))
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

fn closed(reason: &Closed) -> String {
    match reason {
        Closed::ByGateway { code, message, .. } => format!("{message} ({code})"),
        Closed::OutOfTurn(what) => format!("the control plane broke the protocol: {what}"),
        Closed::Silent => "the control plane fell silent".into(),
    }
}
