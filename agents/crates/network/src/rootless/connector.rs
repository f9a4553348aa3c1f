//! Process that stays in the server's network beside the shim of an instance: it runs `pasta` and the relay. The shim starts it
//! before it leaves that network, because an ordinary user can't come back. Invariant: it ends with its shim, and `pasta` with it.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use fairlead_base::handover;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::server::Families;
use crate::Relay;

/// Addresses inside, the same in each namespace: `pasta` sends everything from addresses of the server.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const PREFIX_LENGTH: u8 = 30;
const GATEWAY: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const ADDRESS_V6: Ipv6Addr = Ipv6Addr::new(0xfd66, 0x6c64, 0, 0, 0, 0, 0, 2);
const GATEWAY_V6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
/// Name of the device inside the namespace.
const DEVICE: &str = "eth0";
/// Pause before a `pasta` that ended is started again.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// Bytes of what `pasta` says that go into a sentence.
const REASON_BYTES: usize = 300;

/// Options that a shim passes to its connector.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ConnectorOptions {
    pub(super) pasta: PathBuf,
    /// Process id of the shim; the connector connects its namespaces.
    pub(super) shim: i32,
    pub(super) families: Families,
    /// Addresses of the relay's listeners. Their descriptors come over standard input after the resolver's two.
    pub(super) server_ports: Vec<SocketAddr>,
}

/// Connects the namespace of the parent process, until that ends. `order` is JSON. Standard input is a socket of the parent.
pub fn connect(order: &str) -> Result<(), String> {
    let order: ConnectorOptions =
        serde_json::from_str(order).map_err(|error| format!("its order can't be read: {error}"))?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    // A shim that ended before that call sends no signal.
    if rustix::process::getppid().is_none_or(|parent| parent.as_raw_pid() != order.shim) {
        return Ok(());
    }
    let stream = rustix::stdio::stdin().try_clone_to_owned().map_err(|error| error.to_string())?;
    let stream = UnixStream::from(stream);
    stream.set_nonblocking(true).map_err(|error| error.to_string())?;
    // The shim gave up.
    let Ok(resolver) = receive(&stream) else { return Ok(()) };
    let ports = if order.server_ports.is_empty() { Ok(Vec::new()) } else { receive(&stream) };
    let Ok(ports) = ports else { return Ok(()) };
    let relay = Relay::from_descriptors(resolver, order.server_ports.iter().copied().zip(ports));
    let relay = relay.map_err(|error| format!("the relay can't listen: {error}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime
        .block_on(async {
            let mut ended = tokio::net::UnixStream::from_std(stream.try_clone()?)?;
            tokio::select! {
                served = relay.serve() => served,
                never = keep_connected(&order, &stream) => match never {},
                // The shim writes nothing more.
                _ = ended.read_u8() => Ok(()),
            }
        })
        .map_err(|error: io::Error| error.to_string())
}

fn receive(stream: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut polled = [PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN)];
    poll(&mut polled, None)?;
    handover::receive(stream)
}

/// Runs `pasta`, again and again should it end. Tells the shim why, which listens until the network is there.
async fn keep_connected(order: &ConnectorOptions, mut shim: &UnixStream) -> std::convert::Infallible {
    loop {
        let reason = match run(order).await {
            Ok(reason) => reason,
            Err(error) => error.to_string(),
        };
        // The shim reads it only until the network is there.
        shim.write_all(reason.as_bytes()).ok();
        tokio::time::sleep(RESTART_PAUSE).await;
    }
}

/// Returns what it said last.
#[allow(unsafe_code)]
async fn run(order: &ConnectorOptions) -> io::Result<String> {
    let mut command = tokio::process::Command::new(&order.pasta);
    command
        .args(arguments(order.families, order.shim))
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // SAFETY: prctl(2) alone, which is async-signal-safe and allocates nothing.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) };
    let mut child = command.spawn()?;
    let mut reason = "pasta ended".to_owned();
    if let Some(stderr) = child.stderr.take() {
        let mut lines = BufReader::new(stderr.take(u64::MAX)).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            // Old versions complain of a server without a system logger.
            if !line.trim().is_empty() && !line.starts_with("Failed to send") {
                reason = line.chars().take(REASON_BYTES).collect();
            }
        }
    }
    child.wait().await?;
    Ok(reason)
}

/// Arguments that passt of 2023-03 (Debian 12) knows too.
fn arguments(families: Families, shim: i32) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--config-net",
        "--foreground",
        "--quiet",
        // Nothing of the server is at the gateway's address.
        "--no-map-gw",
        "--no-dhcp",
        "--no-dhcpv6",
        "--no-ra",
        // No port is passed on in either direction.
        "--tcp-ports=none",
        "--udp-ports=none",
        "--tcp-ns=none",
        "--udp-ns=none",
    ]
    .map(str::to_owned)
    .into();
    arguments.push(format!("--ns-ifname={DEVICE}"));
    let mut address = |address: IpAddr, gateway: IpAddr| {
        arguments.extend([format!("--address={address}"), format!("--gateway={gateway}")]);
    };
    if families.ipv4 {
        address(ADDRESS.into(), GATEWAY.into());
    }
    if families.ipv6 {
        address(ADDRESS_V6.into(), GATEWAY_V6.into());
    }
    if families.ipv4 {
        arguments.push(format!("--netmask={PREFIX_LENGTH}"));
    }
    match families {
        Families { ipv4: true, ipv6: false } => arguments.push("--ipv4-only".to_owned()),
        Families { ipv4: false, ipv6: true } => arguments.push("--ipv6-only".to_owned()),
        _ => {}
    }
    arguments.push(shim.to_string());
    arguments
}
