//! Server of the socket hand-over in a shim (`fairlead_base::handover`). It runs in the instance's network namespace,
//! so that its new sockets belong there. Never waits for a client.

use std::fs::Permissions;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use fairlead_base::accounts;
use fairlead_base::handover::{HandoverRequest, REQUEST_BYTES, answer};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

/// Maximum number of clients without a request yet. Agent and proxy send it as they connect.
const CLIENTS_MAX: usize = 64;

pub(super) struct Handover {
    listener: UnixListener,
    clients: Vec<UnixStream>,
    proxy_user: Option<u32>,
    namespace: OwnedFd,
    /// Path of the app's socket, and its user.
    app: Option<(PathBuf, Option<u32>)>,
}

impl Handover {
    /// Listens at `path`, in a folder that the proxy's group may enter.
    pub(super) fn open(path: &Path, namespace: OwnedFd, app: Option<(PathBuf, Option<u32>)>) -> io::Result<Self> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if let Err(error) = std::fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        let mut proxy_user = None;
        if rustix::process::geteuid().is_root() {
            let user = accounts::proxy_user()?;
            chown(folder, None, Some(user.gid))?;
            chown(path, None, Some(user.gid))?;
            std::fs::set_permissions(path, Permissions::from_mode(0o660))?;
            std::fs::set_permissions(folder, Permissions::from_mode(0o710))?;
            proxy_user = Some(user.uid);
        }
        Ok(Self { listener, clients: Vec::new(), proxy_user, namespace, app })
    }

    /// Lists what to poll: the listener, then the clients in the order that `serve` expects.
    pub(super) fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.listener.as_fd()).chain(self.clients.iter().map(AsFd::as_fd))
    }

    /// Answers the clients that are ready, and accepts new ones.
    pub(super) fn serve(&mut self, ready: &[bool]) {
        let mut clients = std::mem::take(&mut self.clients);
        let mut index = 0;
        clients.retain_mut(|client| {
            index += 1;
            !ready.get(index).copied().unwrap_or(false) || !self.answered(client)
        });
        self.clients = clients;
        if ready.first().copied().unwrap_or(false) {
            self.accept();
        }
    }

    fn accept(&mut self) {
        while let Ok((mut stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_err() || self.answered(&mut stream) {
                continue;
            }
            if self.clients.len() >= CLIENTS_MAX {
                self.clients.remove(0);
            }
            self.clients.push(stream);
        }
    }

    /// Answers a client. False: its request has not come yet.
    fn answered(&self, client: &mut UnixStream) -> bool {
        let mut bytes = [0; REQUEST_BYTES];
        match client.read(&mut bytes) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => false,
            Ok(REQUEST_BYTES) => {
                let result = self.sockets(client, HandoverRequest::read(bytes));
                let answered = match &result {
                    Ok(found) => answer(client, Ok(&found.iter().map(AsFd::as_fd).collect::<Vec<_>>())),
                    Err(error) => answer(client, Err(error)),
                };
                // A client that is gone needs no answer.
                answered.ok();
                true
            }
            // The client is gone, or it speaks another protocol.
            _ => true,
        }
    }

    fn sockets(&self, client: &UnixStream, request: Option<HandoverRequest>) -> io::Result<Vec<OwnedFd>> {
        let user = sockopt::socket_peercred(client)?.uid;
        let is_own = user == rustix::process::geteuid();
        if !is_own && Some(user.as_raw()) != self.proxy_user {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        match request {
            Some(HandoverRequest::Ipv4(count)) => tcp_sockets(AddressFamily::INET, count),
            Some(HandoverRequest::Ipv6(count)) => tcp_sockets(AddressFamily::INET6, count),
            Some(HandoverRequest::Unix) => Ok(vec![self.connect()?]),
            Some(HandoverRequest::Namespace) if is_own => Ok(vec![self.namespace.try_clone()?]),
            Some(HandoverRequest::Namespace) => Err(io::Error::from_raw_os_error(libc::EACCES)),
            None => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
    }

    /// Connects to the app's Unix socket. The app owns its folder and could put a link to another program's socket
    /// there.
    fn connect(&self) -> io::Result<OwnedFd> {
        let (path, owner) = self.app.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let (folder, name) = path.parent().zip(path.file_name()).ok_or(io::ErrorKind::InvalidInput)?;
        let folder =
            openat(CWD, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let socket = openat(&folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let stream = connect_to(&socket)?;
        let listens = sockopt::socket_peercred(&stream)?.uid.as_raw();
        if owner.is_some_and(|owner| owner != listens) {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        Ok(stream)
    }
}

/// Connects to an opened socket by its descriptor: its path may lead elsewhere by now.
fn connect_to(socket: &OwnedFd) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let path = format!("/proc/self/fd/{}", socket.as_raw_fd());
    rustix::net::connect(&stream, &rustix::net::SocketAddrUnix::new(path)?)?;
    Ok(stream)
}

fn tcp_sockets(family: AddressFamily, count: u8) -> io::Result<Vec<OwnedFd>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    (0..count).map(|_| Ok(socket_with(family, SocketType::STREAM, flags, None)?)).collect()
}
