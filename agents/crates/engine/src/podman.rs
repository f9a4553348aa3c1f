//! Client for Podman's own API, for network options that the API shared with Docker lacks. Opens one connection per request.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::EngineError;
use crate::container::OWNER_LABEL;
use crate::network::OwnBridge;

/// Option that isolates a network from other networks.
const CLOSED: (&str, &str) = ("isolate", "true");
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size of a response; one about a network is short.
const ANSWER_BYTES: u64 = 64 * 1024;

/// Creates a bridge that is isolated from other bridges. Without DNS: instances of an app don't call each other by name, and
/// DNS would require one more program on the server.
pub(crate) async fn create_network(socket: &Path, name: &str, label: (&str, &str)) -> Result<(), EngineError> {
    let order = serde_json::json!({
        "name": name,
        "driver": "bridge",
        "dns_enabled": false,
        "options": { CLOSED.0: CLOSED.1 },
        "labels": { label.0: label.1 },
    });
    match ask(socket, "POST", "create", &order.to_string()).await? {
        // 409: another instance created it first.
        (200 | 409, _) => Ok(()),
        (_, text) => Err(EngineError::Refused(text)),
    }
}

/// Makes a bridge with one device name and one subnet, closed against other bridges.
pub(crate) async fn create_bridge(
    socket: &Path,
    order: &OwnBridge<'_>,
    device: &str,
    subnet: &str,
) -> Result<(), EngineError> {
    let order = serde_json::json!({
        "name": order.name,
        "driver": "bridge",
        "network_interface": device,
        "subnets": [{ "subnet": subnet }],
        "ipv6_enabled": false,
        "dns_enabled": false,
        "options": { CLOSED.0: CLOSED.1 },
        "labels": { OWNER_LABEL: order.owner },
    });
    match ask(socket, "POST", "create", &order.to_string()).await? {
        (200, _) => Ok(()),
        (_, text) => Err(EngineError::Refused(text)),
    }
}

/// Returns true if a network is isolated from others; `None` if there is none with that name.
pub(crate) async fn is_closed(socket: &Path, name: &str) -> Result<Option<bool>, EngineError> {
    match ask(socket, "GET", &format!("{name}/json"), "").await? {
        (200, text) => {
            let network: serde_json::Value =
                serde_json::from_str(&text).map_err(|error| EngineError::Refused(error.to_string()))?;
            Ok(Some(network["options"][CLOSED.0] == CLOSED.1))
        }
        (404, _) => Ok(None),
        (_, text) => Err(EngineError::Refused(text)),
    }
}

/// Sends a request about networks; returns the status and body of the response.
async fn ask(socket: &Path, method: &str, what: &str, body: &str) -> Result<(u16, String), EngineError> {
    // HTTP/1.0 responses are not chunked.
    let request = format!(
        "{method} /v4.0.0/libpod/networks/{what} HTTP/1.0\r\nhost: podman\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = async {
        let mut stream = UnixStream::connect(socket).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.take(ANSWER_BYTES).read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::InvalidData)?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        Ok((status, body.trim().to_owned()))
    };
    let answer: io::Result<_> =
        tokio::time::timeout(TIMEOUT, answer).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()));
    answer.map_err(|error| EngineError::Refused(format!("it did not say what networks it has ({error})")))
}
