//! Hand-over of sockets: an instance's shim creates them in the instance's network namespace and passes them to the proxy and the
//! agent (SCM_RIGHTS). Each request is two bytes on a connection of its own; the answer is one byte and the descriptors.

use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use tokio::io::{AsyncWriteExt, Interest};

/// Limit of sockets per request.
pub const SOCKETS_MAX: u8 = 16;
/// Time limit of `ask_blocking`.
const ANSWER_TIMEOUT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// Code of an error without a number of its own (errno(3)).
const EIO: u8 = 5;
/// Bytes of a request.
pub const REQUEST_BYTES: usize = 2;

/// Request of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandoverRequest {
    /// Unconnected TCP sockets for IPv4.
    Ipv4(u8),
    /// Unconnected TCP sockets for IPv6.
    Ipv6(u8),
    /// One connection to the app's Unix socket.
    Unix,
    /// The network namespace itself; for the agent only.
    Namespace,
}

impl HandoverRequest {
    /// Request for sockets that can connect to this address.
    pub fn sockets_for(address: SocketAddr, count: u8) -> Self {
        if address.is_ipv4() { Self::Ipv4(count) } else { Self::Ipv6(count) }
    }

    pub fn bytes(self) -> [u8; REQUEST_BYTES] {
        match self {
            Self::Ipv4(count) => [b'4', count],
            Self::Ipv6(count) => [b'6', count],
            Self::Unix => [b'u', 1],
            Self::Namespace => [b'n', 1],
        }
    }

    /// Decodes it; `None`: the bytes are no request.
    pub fn read(bytes: [u8; REQUEST_BYTES]) -> Option<Self> {
        match bytes {
            [b'4', count @ 1..=SOCKETS_MAX] => Some(Self::Ipv4(count)),
            [b'6', count @ 1..=SOCKETS_MAX] => Some(Self::Ipv6(count)),
            [b'u', 1] => Some(Self::Unix),
            [b'n', 1] => Some(Self::Namespace),
            _ => None,
        }
    }
}

/// Answers a request. Never blocks.
pub fn answer(to: impl AsFd, result: Result<&[BorrowedFd<'_>], &io::Error>) -> io::Result<()> {
    // An error number fits: those of Linux end at 133.
    let code = match result {
        Ok(_) => 0,
        Err(error) => {
            error.raw_os_error().and_then(|code| u8::try_from(code).ok()).filter(|code| *code > 0).unwrap_or(EIO)
        }
    };
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(SOCKETS_MAX as usize))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = result.unwrap_or_default();
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(to, &[IoSlice::new(&[code])], &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    Ok(())
}

/// Reads the answer once it has come; `WouldBlock` before. The descriptors are close-on-exec.
pub fn receive(from: impl AsFd) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(SOCKETS_MAX as usize))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut code = [0];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = recvmsg(from, &mut [IoSliceMut::new(&mut code)], &mut control, flags)?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(arrived) = message {
            descriptors.extend(arrived);
        }
    }
    match (received.bytes, code[0]) {
        (0, _) => Err(io::ErrorKind::ConnectionRefused.into()),
        (_, 0) if descriptors.is_empty() || received.flags.contains(ReturnFlags::CTRUNC) => {
            Err(io::Error::other("descriptors were lost on the way"))
        }
        (_, 0) => Ok(descriptors),
        (_, code) => Err(io::Error::from_raw_os_error(code.into())),
    }
}

/// Asks the shim that listens at `path`, and waits for its answer. The caller sets the time limit.
pub async fn ask(path: &Path, request: HandoverRequest) -> io::Result<Vec<OwnedFd>> {
    let mut stream = tokio::net::UnixStream::connect(path).await?;
    stream.write_all(&request.bytes()).await?;
    stream.async_io(Interest::READABLE, || receive(&stream)).await
}

/// Does the same as `ask`, but blocks the calling thread.
pub fn ask_blocking(path: &Path, request: HandoverRequest) -> io::Result<Vec<OwnedFd>> {
    let mut stream = UnixStream::connect(path)?;
    stream.write_all(&request.bytes())?;
    let mut polled = [PollFd::new(&stream, PollFlags::IN)];
    if poll(&mut polled, Some(&ANSWER_TIMEOUT))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    receive(&stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_round_trip_and_other_bytes_are_rejected() {
        for request in [
            HandoverRequest::Ipv4(1),
            HandoverRequest::Ipv6(SOCKETS_MAX),
            HandoverRequest::Unix,
            HandoverRequest::Namespace,
        ] {
            assert_eq!(HandoverRequest::read(request.bytes()), Some(request));
        }
        for bytes in [[b'4', 0], [b'4', SOCKETS_MAX + 1], [b'u', 2], [0, 0]] {
            assert_eq!(HandoverRequest::read(bytes), None);
        }
    }

    #[test]
    fn answers_carry_descriptors_or_the_error() {
        let (near, far) = UnixStream::pair().unwrap();
        assert_eq!(receive(&far).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let file = tempfile::tempfile().unwrap();
        answer(&near, Ok(&[file.as_fd(), file.as_fd()])).unwrap();
        assert_eq!(receive(&far).unwrap().len(), 2);
        answer(&near, Err(&io::ErrorKind::AddrInUse.into())).unwrap();
        assert_eq!(receive(&far).unwrap_err().raw_os_error(), Some(libc::EIO));
        answer(&near, Err(&io::Error::from_raw_os_error(libc::EMFILE))).unwrap();
        assert_eq!(receive(&far).unwrap_err().raw_os_error(), Some(libc::EMFILE));
        // Closing is not enough: a child of a parallel test inherits the socket until its exec.
        near.shutdown(std::net::Shutdown::Both).unwrap();
        assert_eq!(receive(&far).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
