//! Worker of one core: a thread with its own event loop, listeners, connections and counters. Other threads
//! communicate with it by messages only.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc::{SendError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairlead_reactor::{Listener, SendRing, Stream, Task, block_on_with, sleep, spawn, timeout, yield_now};
use fairlead_tls::ServerConfigs;
use tokio::sync::{mpsc, oneshot};

use crate::access_log::{AccessLogger, LogMessage};
use crate::client;
use crate::control::{ListenerKind, OwnedListener};
use crate::core::{AnnouncedPorts, AppMessage, Core, CoreStats, DrainOptions, Sibling, Siblings, WakeRequests};
use crate::h3::{self, EndpointSockets, QuicSettings};
use crate::limits::Limits;
use crate::snapshot::Snapshot;

const SWEEP: Duration = Duration::from_secs(1);
/// Number of clients accepted in one turn, which is less than a whole task turn: a task that has spent its turn waits
/// behind all others.
const ACCEPTS_A_TURN: u32 = 16;
/// Pause after an accept error of the machine, such as exhausted file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Minimum interval between log messages about pauses; every pause is counted.
const PAUSE_LOG_INTERVAL_MS: u64 = 60_000;
/// Maximum wait before a full core checks for room again.
const ROOM_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Command from the control thread to a core.
pub(crate) enum CoreCommand {
    Apply(Arc<Snapshot>, oneshot::Sender<()>),
    /// Sets the health check result of an instance.
    Health {
        instance: Box<str>,
        healthy: bool,
    },
    /// Serves a client of another core that is full.
    Adopt(AcceptedClient),
    /// Passes a message to an app.
    App(AppMessage),
    /// Collects the numbers since the last collection.
    Collect(oneshot::Sender<CoreStats>),
    /// Stops accepting; answers when the last connection has ended. A second drain replaces the options.
    Drain(DrainOptions, oneshot::Sender<()>),
    /// Panics in the task of this name.
    #[cfg(test)]
    Fault(&'static str),
}

/// Accepted client on its way to another core.
#[derive(Debug)]
pub(crate) struct AcceptedClient {
    socket: OwnedFd,
    peer: SocketAddr,
    is_https: bool,
}

/// Options of a worker.
pub(crate) struct WorkerOptions {
    pub(crate) index: usize,
    pub(crate) limits: Limits,
    pub(crate) ports: AnnouncedPorts,
    /// TLS configuration of the HTTPS listeners.
    pub(crate) tls: Arc<ServerConfigs>,
    pub(crate) listeners: Vec<OwnedListener>,
    /// `None` where the kernel or a container forbids io_uring.
    pub(crate) send_ring: Option<SendRing>,
    pub(crate) quic: QuicSettings,
    /// One for each QUIC listener, in the same order.
    pub(crate) ways: Vec<EndpointSockets>,
    pub(crate) access_log: SyncSender<LogMessage>,
    /// Receives keys of sleeping apps that requests wait for.
    pub(crate) wakes: WakeRequests,
    /// All cores; set once all have started.
    pub(crate) siblings: Siblings,
}

/// Handle of a running core.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) commands: mpsc::UnboundedSender<CoreCommand>,
    clients: Arc<AtomicU32>,
    thread: JoinHandle<()>,
}

impl Worker {
    pub(crate) fn spawn(mut options: WorkerOptions) -> io::Result<Self> {
        let (commands, received) = mpsc::unbounded_channel();
        let (started, has_started) = sync_channel::<io::Result<()>>(1);
        let clients = Arc::<AtomicU32>::default();
        let clients_open = Arc::clone(&clients);
        let thread = std::thread::Builder::new().name(format!("core-{}", options.index)).spawn(move || {
            let ended = block_on_with(options.send_ring.take(), async {
                if started.send(Ok(())).is_ok() {
                    serve(options, received, clients_open).await;
                }
            });
            // After the start the receiver is gone, so the error is logged.
            if let Err(error) = ended
                && let Err(SendError(Err(error))) = started.send(Err(error))
            {
                tracing::error!(%error, "a core's event loop failed");
            }
        })?;
        // A thread that ended without a message has panicked.
        has_started.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(Self { commands, clients, thread })
    }

    /// Returns the entry for the other cores.
    pub(crate) fn sibling(&self) -> Sibling {
        Sibling { clients: Arc::clone(&self.clients), commands: self.commands.downgrade() }
    }

    /// True if the thread has ended because a task that the whole core needs has panicked.
    pub(crate) fn is_dead(&self) -> bool {
        self.thread.is_finished()
    }
}

async fn serve(
    options: WorkerOptions,
    mut commands: mpsc::UnboundedReceiver<CoreCommand>,
    clients_open: Arc<AtomicU32>,
) {
    let access_log = AccessLogger::new(options.access_log);
    let siblings = options.siblings.seen_by(options.index);
    let core = Core::new(options.limits, options.ports, access_log, clients_open, siblings);
    core.set_wake_requests(options.wakes);
    spawn_vital(&core, "clock", tick(Rc::clone(&core)));
    let rounds = Rc::clone(&core);
    spawn_vital(&core, "handshakes", async move { rounds.handshakes.count_rounds(Instant::now).await });
    let mut accepting = Vec::new();
    let mut ways = options.ways.into_iter();
    for listener in options.listeners {
        if listener.kind == ListenerKind::Quic {
            if let Some(ways) = ways.next() {
                spawn_vital(&core, "quic", h3::serve(Rc::clone(&core), listener, options.quic.clone(), ways));
            }
            continue;
        }
        let tls = (listener.kind == ListenerKind::Https).then(|| Arc::clone(&options.tls));
        accepting.push(spawn_vital(&core, "accept", accept(Rc::clone(&core), listener, tls)));
    }
    loop {
        let command = tokio::select! {
            () = core.failed.notified() => return tracing::error!("a task of a core panicked; the core ends"),
            command = commands.recv() => command,
        };
        let Some(command) = command else { return };
        match command {
            CoreCommand::App(message) => core.receive(message),
            CoreCommand::Adopt(accepted) => adopt(&core, accepted, &options.tls),
            #[cfg(test)]
            CoreCommand::Fault(task) => tests::fault_in(task),
            CoreCommand::Apply(snapshot, applied) => {
                core.apply(snapshot);
                reply(applied, ());
            }
            CoreCommand::Health { instance, healthy } => core.set_health(&instance, healthy),
            CoreCommand::Collect(stats) => reply(stats, core.collect()),
            CoreCommand::Drain(order, drained) => {
                accepting.drain(..).for_each(|task| task.abort());
                core.drain(order);
                spawn_vital(&core, "drain", reply_when_empty(Rc::clone(&core), drained));
            }
        }
    }
}

/// Runs a task that the whole core needs. A panic in it ends the core, and with it the proxy, which then restarts.
fn spawn_vital(core: &Rc<Core>, name: &'static str, task: impl Future<Output = ()> + 'static) -> Task {
    let vital = Vital(Rc::clone(core));
    #[cfg(test)]
    let task = tests::with_faults(name, task);
    spawn(async move {
        let _vital = vital;
        task.await;
        tracing::debug!(name, "a task of a core has ended");
    })
}

/// Guard that a task holds while it runs.
struct Vital(Rc<Core>);

impl Drop for Vital {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.notify_one();
        }
    }
}

/// Sends an answer. The receiver may have stopped waiting; the command was executed all the same.
pub(crate) fn reply<T>(answer: oneshot::Sender<T>, value: T) {
    if answer.send(value).is_err() {
        tracing::debug!("nobody waited for an answer");
    }
}

async fn reply_when_empty(core: Rc<Core>, drained: oneshot::Sender<()>) {
    loop {
        let ended = core.connection_ended.notified();
        if core.open_connections() == 0 {
            core.access_log.flush();
            reply(drained, ());
            return;
        }
        ended.await;
    }
}

async fn tick(core: Rc<Core>) {
    let mut sweep_at_ms = 0;
    loop {
        core.tick();
        if core.alarms.now_ms() >= sweep_at_ms {
            sweep_at_ms = core.alarms.now_ms() + u64::try_from(SWEEP.as_millis()).unwrap_or(u64::MAX);
            core.sweep();
        }
        sleep(core.limits.tick).await;
    }
}

/// Waits until this core or another one has room. If a client waits, closes idle connections, the longest idle first.
async fn wait_for_room(core: &Core, listener: &Listener, pauses: &mut Pauses, address: SocketAddr) {
    loop {
        let ended = core.connection_ended.notified();
        if !core.is_full() || core.siblings.have_room(core.limits.connections_max) {
            return;
        }
        let is_wanted = listener.has_waiting().unwrap_or(true);
        if is_wanted && !core.make_room() {
            pauses.begin(core, address, &"a core has reached its limit of clients");
        }
        // A client may come, another core may get room, or a connection may have idled long enough.
        let waited = timeout(ROOM_CHECK_INTERVAL, ended).await;
        tracing::trace!(in_time = waited.is_ok(), "looking for room again");
    }
}

/// Accepts clients once a snapshot is in use; until then they wait in the accept queue of the kernel.
async fn accept(core: Rc<Core>, listener: OwnedListener, tls: Option<Arc<ServerConfigs>>) {
    let address = listener.address;
    let listener = match listener.into_tcp().and_then(Listener::new) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%address, %error, "can't listen"),
    };
    core.wait_for_routes().await;
    let mut pauses = Pauses::default();
    let mut accepts = 0;
    loop {
        if core.is_full() {
            wait_for_room(&core, &listener, &mut pauses, address).await;
        }
        match next_client(&listener, &mut accepts).await {
            Ok((socket, peer)) => {
                pauses.end(address);
                if !core.is_full() {
                    spawn(client::serve(Rc::clone(&core), socket, peer, tls.clone()));
                } else if !hand_over(&core, &socket, peer, tls.is_some()) {
                    // Another core filled this one in the meantime.
                    spawn(serve_once_there_is_room(Rc::clone(&core), socket, peer, tls.clone()));
                }
            }
            // The client left before it was accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                pauses.begin(&core, address, &error);
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Accepts a client. It yields before its turn is spent, so tasks that spend theirs do not delay the next client.
async fn next_client(listener: &Listener, accepts: &mut u32) -> io::Result<(Stream, SocketAddr)> {
    *accepts = accepts.wrapping_add(1);
    if accepts.is_multiple_of(ACCEPTS_A_TURN) {
        yield_now().await;
    }
    listener.accept().await
}

async fn serve_once_there_is_room(core: Rc<Core>, socket: Stream, peer: SocketAddr, tls: Option<Arc<ServerConfigs>>) {
    while core.is_full() {
        let ended = core.connection_ended.notified();
        let is_made = core.make_room();
        let waited = timeout(ROOM_CHECK_INTERVAL, ended).await;
        tracing::trace!(is_made, in_time = waited.is_ok(), "looking for room again");
    }
    client::serve(core, socket, peer, tls).await;
}

/// Hands a client to a core that has room; `false` if none has.
fn hand_over(core: &Core, socket: &Stream, peer: SocketAddr, is_https: bool) -> bool {
    core.siblings.hand_over(core.limits.connections_max, || {
        // The event loop of this core still watches the descriptor itself.
        let socket = socket.as_fd().try_clone_to_owned().ok()?;
        Some(CoreCommand::Adopt(AcceptedClient { socket, peer, is_https }))
    })
}

/// Serves a client that another core accepted.
fn adopt(core: &Rc<Core>, accepted: AcceptedClient, tls: &Arc<ServerConfigs>) {
    let AcceptedClient { socket, peer, is_https } = accepted;
    match Stream::adopt(socket) {
        Ok(socket) => {
            let (core, tls) = (Rc::clone(core), is_https.then(|| Arc::clone(tls)));
            spawn(async move {
                core.wait_for_routes().await;
                client::serve(core, socket, peer, tls).await;
            });
        }
        Err(error) => tracing::warn!(%peer, %error, "could not serve a client of another core"),
    }
}

/// Log state of pauses in accepting: logs the first pause and its end, then nothing for a while.
#[derive(Default)]
struct Pauses {
    logged: bool,
    silent_until_ms: u64,
}

impl Pauses {
    fn begin(&mut self, core: &Core, address: SocketAddr, reason: &dyn fmt::Display) {
        core.accept_pauses.set(core.accept_pauses.get().saturating_add(1));
        let now_ms = core.alarms.now_ms();
        if now_ms >= self.silent_until_ms {
            tracing::warn!(%address, %reason, "accepting pauses");
            self.logged = true;
            self.silent_until_ms = now_ms + PAUSE_LOG_INTERVAL_MS;
        }
    }

    fn end(&mut self, address: SocketAddr) {
        if std::mem::take(&mut self.logged) {
            tracing::warn!(%address, "accepting again");
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::{Cell, RefCell};
    use std::future::poll_fn;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::path::Path;
    use std::task::Waker;

    use fairlead_reactor::block_on;
    use fairlead_tls::{CertificateSet, CertificateStore, Tickets};
    use fairlead_wire::local::{ProxyApp, ProxyRoute, ProxySnapshot, ProxyUpstream};

    use super::*;
    use crate::access_log::AccessLogWriter;
    use crate::control::{ProxyKeys, ProxySockets};
    use crate::filters::SharedPolicyState;

    /// Returns the number of turns that always-ready tasks get while clients are accepted.
    async fn turns_beside_accepts(accepts_yield: bool) -> u32 {
        const BUSY: usize = 500;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _clients: Vec<_> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
        let listener = Listener::new(listener).unwrap();
        let turns = Rc::new(Cell::new(0));
        for _ in 0..BUSY {
            let turns = Rc::clone(&turns);
            spawn(poll_fn(move |_| {
                turns.set(turns.get() + 1);
                fairlead_reactor::defer_turn();
                std::task::Poll::<()>::Pending
            }));
        }
        let mut accepts = 0;
        for _ in 0..100 {
            if accepts_yield {
                next_client(&listener, &mut accepts).await.unwrap();
            } else {
                listener.accept().await.unwrap();
            }
        }
        turns.get()
    }

    #[test]
    fn tasks_that_spend_their_turns_do_not_delay_accepting() {
        // Each busy task has its first turn anyway.
        let most = 500 + 100;
        let turns = block_on(turns_beside_accepts(true)).unwrap();
        assert!(turns < most, "{turns}");
        // The control: an accept task that spends its turn waits behind all of them.
        let turns = block_on(turns_beside_accepts(false)).unwrap();
        assert!(turns > most, "{turns}");
    }

    /// A body that makes the core panic while it holds a client, a place at the app, and the buffer that all connections share.
    pub(crate) const FAULT: &[u8] = b"a fault that a test asked for";

    thread_local! {
        static FAULTY: Cell<Option<&'static str>> = const { Cell::new(None) };
        static TASKS: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
    }

    /// Makes the task of this name panic, on this thread.
    pub(super) fn fault_in(task: &'static str) {
        FAULTY.set(Some(task));
        TASKS.take().into_iter().for_each(Waker::wake);
    }

    /// Runs the task, which panics on request.
    pub(super) fn with_faults(
        name: &'static str,
        task: impl Future<Output = ()> + 'static,
    ) -> impl Future<Output = ()> + 'static {
        let mut task = Box::pin(task);
        poll_fn(move |cx| {
            assert_ne!(FAULTY.get(), Some(name), "a fault that a test asked for");
            TASKS.with_borrow_mut(|tasks| tasks.push(cx.waker().clone()));
            task.as_mut().poll(cx)
        })
    }

    /// An app that answers `/fault` with the fault and everything else with `ok`.
    fn app() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    while let Some(head) = head(&mut stream) {
                        let body = if head.starts_with("GET /fault ") { FAULT } else { b"ok" };
                        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
                    }
                });
            }
        });
        address
    }

    fn head(stream: &mut TcpStream) -> Option<String> {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        Some(String::from_utf8(head).unwrap())
    }

    /// Sends a request and returns the status line; `None` if the connection ends. Asserts that the body is `ok`.
    fn ask(stream: &mut TcpStream, path: &str) -> Option<String> {
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a.localhost\r\n\r\n").as_bytes()).ok()?;
        let head = head(stream)?;
        let mut body = [0; 2];
        stream.read_exact(&mut body).ok()?;
        assert_eq!(&body, b"ok");
        head.lines().next().map(str::to_owned)
    }

    fn table(app: SocketAddr) -> Arc<Snapshot> {
        let upstream = ProxyUpstream { instance_id: "ins_1".into(), address: app.to_string(), ..Default::default() };
        let table = ProxySnapshot {
            routes: vec![ProxyRoute {
                host: "a.localhost".into(),
                path_prefix: "/".into(),
                app_key: "a".into(),
                ..Default::default()
            }],
            apps: vec![ProxyApp {
                app_key: "a".into(),
                upstreams: vec![upstream],
                measured: true,
                ..Default::default()
            }],
            ..Default::default()
        };
        Arc::new(Snapshot::read(&table, &CertificateSet::default(), &SharedPolicyState::new().unwrap()).unwrap())
    }

    /// Core with routes, and its address.
    fn core(folder: &Path) -> (Worker, SocketAddr) {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let sockets = ProxySockets::bind(&[any], &[any], 1, &folder.join("a.sock")).unwrap();
        let address = sockets.address(ListenerKind::Http).unwrap();
        let quic_port = sockets.address(ListenerKind::Quic).map(|address| address.port());
        let (limits, keys) = (Limits::default(), ProxyKeys::generate().unwrap());
        let tickets = Tickets::new(&keys.tickets).unwrap();
        let tls = ServerConfigs::new(Arc::new(CertificateStore::default()), tickets).unwrap();
        let quic = QuicSettings::new(tls.plain(), &keys, &limits).unwrap();
        let base = folder.join("a.sock");
        let mut listeners = vec![sockets.listeners];
        let ways = EndpointSockets::of_cores(&listeners, quic.generation, &base).remove(0);
        let worker = Worker::spawn(WorkerOptions {
            index: 0,
            limits,
            ports: AnnouncedPorts { https: None, quic: quic_port },
            tls,
            listeners: listeners.remove(0),
            send_ring: None,
            quic,
            ways,
            access_log: AccessLogWriter::start().unwrap(),
            wakes: mpsc::unbounded_channel().0,
            siblings: Siblings::default(),
        })
        .unwrap();
        let (applied, is_applied) = oneshot::channel();
        worker.commands.send(CoreCommand::Apply(table(app()), applied)).unwrap();
        is_applied.blocking_recv().unwrap();
        (worker, address)
    }

    #[test]
    fn a_panic_in_a_task_that_all_of_the_core_needs_ends_the_core() {
        for task in ["clock", "handshakes", "accept", "quic"] {
            let folder = tempfile::tempdir().unwrap();
            let (worker, address) = core(folder.path());
            let mut client = TcpStream::connect(address).unwrap();
            assert_eq!(ask(&mut client, "/").as_deref(), Some("HTTP/1.1 200 OK"));
            worker.commands.send(CoreCommand::Fault(task)).unwrap();
            // The core ends here; the process that started the proxy restarts it.
            worker.thread.join().unwrap();
            assert_eq!(ask(&mut client, "/"), None, "{task}");
        }
    }

    #[test]
    fn a_panic_ends_one_connection_and_leaks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (worker, address) = core(folder.path());
        let collect = || {
            let (stats, collected) = oneshot::channel();
            worker.commands.send(CoreCommand::Collect(stats)).unwrap();
            collected.blocking_recv().unwrap()
        };
        let mut other = TcpStream::connect(address).unwrap();
        assert_eq!(ask(&mut other, "/").as_deref(), Some("HTTP/1.1 200 OK"));
        let mut panics = 0;
        for _ in 0..3 {
            let mut client = TcpStream::connect(address).unwrap();
            assert_eq!(ask(&mut client, "/fault"), None);
            // The other connection is still served by the same core.
            assert_eq!(ask(&mut other, "/").as_deref(), Some("HTTP/1.1 200 OK"));
            let stats = collect();
            panics += stats.panics;
            assert_eq!((stats.open_connections, stats.apps[0].in_flight, stats.instances[0].1), (1, 0, 0));
        }
        assert_eq!(panics, 3);
        assert!(!worker.is_dead());
    }
}
