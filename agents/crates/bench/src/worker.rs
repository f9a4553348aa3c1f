//! Worker thread of the load generator: a current-thread runtime with its part of the clients.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use fairlead_base::CancellationToken;
use fairlead_model::BenchmarkProbe;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::{JoinSet, LocalSet};

use crate::client::{LoadTarget, OPENINGS_MAX, Protocol, STREAMS_PER_CONNECTION, Shared, SharedRef, Window};
use crate::connect::ClientSockets;
use crate::grpc::Grpc;
use crate::http1::KeptClient;
use crate::http2::Http2;
use crate::http3::Http3;
use crate::mode::Mode;
use crate::multiplexed::{Multiplexed, SharedConnection, StreamClient};
use crate::open_loop::{self, OpenLoop};
use crate::order::RequestOrder;
use crate::pacer::Pacer;
use crate::tally::{BusyClock, LoadTally};
use crate::{http1, keepalive, probe};

/// Task of one worker.
#[derive(Debug)]
pub(crate) struct WorkerTask {
    pub(crate) destination: LoadTarget,
    pub(crate) protocol: Protocol,
    /// `None`: plain requests.
    pub(crate) probe: Option<BenchmarkProbe>,
    pub(crate) mode: Mode,
    /// `None`: closed loop.
    pub(crate) open_loop: Option<OpenLoop>,
    /// Time of a client between a response and its next request, in a closed loop.
    pub(crate) think_time: Duration,
    pub(crate) request_timeout: Duration,
    /// True if the workers do not take all cores.
    pub(crate) leaves_cores: bool,
    pub(crate) clients: u32,
    /// Number of the first client among those of all workers.
    pub(crate) first_client: u32,
    pub(crate) ready: Arc<AtomicU32>,
    /// Announces the measured time.
    pub(crate) window: watch::Receiver<Option<Window>>,
    pub(crate) cancel: CancellationToken,
    /// Network namespace of the clients; `None`: that of this process.
    pub(crate) network: Option<Arc<OwnedFd>>,
}

/// Starts a worker. It sends its tally after the window or a cancellation; a closed channel means that it panicked.
pub(crate) fn spawn(task: WorkerTask) -> io::Result<oneshot::Receiver<LoadTally>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let pacer = {
        let _entered = runtime.enter();
        Pacer::new(task.open_loop.map_or(0.0, |open_loop| open_loop.share_of(task.clients)))?
    };
    let (done, tally) = oneshot::channel();
    std::thread::Builder::new().name("bench".to_owned()).spawn(move || {
        if let Some(network) = &task.network
            && let Err(error) = fairlead_network::join(network.as_fd())
        {
            // A closed channel ends the measurement.
            tracing::error!(%error, "a benchmark worker can't enter its network");
            return;
        }
        if task.open_loop.is_some() && task.leaves_cores {
            raise_priority();
        }
        let local = LocalSet::new();
        let tally = runtime.block_on(local.run_until(work(task, pacer)));
        if done.send(tally).is_err() {
            tracing::debug!("nobody waits for this benchmark worker any more");
        }
    })?;
    Ok(tally)
}

/// Gives this thread real-time priority if the system allows it and other cores are left. Clients on other machines would not
/// wait for processes of this one.
#[allow(unsafe_code)]
fn raise_priority() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads one structure that outlives it; zero means this thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } != 0 {
        let error = io::Error::last_os_error();
        tracing::debug!(%error, "an open loop keeps its normal priority");
    }
}

async fn work(task: WorkerTask, pacer: Pacer) -> LoadTally {
    let WorkerTask { destination, protocol, mode, open_loop, request_timeout, clients, first_client, .. } = task;
    let WorkerTask { ready, mut window, cancel, think_time, probe, .. } = task;
    let tally = RefCell::new(LoadTally::default());
    let openings = Semaphore::new(OPENINGS_MAX);
    let announcement = window.clone();
    let sockets = ClientSockets::default();
    let busy = RefCell::new(BusyClock::new(clients));
    let weights: Vec<u32> = destination.requests.iter().map(|request| request.weight).collect();
    let order = RequestOrder::new(&weights);
    let shared = Rc::new(Shared {
        destination,
        mode,
        order,
        think_time,
        request_timeout,
        pacer,
        busy,
        sockets,
        openings,
        window: Cell::new(None),
        announcement,
        tally,
        ready,
    });
    let mut tasks = JoinSet::new();
    let prepared = shared.clone();
    tasks.spawn_local(async move { prepared.prepare().await });
    for kind in std::iter::repeat_n(probe, clients as usize).flatten() {
        tasks.spawn_local(probe::run(shared.clone(), kind));
    }
    match protocol {
        _ if probe.is_some() => {}
        Protocol::Http1 if mode == Mode::Keepalive && open_loop.is_none() => {
            tasks.spawn_local(keepalive::run(shared.clone(), clients));
        }
        Protocol::Http1 => {
            let requests = http1::requests(&shared.destination, matches!(mode, Mode::Fresh | Mode::Resumed));
            for client in first_client..first_client + clients {
                match open_loop {
                    Some(open_loop) => {
                        let requester = KeptClient::new(requests.clone());
                        tasks.spawn_local(open_loop::run(shared.clone(), open_loop, client, requester))
                    }
                    None => tasks.spawn_local(http1::run(shared.clone(), requests.clone())),
                };
            }
        }
        Protocol::Http2 => spawn_streams::<Http2>(&mut tasks, &shared, open_loop, first_client, clients),
        Protocol::Grpc => spawn_streams::<Grpc>(&mut tasks, &shared, open_loop, first_client, clients),
        Protocol::Http3 => spawn_streams::<Http3>(&mut tasks, &shared, open_loop, first_client, clients),
    }
    let measured = async {
        let known = window.wait_for(Option::is_some).await.ok().and_then(|window| *window);
        shared.window.set(known);
        tokio::time::sleep_until(known.map_or_else(Instant::now, |window| window.end).into()).await;
        if open_loop.is_some() {
            // Every sent request ends by its response or its timeout, and counts.
            while tasks.join_next().await.is_some() {}
        }
    };
    tokio::select! {
        () = measured => {}
        () = cancel.cancelled() => {}
        failed = shared.pacer.run() => tracing::error!(?failed, "the timer of a benchmark worker failed"),
    }
    tasks.shutdown().await;
    shared.tally.take()
}

/// Starts clients that share connections.
fn spawn_streams<P: Multiplexed>(
    tasks: &mut JoinSet<()>,
    shared: &SharedRef,
    open_loop: Option<OpenLoop>,
    first_client: u32,
    clients: u32,
) {
    let requests = match P::requests(&shared.destination) {
        Ok(requests) => requests,
        Err(error) => return shared.failed(&error),
    };
    let mut connection = SharedConnection::<P>::new(shared.clone(), requests.clone());
    for number in 0..clients {
        if number > 0 && number.is_multiple_of(STREAMS_PER_CONNECTION) {
            connection = SharedConnection::new(shared.clone(), requests.clone());
        }
        let client = StreamClient::new(connection.clone());
        match open_loop {
            None => tasks.spawn_local(client.run()),
            Some(open_loop) => {
                tasks.spawn_local(open_loop::run(shared.clone(), open_loop, first_client + number, client))
            }
        };
    }
}
