//! What Podman is asked for by its own API, where the one that it shares with Docker has no word for it. One request, its own
//! connection; owns nothing else.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::EngineError;
use crate::container::OWNER_LABEL;
use crate::network::OwnBridge;

/// The option of a network that closes it against other networks.
const CLOSED: (&str, &str) = ("isolate", "true");
const TIMEOUT: Duration = Duration::from_secs(60);
/// Of an answer; one about a network is short.
const ANSWER_BYTES: u64 = 64 * 1024;

/// Makes a bridge that is closed against other bridges. Without names: an app's instances don't call each other by them, and
/// the program that would answer is one more that has to be there.
pub(crate) async fn create_network(socket: &Path, name: &str, label: (&str, &str)) -> Result<(), EngineError> {
    let order = serde_json::json!({
        "name": name,
        "driver": "bridge",
        "dns_enabled": false,
        "options": { CLOSED.0: CLOSED.1 },
        "labels": { label.0: label.1 },
    });
    match ask(socket, "POST", "create", &order.to_string()).await? {
        // 409: another instance was quicker.
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

/// Whether nothing goes from a network to another; `None`: there is none of that name.
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

/// Asks for something about networks; status and body of the answer.
async fn ask(socket: &Path, method: &str, what: &str, body: &str) -> Result<(u16, String), EngineError> {
    // The older version of HTTP: its answer is not in pieces.
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
