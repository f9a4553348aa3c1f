//! Framing of the local protocol: a 4-byte big-endian length, then one message, over a Unix socket that may carry
//! descriptors. Invariant: a peer that breaks the framing gets an error, never a panic.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{BorrowedFd, OwnedFd};

use bytes::{Buf, BufMut, BytesMut};
use fairlead_base::descriptor::{self, Ancillary};
use prost::Message;
use tokio::net::UnixStream;

/// Maximum length of a message: many times a snapshot of some thousand routes with their certificates.
pub const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Maximum number of descriptors that wait for their message: a socket for each address and core of a large server.
const DESCRIPTORS_MAX: usize = 4096;

/// Reason why a local channel ended.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    #[error("the local socket failed")]
    Io(#[from] io::Error),
    /// The peer closed the socket in the middle of a message.
    #[error("the peer closed in the middle of a message")]
    Truncated,
    /// A message exceeds `MESSAGE_BYTES_MAX`.
    #[error("a message of {length} bytes is longer than the {MESSAGE_BYTES_MAX} allowed")]
    TooLong {
        /// Announced length of the message in bytes.
        length: usize,
    },
    /// More descriptors came than any message carries.
    #[error("more than the {DESCRIPTORS_MAX} descriptors allowed came with one message")]
    TooManyDescriptors,
    /// The bytes are not a valid message.
    #[error("the peer sent what is not a message")]
    Malformed(#[from] prost::DecodeError),
}

/// One end of a local connection that sends `Out` and receives `In`.
#[derive(Debug)]
pub struct LocalChannel<Out, In> {
    stream: UnixStream,
    unread: BytesMut,
    ancillary: Ancillary,
    messages: PhantomData<fn(Out) -> In>,
}

impl<Out: Message, In: Message + Default> LocalChannel<Out, In> {
    /// Creates a channel on a connected socket.
    pub fn new(stream: UnixStream) -> Self {
        Self { stream, unread: BytesMut::new(), ancillary: Ancillary::default(), messages: PhantomData }
    }

    /// Sends one message with its descriptors. Not cancel-safe: after a dropped send, the channel is unusable.
    pub async fn send(&self, message: &Out, descriptors: &[BorrowedFd<'_>]) -> Result<(), ChannelError> {
        let length = message.encoded_len();
        if length > MESSAGE_BYTES_MAX {
            return Err(ChannelError::TooLong { length });
        }
        let mut bytes = BytesMut::with_capacity(length + 4);
        bytes.put_u32(u32::try_from(length).map_err(|_| ChannelError::TooLong { length })?);
        bytes.extend_from_slice(&message.encode_to_vec());
        Ok(descriptor::send(&self.stream, &bytes, descriptors).await?)
    }

    /// Receives the next message; `None` if the peer closed between two messages. Cancel-safe.
    pub async fn receive(&mut self) -> Result<Option<In>, ChannelError> {
        self.receive_with(DESCRIPTORS_MAX).await
    }

    /// Receives a message that must not carry descriptors. Closes descriptors as they arrive, even before their message
    /// is complete, so that the peer can't exhaust those of this process.
    pub async fn receive_only_messages(&mut self) -> Result<Option<In>, ChannelError> {
        self.receive_with(0).await
    }

    async fn receive_with(&mut self, descriptors_max: usize) -> Result<Option<In>, ChannelError> {
        loop {
            if let Some(message) = self.buffered()? {
                return Ok(Some(message));
            }
            let mut bytes = [0u8; 16 * 1024];
            let count = descriptor::receive(&self.stream, &mut bytes, &mut self.ancillary).await?;
            if descriptors_max == 0 {
                self.ancillary.descriptors.clear();
            } else if self.ancillary.descriptors.len() > descriptors_max {
                return Err(ChannelError::TooManyDescriptors);
            }
            match count {
                0 if self.unread.is_empty() => return Ok(None),
                0 => return Err(ChannelError::Truncated),
                _ => self.unread.extend_from_slice(&bytes[..count]),
            }
        }
    }

    /// Returns the process that sent the last message; `None` unless the socket asks the kernel for it.
    pub fn sender(&self) -> Option<u32> {
        self.ancillary.sender
    }

    /// Takes the first `count` descriptors that have arrived and were not yet taken, in the order sent. Those of the
    /// next message may have arrived already.
    pub fn take_descriptors(&mut self, count: usize) -> Vec<OwnedFd> {
        let arrived = &mut self.ancillary.descriptors;
        arrived.drain(..count.min(arrived.len())).collect()
    }

    fn buffered(&mut self) -> Result<Option<In>, ChannelError> {
        let Some(head) = self.unread.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*head) as usize;
        if length > MESSAGE_BYTES_MAX {
            return Err(ChannelError::TooLong { length });
        }
        if self.unread.len() < length + 4 {
            self.unread.reserve(length + 4 - self.unread.len());
            return Ok(None);
        }
        self.unread.advance(4);
        Ok(Some(In::decode(self.unread.split_to(length))?))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::local::{ProxyCommand, ProxyEvent, ProxyHello, ProxySnapshot, proxy_command};

    type Near = LocalChannel<ProxyCommand, ProxyEvent>;
    type Far = LocalChannel<ProxyEvent, ProxyCommand>;

    fn pair() -> (Near, Far) {
        let (near, far) = UnixStream::pair().unwrap();
        (Near::new(near), Far::new(far))
    }

    fn snapshot(certificates: usize) -> ProxyCommand {
        let certificate = crate::local::ProxyCertificate {
            key_pkcs8_der: vec![7; 3000],
            ..crate::local::ProxyCertificate::default()
        };
        let snapshot = ProxySnapshot { certificates: vec![certificate; certificates], ..ProxySnapshot::default() };
        ProxyCommand { body: Some(proxy_command::Body::Snapshot(snapshot)) }
    }

    #[tokio::test]
    async fn messages_longer_than_a_socket_buffer_arrive_whole_and_in_order() {
        let (near, mut far) = pair();
        let sender = tokio::spawn(async move {
            for size in [0, 500, 1] {
                near.send(&snapshot(size), &[]).await.unwrap();
            }
        });
        for size in [0, 500, 1] {
            assert_eq!(far.receive().await.unwrap().unwrap(), snapshot(size));
        }
        sender.await.unwrap();
        assert!(far.receive().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn descriptors_arrive_beside_their_message() {
        let (near, mut far) = pair();
        let file = tempfile::tempfile().unwrap();
        let hello = proxy_command::Body::Hello(ProxyHello::default());
        near.send(&ProxyCommand { body: Some(hello) }, &[file.as_fd(), file.as_fd()]).await.unwrap();
        far.receive().await.unwrap().unwrap();
        assert_eq!((far.take_descriptors(1).len(), far.take_descriptors(2).len()), (1, 1));
        assert!(far.take_descriptors(1).is_empty());
    }

    /// Announces a message of maximum length and sends bytes of it, each with as many descriptors as one send allows.
    async fn flood(stream: &UnixStream, batches: usize) {
        let file = tempfile::tempfile().unwrap();
        let length = u32::try_from(MESSAGE_BYTES_MAX).unwrap();
        descriptor::send(stream, &length.to_be_bytes(), &[]).await.unwrap();
        let batch = [file.as_fd(); 32];
        for _ in 0..batches {
            // The receiver may have closed the channel.
            descriptor::send(stream, &[0], &batch).await.ok();
        }
    }

    #[tokio::test]
    async fn descriptors_of_a_message_that_never_ends_are_bounded() {
        let (near, mut far) = pair();
        let batches = DESCRIPTORS_MAX / 32 + 2;
        let (ended, ()) = tokio::join!(far.receive(), flood(&near.stream, batches));
        assert!(matches!(ended, Err(ChannelError::TooManyDescriptors)), "{ended:?}");
    }

    #[tokio::test]
    async fn descriptors_that_no_message_carries_are_closed_as_they_arrive() {
        // Control: with a message that may carry them, descriptors wait until it is complete.
        for (only_messages, kept) in [(false, 4 * 32), (true, 0)] {
            let (near, mut far) = pair();
            flood(&near.stream, 4).await;
            while far.unread.len() < 4 + 4 {
                let receive =
                    async { if only_messages { far.receive_only_messages().await } else { far.receive().await } };
                tokio::select! {
                    biased;
                    ended = receive => panic!("{ended:?}"),
                    () = tokio::task::yield_now() => {}
                }
            }
            assert_eq!(far.ancillary.descriptors.len(), kept);
        }
    }

    #[tokio::test]
    async fn a_length_beyond_the_bound_or_a_cut_message_is_an_error() {
        let (near, mut far) = pair();
        descriptor::send(&near.stream, &u32::MAX.to_be_bytes(), &[]).await.unwrap();
        assert!(matches!(far.receive().await, Err(ChannelError::TooLong { .. })));
        let (near, mut far) = pair();
        descriptor::send(&near.stream, &[0, 0, 0, 9, 1], &[]).await.unwrap();
        drop(near);
        assert!(matches!(far.receive().await, Err(ChannelError::Truncated)));
    }
}
