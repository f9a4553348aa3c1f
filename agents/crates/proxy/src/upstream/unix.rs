//! A Unix socket to an app. Watched for reading alone: the kernel says at every request that its bytes were taken, and each word
//! would wake the core for nothing. Only one that took less than it was given is watched for writing too, from then on.

use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::UnixStream;

/// One connection by a Unix socket.
#[derive(Debug)]
pub(crate) struct UnixSocket(Watched);

#[derive(Debug)]
enum Watched {
    ForReading(AsyncFd<StdUnixStream>),
    ForBoth(UnixStream),
    /// The runtime would not watch it any more.
    Lost,
}

impl UnixSocket {
    #[expect(
        deprecated,
        reason = "what replaces it is unsafe, for types that don't own their descriptor; this one does"
    )]
    pub(crate) async fn connect(path: &Path, owner: Option<u32>) -> io::Result<Self> {
        let socket = UnixStream::connect(path).await?;
        // An app that owns the folder could put a link to another's socket there, which it may not open itself.
        if let Some(owner) = owner
            && socket.peer_cred()?.uid() != owner
        {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "somebody else listens on the app's socket"));
        }
        let socket = socket.into_std()?;
        Ok(Self(Watched::ForReading(AsyncFd::with_interest(socket, Interest::READABLE)?)))
    }

    /// Reads if the runtime has seen something happen.
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.0 {
            Watched::ForReading(socket) => socket.try_io(Interest::READABLE, |mut socket| socket.read(buffer)),
            Watched::ForBoth(socket) => socket.try_read(buffer),
            Watched::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Writes at once; `None` when it takes nothing now, and is watched for when it does.
    fn write_now(
        &mut self,
        cx: &Context<'_>,
        write: impl FnOnce(&StdUnixStream) -> io::Result<usize>,
    ) -> io::Result<Option<usize>> {
        let Watched::ForReading(socket) = &self.0 else { return Ok(None) };
        match write(socket.get_ref()) {
            Ok(count) => return Ok(Some(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if let Watched::ForReading(socket) = std::mem::replace(&mut self.0, Watched::Lost) {
            self.0 = Watched::ForBoth(UnixStream::from_std(socket.into_inner())?);
            // Who waited to read is forgotten with the former watch, and has to ask again.
            cx.waker().wake_by_ref();
        }
        Ok(None)
    }

    fn watched_for_both(&mut self) -> io::Result<Pin<&mut UnixStream>> {
        match &mut self.0 {
            Watched::ForBoth(socket) => Ok(Pin::new(socket)),
            Watched::ForReading(_) | Watched::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl AsyncRead for UnixSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let socket = match &mut self.get_mut().0 {
            Watched::ForReading(socket) => socket,
            Watched::ForBoth(socket) => return Pin::new(socket).poll_read(cx, buffer),
            Watched::Lost => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        };
        loop {
            let mut ready = ready!(socket.poll_read_ready(cx))?;
            let room = buffer.initialize_unfilled();
            let Ok(read) = ready.try_io(|socket| socket.get_ref().read(room)) else { continue };
            let (count, room) = (read?, room.len());
            // A read that the socket could not fill has emptied it; what comes next will be told.
            if 0 < count && count < room {
                ready.clear_ready();
            }
            buffer.advance(count);
            return Poll::Ready(Ok(()));
        }
    }
}

impl AsyncWrite for UnixSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match this.write_now(cx, |mut socket| socket.write(bytes))? {
            Some(count) => Poll::Ready(Ok(count)),
            None => this.watched_for_both()?.poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match this.write_now(cx, |mut socket| socket.write_vectored(parts))? {
            Some(count) => Poll::Ready(Ok(count)),
            None => this.watched_for_both()?.poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The kernel has it all.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            Watched::ForReading(socket) => Poll::Ready(socket.get_ref().shutdown(Shutdown::Write)),
            Watched::ForBoth(socket) => Pin::new(socket).poll_shutdown(cx),
            Watched::Lost => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn more_than_the_socket_takes_at_once_arrives_whole_both_ways() {
        const BYTES: usize = 4 * 1024 * 1024;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let (full, is_full) = std::sync::mpsc::channel();
        // Takes nothing until the socket is full, then answers with what it was sent, once it has all of it.
        let app = std::thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            is_full.recv().unwrap();
            let mut all = Vec::new();
            peer.read_to_end(&mut all).unwrap();
            peer.write_all(&all).unwrap();
        });
        let sent: Vec<u8> = (0..=250).cycle().take(BYTES).collect();
        let got = Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let mut socket = UnixSocket::connect(&path, None).await.unwrap();
            assert!(matches!(socket.0, Watched::ForReading(_)));
            assert_eq!(socket.try_read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            // Written until it would have to wait, which nobody ends before it was seen here.
            let mut taken = 0;
            std::future::poll_fn(|cx| {
                while let Poll::Ready(count) = Pin::new(&mut socket).poll_write(cx, &sent[taken..]) {
                    taken += count.unwrap();
                }
                Poll::Ready(())
            })
            .await;
            assert!(0 < taken && taken < BYTES);
            assert!(matches!(socket.0, Watched::ForBoth(_)));
            full.send(()).unwrap();
            socket.write_all(&sent[taken..]).await.unwrap();
            socket.shutdown().await.unwrap();
            let mut got = Vec::new();
            socket.read_to_end(&mut got).await.unwrap();
            got
        });
        app.join().unwrap();
        assert!(got == sent);
    }

    #[test]
    fn one_that_takes_everything_is_watched_for_reading_alone_and_sees_answers_and_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let app = std::thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            let mut asked = [0; 4];
            for _ in 0..100 {
                peer.read_exact(&mut asked).unwrap();
                peer.write_all(&asked).unwrap();
            }
        });
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let mut socket = UnixSocket::connect(&path, None).await.unwrap();
            let mut answer = [0; 64];
            for number in 0..100_u32 {
                socket.write_all(&number.to_be_bytes()).await.unwrap();
                assert_eq!(socket.read(&mut answer).await.unwrap(), 4);
                assert_eq!(answer[..4], number.to_be_bytes());
            }
            assert!(matches!(socket.0, Watched::ForReading(_)));
            assert_eq!(socket.read(&mut answer).await.unwrap(), 0);
        });
        app.join().unwrap();
    }
}
