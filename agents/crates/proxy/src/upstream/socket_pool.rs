//! Pool of unconnected sockets of one instance's network namespace, which its shim creates and hands over. It asks for some in
//! advance, so that most new connections need no round trip to the shim. Unused sockets close with the instance or after a time.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fairlead_base::handover::{self, HandoverRequest, SOCKETS_MAX};
use fairlead_reactor::Stream;

/// Sockets of the first batch; each further one has twice as many.
const BATCH_MIN: u8 = 2;

/// Pool that all cores share. Each new connection takes its lock once; reused connections take none.
#[derive(Debug, Default)]
pub(super) struct SocketPool(Mutex<Pooled>);

#[derive(Debug, Default)]
struct Pooled {
    sockets: Vec<OwnedFd>,
    /// Size of the last batch; zero after a time without new connections.
    batch: u8,
    /// True while a batch is requested. Other connections then ask for one socket each, or a burst would bring a batch for each.
    is_filling: bool,
    /// True if a socket was taken since the last sweep.
    is_used: bool,
}

/// Ends the filling of a pool, also when the connection that asked for the batch is given up.
struct Filling<'a>(&'a SocketPool);

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        self.0.lock().is_filling = false;
    }
}

impl SocketPool {
    /// Returns a socket that can connect to `address` in the namespace.
    pub(super) async fn take(&self, handover: &Path, address: SocketAddr) -> io::Result<OwnedFd> {
        let (count, _filling) = {
            let mut pooled = self.lock();
            pooled.is_used = true;
            if let Some(socket) = pooled.sockets.pop() {
                return Ok(socket);
            }
            if pooled.is_filling {
                (1, None)
            } else {
                pooled.is_filling = true;
                pooled.batch = (pooled.batch * 2).clamp(BATCH_MIN, SOCKETS_MAX);
                (pooled.batch, Some(Filling(self)))
            }
        };
        let mut sockets = request(handover, HandoverRequest::sockets_for(address, count)).await?;
        let socket = sockets.pop().ok_or(io::ErrorKind::ConnectionRefused)?;
        self.lock().sockets.append(&mut sockets);
        Ok(socket)
    }

    /// Closes all sockets if none was taken since the last call.
    pub(super) fn sweep(&self) {
        let mut pooled = self.lock();
        if !pooled.is_used && !pooled.is_filling {
            *pooled = Pooled::default();
        }
        pooled.is_used = false;
    }

    fn lock(&self) -> MutexGuard<'_, Pooled> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the shim that listens at `handover`.
pub(super) async fn request(handover: &Path, request: HandoverRequest) -> io::Result<Vec<OwnedFd>> {
    let stream = Stream::connect_unix(handover)?;
    stream.try_write(&request.bytes())?;
    stream.receive_by(|socket| handover::receive(socket)).await
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixListener;
    use std::rc::Rc;
    use std::thread;

    use fairlead_base::handover::{REQUEST_BYTES, answer};
    use fairlead_reactor::{block_on, spawn};
    use tokio::sync::mpsc;

    use super::*;

    const BURST: usize = 8;

    /// Answers a burst once all its requests are there; returns how many sockets each asked for.
    fn serve_burst(shim: &UnixListener) -> Vec<u8> {
        let clients: Vec<_> = (0..BURST)
            .map(|_| {
                let (mut client, _) = shim.accept().unwrap();
                let mut bytes = [0; REQUEST_BYTES];
                client.read_exact(&mut bytes).unwrap();
                let Some(HandoverRequest::Ipv4(count)) = HandoverRequest::read(bytes) else { panic!("{bytes:?}") };
                (client, count)
            })
            .collect();
        let socket = tempfile::tempfile().unwrap();
        for (client, count) in &clients {
            answer(client, Ok(&vec![socket.as_fd(); (*count).into()])).unwrap();
        }
        clients.into_iter().map(|(_, count)| count).collect()
    }

    #[test]
    fn a_burst_brings_one_batch_and_sockets_that_no_connection_wants_are_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let shim = UnixListener::bind(&path).unwrap();
        let shim = thread::spawn(move || serve_burst(&shim));
        block_on(async {
            let pool = Rc::new(SocketPool::default());
            let (done, mut taken) = mpsc::unbounded_channel();
            for _ in 0..BURST {
                let (pool, path, done) = (Rc::clone(&pool), path.clone(), done.clone());
                spawn(async move {
                    done.send(pool.take(&path, "127.0.0.1:1".parse().unwrap()).await.is_ok()).unwrap();
                });
            }
            for _ in 0..BURST {
                assert!(taken.recv().await.unwrap());
            }
            assert_eq!(pool.lock().sockets.len(), 1, "one is left of the batch");
            pool.sweep();
            assert_eq!(pool.lock().sockets.len(), 1, "the pool was used since the last sweep");
            pool.sweep();
            assert!(pool.lock().sockets.is_empty());
        })
        .unwrap();
        let mut counts = shim.join().unwrap();
        counts.sort_unstable();
        assert_eq!(counts, [1, 1, 1, 1, 1, 1, 1, BATCH_MIN]);
    }
}
