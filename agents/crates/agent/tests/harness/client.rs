//! An HTTPS client that pins the server's local authority and counts what fails.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde::Deserialize;

use crate::agent::{HOST, Server};

const TIMEOUT: Duration = Duration::from_secs(20);
/// Pause of a client after each request of a flow: without it, one test takes a whole core from the others.
const PAUSE: Duration = Duration::from_millis(5);

/// Response of the app under test.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub(crate) pid: u32,
    pub(crate) path: String,
}

/// Client of one server; trusts only that server's authority.
#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    authority: PathBuf,
}

type Connection = StreamOwned<ClientConnection, TcpStream>;

impl Client {
    pub(crate) fn new(server: &Server) -> Self {
        Self { address: server.https, authority: server.folders.authority().join("ca.pem") }
    }

    /// One request on a connection of its own.
    pub(crate) fn get(&self, path: &str) -> io::Result<Answer> {
        ask(&mut self.connect()?, path)
    }

    fn connect(&self) -> io::Result<Connection> {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(&self.authority).map_err(io::Error::other)?;
        roots.add(authority).map_err(io::Error::other)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(HOST).map_err(io::Error::other)?;
        let tls = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        let stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(StreamOwned::new(tls, stream))
    }
}

/// One HTTP/1.1 exchange on a connection that stays open.
fn ask(connection: &mut Connection, path: &str) -> io::Result<Answer> {
    // In one piece: a request in fragments would wait for delayed acknowledgements.
    connection.write_all(format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n").as_bytes())?;
    connection.flush()?;
    let (mut answer, mut part) = (Vec::new(), [0u8; 4096]);
    loop {
        let count = connection.read(&mut part)?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed before the answer was whole"));
        }
        answer.extend_from_slice(&part[..count]);
        if let Some(body) = whole_body(&answer)? {
            return serde_json::from_slice(&body).map_err(io::Error::other);
        }
    }
}

/// The body once it is whole: by length, or by the last chunk (RFC 9112, section 7.1).
fn whole_body(answer: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let body = &answer[end + 4..];
    if !head.starts_with("http/1.1 200") {
        let status = head.lines().next().unwrap_or_default();
        return Err(io::Error::other(format!("answered {status}")));
    }
    if head.contains("transfer-encoding: chunked") {
        if !body.ends_with(b"0\r\n\r\n") {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(body).into_owned();
        let chunks = text.split("\r\n").skip(1).step_by(2);
        return Ok(Some(chunks.collect::<String>().into_bytes()));
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).and_then(|n| n.parse().ok());
    let length: usize = length.ok_or_else(|| io::Error::other("an answer without a length"))?;
    Ok((body.len() >= length).then(|| body[..length].to_vec()))
}

/// Continuous requests of several clients, on kept and on fresh connections.
pub(crate) struct Flow {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    done: AtomicUsize,
    tally: Mutex<FlowResults>,
    progress: Condvar,
}

/// Results of a flow.
#[derive(Default)]
pub(crate) struct FlowResults {
    pub(crate) failures: Vec<String>,
    pub(crate) pids: BTreeSet<u32>,
}

impl Flow {
    pub(crate) fn start(client: &Client, clients: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let spawn = |_| {
            let (client, shared) = (client.clone(), shared.clone());
            std::thread::spawn(move || flow(&client, &shared))
        };
        Self { clients: (0..clients).map(spawn).collect(), shared: shared.clone() }
    }

    /// Blocks until this number of requests has ended since the start.
    pub(crate) fn wait_for(&self, requests: usize) {
        let tally = self.shared.tally.lock().unwrap();
        let waiting = |_: &mut FlowResults| self.shared.done.load(Ordering::SeqCst) < requests;
        let (_tally, late) = self.shared.progress.wait_timeout_while(tally, TIMEOUT * 3, waiting).unwrap();
        assert!(!late.timed_out(), "only {} requests ended", self.shared.done.load(Ordering::SeqCst));
    }

    pub(crate) fn stop(self) -> FlowResults {
        self.shared.stop.store(true, Ordering::SeqCst);
        for client in self.clients {
            client.join().unwrap();
        }
        std::mem::take(&mut self.shared.tally.lock().unwrap())
    }
}

fn flow(client: &Client, shared: &Shared) {
    let mut kept: Option<Connection> = None;
    let mut count = 0usize;
    while !shared.stop.load(Ordering::SeqCst) {
        count += 1;
        // Every fourth request opens a connection, so that accepting is watched as well as serving.
        if count.is_multiple_of(4) {
            kept = None;
        }
        let ended = match kept.take() {
            Some(connection) => Ok(connection),
            None => client.connect(),
        }
        .and_then(|mut connection| ask(&mut connection, "/").map(|answer| (connection, answer)));
        {
            let mut tally = shared.tally.lock().unwrap();
            match ended {
                Ok((connection, answer)) => {
                    tally.pids.insert(answer.pid);
                    kept = Some(connection);
                }
                Err(error) => tally.failures.push(error.to_string()),
            }
            shared.done.fetch_add(1, Ordering::SeqCst);
            shared.progress.notify_all();
        }
        std::thread::sleep(PAUSE);
    }
}
