//! Link between the clients and the proxies of the lab, which another process emulates. The clients run in its namespace.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairlead_model::{LinkCondition, LinkCounters};
use fairlead_network::run_inside;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpSocket;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::connect::CONNECT_TIMEOUT;

/// Time within which the emulator answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Handshakes of a measured round trip. A lost packet makes one of them a second longer.
const HANDSHAKES: usize = 8;

/// Emulated link. The emulator ends with it.
#[derive(Debug, Clone)]
pub struct EmulatedLink {
    clients: Arc<OwnedFd>,
    control: Arc<Mutex<LinkControl>>,
}

#[derive(Debug)]
struct LinkControl {
    conditions: ChildStdin,
    counters: BufReader<ChildStdout>,
}

impl EmulatedLink {
    /// Connects to an emulator. `clients` is the network namespace of its near end.
    pub fn new(clients: OwnedFd, conditions: ChildStdin, counters: BufReader<ChildStdout>) -> Self {
        let control = LinkControl { conditions, counters };
        Self { clients: Arc::new(clients), control: Arc::new(Mutex::new(control)) }
    }

    /// Returns the network namespace of the clients.
    pub(crate) fn clients(&self) -> Arc<OwnedFd> {
        self.clients.clone()
    }

    /// Sets the condition of the link; returns the counters since the last call.
    pub(crate) async fn set(&self, condition: LinkCondition) -> io::Result<LinkCounters> {
        let line = serde_json::to_string(&condition)? + "\n";
        let mut control = self.control.lock().await;
        let LinkControl { conditions, counters } = &mut *control;
        let answer = async {
            conditions.write_all(line.as_bytes()).await?;
            let mut answer = String::new();
            counters.read_line(&mut answer).await?;
            serde_json::from_str(&answer).map_err(|_| io::Error::other("the link's emulator has ended"))
        };
        timeout(ANSWER_TIMEOUT, answer).await?
    }

    /// Connects over the link.
    pub async fn connect(&self, address: SocketAddr) -> io::Result<tokio::net::TcpStream> {
        let socket = run_inside(self.clients.as_fd(), TcpSocket::new_v4)?;
        timeout(CONNECT_TIMEOUT, socket.connect(address)).await?
    }

    /// Measures the round trip to a listener as the time of the first TCP handshake to end.
    pub(crate) async fn round_trip(&self, address: SocketAddr) -> io::Result<Duration> {
        let mut handshakes = JoinSet::new();
        for _ in 0..HANDSHAKES {
            let socket = run_inside(self.clients.as_fd(), TcpSocket::new_v4)?;
            handshakes.spawn(async move {
                let started = Instant::now();
                let connected = timeout(CONNECT_TIMEOUT, socket.connect(address)).await?;
                connected.map(|_| started.elapsed())
            });
        }
        let mut last = io::Error::other("no handshake was tried");
        while let Some(handshake) = handshakes.join_next().await {
            match handshake.map_err(io::Error::other)? {
                Ok(elapsed) => return Ok(elapsed),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl AsFd for EmulatedLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.clients.as_fd()
    }
}
