//! Client side of the control channel in `run`: connects to a proxy, exchanges greetings, and takes over its sockets.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use fairlead_base::descriptor::connect_asking_sender;
use fairlead_wire::local::{
    AccessLogFile, ProxyCommand, ProxyEvent, ProxyHello, TakeListeners, proxy_command, proxy_event,
};
use fairlead_wire::{LOCAL_PROTOCOL, LocalChannel, local_protocol_accepted};
use tokio::time::timeout;

use super::{ProxyError, ProxyKeys, ProxySockets};

/// Maximum time for a running proxy to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time for a new proxy to greet. Right after a boot its program may load from a slow disk, and a second
/// attempt would only compete with the first.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum time of an adoption.
const ADOPT_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) type ProxyChannel = LocalChannel<ProxyCommand, ProxyEvent>;

/// Running proxy that was adopted, with what it handed over.
pub(crate) struct AdoptedProxy {
    pub(crate) channel: ProxyChannel,
    pub(crate) pid: u32,
    pub(crate) sockets: ProxySockets,
    /// `None` from an older version.
    pub(crate) keys: Option<ProxyKeys>,
}

pub(crate) async fn command(channel: &ProxyChannel, body: proxy_command::Body) -> Result<(), ProxyError> {
    command_with(channel, body, &[]).await
}

/// Passes the file of the access log.
pub(super) async fn pass_log(channel: &ProxyChannel, file: &File) -> Result<(), ProxyError> {
    command_with(channel, proxy_command::Body::AccessLog(AccessLogFile {}), &[file.as_fd()]).await
}

async fn command_with(
    channel: &ProxyChannel,
    body: proxy_command::Body,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), ProxyError> {
    let sent = timeout(ANSWER_TIMEOUT, channel.send(&ProxyCommand { body: Some(body) }, descriptors)).await;
    Ok(sent.map_err(|_| ProxyError::Silent)??)
}

/// Waits for the greeting of a newly started proxy.
pub(super) async fn greet_new(channel: &mut ProxyChannel) -> Result<(), ProxyError> {
    greet(channel, START_TIMEOUT).await?;
    Ok(())
}

/// Returns the process that the proxy claims to be.
async fn greet(channel: &mut ProxyChannel, limit: Duration) -> Result<u32, ProxyError> {
    let hello = ProxyHello {
        protocol_version: LOCAL_PROTOCOL,
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
    };
    command(channel, proxy_command::Body::Hello(hello)).await?;
    match event_within(channel, limit).await? {
        proxy_event::Body::Hello(hello) if local_protocol_accepted(hello.protocol_version) => Ok(hello.pid),
        proxy_event::Body::Hello(hello) => Err(ProxyError::Version { version: hello.protocol_version }),
        _ => Err(ProxyError::Protocol("the proxy did not greet")),
    }
}

/// Adopts the proxy that listens on `path`; `None` if there is none. A proxy that does not hand over in time is an
/// error.
pub(crate) async fn adopt(path: &Path) -> Result<Option<AdoptedProxy>, ProxyError> {
    timeout(ADOPT_TIMEOUT, take_over(path)).await.unwrap_or(Err(ProxyError::Silent))
}

async fn take_over(path: &Path) -> Result<Option<AdoptedProxy>, ProxyError> {
    let stream = match connect_asking_sender(path) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => return Ok(None),
        Err(error) => return Err(ProxyError::system("cannot reach the proxy's control socket")(error)),
    };
    let mut channel = ProxyChannel::new(stream);
    let pid = greet(&mut channel, ANSWER_TIMEOUT).await?;
    // The agent later kills the proxy by this number: a hijacked proxy must not name another process.
    if channel.sender() != Some(pid) {
        return Err(ProxyError::Protocol("the proxy says that it is another process"));
    }
    command(&channel, proxy_command::Body::TakeListeners(TakeListeners {})).await?;
    loop {
        // Statistics may arrive in between.
        if let proxy_event::Body::Listeners(listeners) = event(&mut channel).await? {
            let descriptors = channel.take_descriptors(listeners.listeners.len());
            let sockets = ProxySockets::adopt(&listeners, descriptors)?;
            let keys = listeners.keys.as_ref().and_then(ProxyKeys::read);
            return Ok(Some(AdoptedProxy { channel, pid, sockets, keys }));
        }
    }
}

pub(super) async fn event(channel: &mut ProxyChannel) -> Result<proxy_event::Body, ProxyError> {
    event_within(channel, ANSWER_TIMEOUT).await
}

async fn event_within(channel: &mut ProxyChannel, limit: Duration) -> Result<proxy_event::Body, ProxyError> {
    loop {
        let received = timeout(limit, channel.receive()).await.map_err(|_| ProxyError::Silent)??;
        // An event without a body is of a kind that only a newer proxy knows.
        if let Some(body) = received.ok_or(ProxyError::Protocol("the proxy closed the channel"))?.body {
            return Ok(body);
        }
    }
}
