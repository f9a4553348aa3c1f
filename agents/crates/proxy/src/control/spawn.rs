//! Starts a proxy process and passes it its sockets and keys.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::Stdio;

use fairlead_wire::local::{ProxyCommand, proxy_command};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use super::link::{self, ProxyChannel};
use super::process::ProcessHandle;
use super::{ProxyError, ProxyKeys, ProxySockets};

/// Starts a proxy. Its sockets travel over its standard input, a Unix socket that stays the control channel.
pub(super) async fn spawn(
    program: &Path,
    sockets: &ProxySockets,
    keys: &ProxyKeys,
) -> Result<(ProxyChannel, Child, ProcessHandle), ProxyError> {
    let failed = |source| ProxyError::Spawn { program: program.to_path_buf(), source };
    let (near, far) = StdUnixStream::pair().map_err(failed)?;
    near.set_nonblocking(true).map_err(failed)?;
    let mut child = Command::new(program)
        .arg("proxy")
        .stdin(Stdio::from(OwnedFd::from(far)))
        // Ctrl-C in a terminal signals the whole process group of `run`, and the proxy must outlive `run`.
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let mut channel = ProxyChannel::new(UnixStream::from_std(near).map_err(failed)?);
    let (listeners, descriptors) = sockets.describe(keys);
    let serve = ProxyCommand { body: Some(proxy_command::Body::Serve(listeners)) };
    let begun = async {
        channel.send(&serve, &descriptors).await?;
        link::greet_new(&mut channel).await?;
        // Process id of the child, not the one that it reports.
        ProcessHandle::open(child.id().ok_or(ProxyError::Protocol("the proxy ended at once"))?)
    };
    match begun.await {
        Ok(process) => Ok((channel, child, process)),
        Err(error) => {
            // It would serve without a supervisor.
            child.kill().await.map_err(failed)?;
            Err(error)
        }
    }
}
