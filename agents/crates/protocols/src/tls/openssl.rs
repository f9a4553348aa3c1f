//! Differential tests against OpenSSL: `openssl s_client` talks to the proxy and to `openssl s_server`. It must receive
//! the same from both: key updates, alerts, the response.

use std::net::SocketAddr;
use std::process::Stdio;

use libtest_mimic::Trial;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

use super::{OPENSSL, with_key};
use crate::case::case;
use crate::support::HOST;

const RESPONSE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Behaviour of the client: options of `s_client`, key updates before its request, size of the request's head.
#[derive(Clone, Copy)]
struct OpensslClient {
    options: &'static [&'static str],
    /// `K` sends a key update that asks for one in return, `k` one that does not.
    key_updates: &'static [&'static str],
    head_bytes: usize,
}

const CLIENTS: &[(&str, OpensslClient)] = &[
    ("key-update", OpensslClient { options: &["-tls1_3"], key_updates: &["k"], head_bytes: 0 }),
    ("key-update-requested", OpensslClient { options: &["-tls1_3"], key_updates: &["K"], head_bytes: 0 }),
    ("key-updates-mixed", OpensslClient { options: &["-tls1_3"], key_updates: &["K", "k", "K", "K"], head_bytes: 0 }),
    (
        "padding",
        OpensslClient { options: &["-tls1_3", "-record_padding", "4096"], key_updates: &["K"], head_bytes: 3_000 },
    ),
    (
        "fragments-1.3",
        OpensslClient { options: &["-tls1_3", "-max_send_frag", "512"], key_updates: &[], head_bytes: 7_000 },
    ),
    (
        "fragments-1.2",
        OpensslClient { options: &["-tls1_2", "-max_send_frag", "512"], key_updates: &[], head_bytes: 7_000 },
    ),
    (
        "chacha20",
        OpensslClient {
            options: &["-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"],
            key_updates: &["K"],
            head_bytes: 0,
        },
    ),
    ("close-1.3", OpensslClient { options: &["-tls1_3"], key_updates: &[], head_bytes: 0 }),
    ("close-1.2", OpensslClient { options: &["-tls1_2"], key_updates: &[], head_bytes: 0 }),
];

pub fn trials() -> Vec<Trial> {
    let trial = |&(name, client)| case("tls", format!("openssl/{name}"), move || same_as_openssl(client));
    CLIENTS.iter().map(trial).collect()
}

async fn same_as_openssl(client: OpensslClient) {
    let (proxy, _) = with_key("p256").await;
    let server = OpensslServer::start().await;
    let from_openssl = received(client, server.address).await;
    let from_proxy = received(client, proxy.https).await;
    // Control: the OpenSSL server responded and sent close_notify.
    assert!(from_openssl.iter().any(|line| line.ends_with("close_notify")), "{from_openssl:?}");
    let asked = client.key_updates.contains(&"K");
    assert_eq!(from_openssl.iter().any(|line| line == "KeyUpdate"), asked, "{from_openssl:?}");
    assert_eq!(from_proxy, from_openssl);
}

/// `openssl s_server` that responds to each request with `RESPONSE` and closes.
struct OpensslServer {
    address: SocketAddr,
    _child: Child,
    _folder: TempDir,
}

impl OpensslServer {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec![HOST.to_owned()]).unwrap().self_signed(&key).unwrap();
        std::fs::write(folder.path().join("key.pem"), key.serialize_pem()).unwrap();
        std::fs::write(folder.path().join("certificate.pem"), certificate.pem()).unwrap();
        std::fs::write(folder.path().join("response"), RESPONSE).unwrap();
        let mut command = Command::new(OPENSSL);
        command.args(["s_server", "-accept", "127.0.0.1:0", "-HTTP"]).current_dir(folder.path());
        command.args(["-cert", "certificate.pem", "-key", "key.pem"]).kill_on_drop(true);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = Lines::new(child.stdout.take().unwrap());
        let line = said.until(|line| line.starts_with("ACCEPT ")).await;
        let address = line.trim_start_matches("ACCEPT ").parse().unwrap();
        tokio::spawn(async move { said.rest().await });
        Self { address, _child: child, _folder: folder }
    }
}

/// Returns messages and alerts that the client received after the handshake, and the response's first line, in order.
async fn received(client: OpensslClient, address: SocketAddr) -> Vec<String> {
    let mut command = Command::new(OPENSSL);
    command.args(["s_client", "-msg", "-servername", HOST, "-connect"]).arg(address.to_string()).args(client.options);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut said = Lines::new(child.stdout.take().unwrap());
    said.until(|line| line.starts_with("Verify return code")).await;
    for key_update in client.key_updates {
        stdin.write_all(format!("{key_update}\n").as_bytes()).await.unwrap();
        said.until(|line| line.starts_with(">>> ") && line.ends_with(", KeyUpdate")).await;
    }
    let long = "x".repeat(client.head_bytes);
    let request = format!("GET /response HTTP/1.1\r\nHost: {HOST}\r\nX-Long: {long}\r\nConnection: close\r\n\r\n");
    stdin.write_all(request.as_bytes()).await.unwrap();
    // The client ends when the server closes; the end of its own input would end it sooner.
    let lines = said.rest().await;
    drop(stdin);
    child.wait().await.unwrap();
    let mut heard: Vec<String> = lines.iter().filter_map(|line| notable(line)).collect();
    // One update may respond to several requests for new keys (RFC 8446, 4.6.3): rustls does that, OpenSSL does not.
    heard.dedup();
    heard
}

/// Returns the part of a line of `s_client -msg` that both servers must agree on.
fn notable(line: &str) -> Option<String> {
    if line.starts_with("HTTP/1.1 ") {
        return Some(line.to_owned());
    }
    let (_, message) = line.strip_prefix("<<< ")?.split_once("], ")?;
    let is_ticket = message == "NewSessionTicket";
    (line.contains(", Handshake [") || line.contains(", Alert [")).then(|| message.to_owned()).filter(|_| !is_ticket)
}

struct Lines<R>(BufReader<R>);

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(stream: R) -> Self {
        Self(BufReader::new(stream))
    }

    /// Reads the next line; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let count = self.0.read_until(b'\n', &mut line).await.unwrap();
        (count > 0).then(|| String::from_utf8_lossy(&line).trim().to_owned())
    }

    async fn until(&mut self, is_it: impl Fn(&str) -> bool) -> String {
        loop {
            let line = self.next().await.expect("openssl ended too early");
            if is_it(&line) {
                return line;
            }
        }
    }

    async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.next().await {
            lines.push(line);
        }
        lines
    }
}
