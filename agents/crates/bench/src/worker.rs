//! One thread of load: a current-thread runtime with its share of the clients.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use fairlead_base::CancellationToken;
use tokio::sync::{oneshot, watch};
use tokio::task::LocalSet;

use crate::client::{Destination, Protocol, Shared, Tally, Window};
use crate::{http1, http2};

/// What one worker has to do.
#[derive(Debug)]
pub(crate) struct Share {
    pub(crate) destination: Destination,
    pub(crate) protocol: Protocol,
    pub(crate) clients: u32,
    pub(crate) ready: Arc<AtomicU32>,
    /// Says when measuring starts and ends, once that is known.
    pub(crate) window: watch::Receiver<Option<Window>>,
    pub(crate) cancel: CancellationToken,
}

/// Starts a worker. Its tally comes once the window has passed or it was cancelled; a closed channel means it panicked.
pub(crate) fn spawn(share: Share) -> io::Result<oneshot::Receiver<Tally>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (done, tally) = oneshot::channel();
    std::thread::Builder::new().name("bench".to_owned()).spawn(move || {
        let local = LocalSet::new();
        let tally = runtime.block_on(local.run_until(work(share)));
        if done.send(tally).is_err() {
            tracing::debug!("nobody waits for this benchmark worker any more");
        }
    })?;
    Ok(tally)
}

async fn work(share: Share) -> Tally {
    let Share { destination, protocol, clients, ready, mut window, cancel } = share;
    let tally = RefCell::new(Tally::default());
    let shared = Rc::new(Shared { destination, window: Cell::new(None), tally, ready });
    let mut tasks = tokio::task::JoinSet::new();
    match protocol {
        Protocol::Http1 => {
            for _ in 0..clients {
                tasks.spawn_local(http1::run(shared.clone()));
            }
        }
        Protocol::Http2 => {
            for first in (0..clients).step_by(http2::STREAMS_PER_CONNECTION as usize) {
                tasks.spawn_local(http2::run(shared.clone(), http2::STREAMS_PER_CONNECTION.min(clients - first)));
            }
        }
    }
    let measured = async {
        let known = window.wait_for(Option::is_some).await.ok().and_then(|window| *window);
        shared.window.set(known);
        tokio::time::sleep_until(known.map_or_else(Instant::now, |window| window.end).into()).await;
    };
    tokio::select! {
        () = measured => {}
        () = cancel.cancelled() => {}
    }
    tasks.shutdown().await;
    shared.tally.take()
}
