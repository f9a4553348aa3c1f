//! Descriptor passing over Unix sockets (SCM_RIGHTS, unix(7)), and the sender's identity. Descriptors are close-on-exec from the
//! moment they arrive.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::cmsg_space;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recvmsg, sendmsg, socket_with,
    sockopt,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Maximum number of descriptors in one message; the kernel's limit is 253 (unix(7), SCM_MAX_FD).
const BATCH_MAX: usize = 32;

/// Writes all of `bytes`. Descriptors travel with the first of them, a batch a byte, so there must be a byte for each batch.
pub async fn send(stream: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    if descriptors.len().div_ceil(BATCH_MAX) > bytes.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "more descriptors than the message can carry"));
    }
    let mut rest = bytes;
    let mut waiting = descriptors;
    while !rest.is_empty() {
        let (batch, later) = waiting.split_at(waiting.len().min(BATCH_MAX));
        // A byte for each batch still to come must be left.
        let piece = if later.is_empty() { rest } else { &rest[..1] };
        let sent = stream.async_io(Interest::WRITABLE, || send_once(stream, piece, batch)).await?;
        rest = &rest[sent..];
        waiting = later;
    }
    Ok(())
}

/// Ancillary messages beside the bytes of a stream.
#[derive(Debug, Default)]
pub struct Ancillary {
    /// Descriptors in the order they were sent.
    pub descriptors: VecDeque<OwnedFd>,
    /// Process that sent last, as the kernel reports it; only on sockets of `connect_asking_sender`.
    pub sender: Option<u32>,
}

/// Connects to a Unix socket, and has the kernel name the sender of everything that arrives (SO_PASSCRED): a peer can't lie about
/// it. Sets the option before it connects, because earlier messages carry no sender.
pub fn connect_asking_sender(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_passcred(&socket, true)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    UnixStream::from_std(socket.into())
}

/// Reads once, at most `bytes.len()`; zero means the peer closed. Descriptors that came along are appended.
/// Cancel-safe: nothing is lost when the future is dropped before it is ready.
pub async fn receive(stream: &UnixStream, bytes: &mut [u8], ancillary: &mut Ancillary) -> io::Result<usize> {
    stream.async_io(Interest::READABLE, || receive_once(stream, bytes, ancillary)).await
}

fn send_once(stream: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(BATCH_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many descriptors"));
    }
    Ok(sendmsg(stream.as_fd(), &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?)
}

fn receive_once(stream: &UnixStream, bytes: &mut [u8], ancillary: &mut Ancillary) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(BATCH_MAX), ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(stream.as_fd(), &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for message in control.drain() {
        match message {
            RecvAncillaryMessage::ScmRights(arrived) => ancillary.descriptors.extend(arrived),
            RecvAncillaryMessage::ScmCredentials(sender) => {
                ancillary.sender = u32::try_from(sender.pid.as_raw_nonzero().get()).ok();
            }
            _ => {}
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "descriptors were lost on the way"));
    }
    Ok(received.bytes)
}

/// Closes all descriptors from `first` on, or marks them close-on-exec with `CLOSE_RANGE_CLOEXEC`. A kernel that can't
/// (before 5.9, with the flag before 5.11) leaves them as they are. Calls the kernel itself, because glibc has no
/// `close_range` before 2.34. Allocates nothing, so a child may call it between fork and exec.
///
/// # Safety
///
/// Nothing may use a descriptor that this closes.
#[allow(unsafe_code)]
pub unsafe fn close_range(first: libc::c_uint, flags: libc::c_uint) {
    // SAFETY: the caller gives up the descriptors; close_range(2) touches no memory.
    unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) };
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn a_listener_that_travelled_still_accepts() {
        let (near, far) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        send(&near, b"here", &[listener.as_fd()]).await.unwrap();
        drop(listener);
        let (mut bytes, mut arrived) = ([0u8; 16], Ancillary::default());
        assert_eq!(receive(&far, &mut bytes, &mut arrived).await.unwrap(), 4);
        assert_eq!(arrived.sender, None, "nobody asked");
        let adopted = TcpListener::from(arrived.descriptors.pop_front().unwrap());
        TcpStream::connect(address).unwrap();
        adopted.accept().unwrap();
    }

    #[tokio::test]
    async fn more_descriptors_than_one_piece_carries_arrive_in_order() {
        let (near, far) = UnixStream::pair().unwrap();
        let files: Vec<_> = (0..100).map(|_| tempfile::tempfile().unwrap()).collect();
        let number = |file: BorrowedFd<'_>| rustix::fs::fstat(file).unwrap().st_ino;
        let sent: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
        send(&near, b"message", &sent).await.unwrap();
        drop(near);
        let (mut text, mut bytes, mut arrived) = (Vec::new(), [0u8; 16], Ancillary::default());
        loop {
            match receive(&far, &mut bytes, &mut arrived).await.unwrap() {
                0 => break,
                count => text.extend_from_slice(&bytes[..count]),
            }
        }
        assert_eq!(text, b"message");
        let arrived: Vec<_> = arrived.descriptors.iter().map(|descriptor| number(descriptor.as_fd())).collect();
        assert_eq!(arrived, sent.iter().map(|file| number(*file)).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn the_kernel_names_the_process_that_sent() {
        let folder = tempfile::tempdir().unwrap();
        let listener = tokio::net::UnixListener::bind(folder.path().join("s")).unwrap();
        let far = connect_asking_sender(&folder.path().join("s")).unwrap();
        let (near, _) = listener.accept().await.unwrap();
        send(&near, b"here", &[]).await.unwrap();
        let (mut bytes, mut arrived) = ([0u8; 16], Ancillary::default());
        assert_eq!(receive(&far, &mut bytes, &mut arrived).await.unwrap(), 4);
        assert_eq!(arrived.sender, Some(std::process::id()));
    }
}
