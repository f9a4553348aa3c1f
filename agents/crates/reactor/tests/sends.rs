//! Tests batches of sends: bytes in order, full sockets, errors, and streams that end with a queued send. Each test also runs
//! without a send ring.

// Clippy knows only functions with `#[test]` as tests; these have helpers.
#![allow(clippy::unwrap_used)]

use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;

use fairlead_reactor::{SendRing, Stream, block_on_with, sleep, spawn, yield_now};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;

/// Rings of the two runs of a test. Where io_uring is forbidden, both runs have none.
fn rings() -> [Option<SendRing>; 2] {
    [None, SendRing::new().ok()]
}

fn pair() -> (Stream, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    (Stream::adopt(near.into()).unwrap(), far)
}

fn has_arrived(peer: &UnixStream) -> bool {
    peer.set_nonblocking(true).unwrap();
    let mut byte = [0];
    let peeked = rustix::net::recv(peer, &mut byte[..], rustix::net::RecvFlags::PEEK);
    peer.set_nonblocking(false).unwrap();
    peeked.is_ok()
}

/// Returns `length` bytes that continue a pattern at `from`.
fn pattern(from: usize, length: usize) -> Vec<u8> {
    (from..from + length).map(|at| (at % 251) as u8).collect()
}

#[test]
fn small_sends_of_one_iteration_leave_together_at_its_end() {
    for ring in rings() {
        let batches = ring.is_some();
        block_on_with(ring, async move {
            let (one, one_peer) = pair();
            let (two, two_peer) = pair();
            assert_eq!(one.try_write(b"first").unwrap(), 5);
            assert_eq!(two.try_write(b"second").unwrap(), 6);
            assert_eq!(has_arrived(&one_peer), !batches);
            assert_eq!(has_arrived(&two_peer), !batches);
            yield_now().await;
            for (mut peer, expected) in [(one_peer, "first"), (two_peer, "second")] {
                let mut got = vec![0; expected.len()];
                peer.read_exact(&mut got).unwrap();
                assert_eq!(got, expected.as_bytes());
            }
        })
        .unwrap();
    }
}

#[test]
fn an_iteration_with_more_sends_than_a_batch_sends_them_all() {
    for ring in rings() {
        block_on_with(ring, async {
            let pairs: Vec<_> = (0..200).map(|_| pair()).collect();
            for (number, (stream, _)) in pairs.iter().enumerate() {
                assert_eq!(stream.try_write(&[number as u8; 3]).unwrap(), 3);
            }
            yield_now().await;
            for (number, (_, peer)) in pairs.iter().enumerate() {
                let (mut peer, mut got) = (peer, [0; 3]);
                peer.read_exact(&mut got).unwrap();
                assert_eq!(got, [number as u8; 3]);
            }
        })
        .unwrap();
    }
}

#[test]
fn queued_and_direct_writes_of_one_stream_stay_in_order() {
    let sizes = [1, 8192, 8193, 100, 20_000, 8000, 200, 3, 8192, 8192, 40_000, 0, 1];
    for ring in rings() {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let total: usize = sizes.iter().sum::<usize>() * 20;
        let reader = std::thread::spawn(move || {
            let mut got = Vec::new();
            far.read_to_end(&mut got).unwrap();
            got
        });
        block_on_with(ring, async {
            let mut stream = Stream::adopt(near.into()).unwrap();
            let mut at = 0;
            for (round, size) in sizes.iter().cycle().take(sizes.len() * 20).enumerate() {
                let bytes = pattern(at, *size);
                // Other streams have sends in the same batches, and end within them.
                let (other, _peer) = pair();
                other.try_write(b"other").unwrap();
                if round % 3 == 0 {
                    let parts = [std::io::IoSlice::new(&bytes[..size / 2]), std::io::IoSlice::new(&bytes[size / 2..])];
                    let count = stream.write_vectored(&parts).await;
                    stream.write_all(&bytes[count.unwrap()..]).await.unwrap();
                } else {
                    stream.write_all(&bytes).await.unwrap();
                }
                at += size;
                if round % 5 == 0 {
                    yield_now().await;
                }
            }
            AsyncWriteExt::shutdown(&mut stream).await.unwrap();
        })
        .unwrap();
        let got = reader.join().unwrap();
        assert_eq!(got.len(), total);
        assert!(got == pattern(0, total));
    }
}

#[test]
fn a_slow_reader_gets_what_its_full_socket_did_not_take() {
    for ring in rings() {
        block_on_with(ring, async {
            let (mut stream, mut far) = pair();
            let (other, _other_peer) = pair();
            let mut written = 0;
            // Fills the socket by small writes of several loop iterations, with another send in each batch.
            while let Ok(count) = stream.try_write(&pattern(written, 5000)) {
                other.try_write(b"x").unwrap();
                written += count;
                yield_now().await;
            }
            assert!(written > 0);
            let refused = stream.try_write(b"no room").unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::WouldBlock);
            let left = stream.unsent();
            let reader = std::thread::spawn(move || {
                let mut got = Vec::new();
                far.read_to_end(&mut got).unwrap();
                got
            });
            if left > 0 {
                // The loop itself sends the rest; the task only sees that it is done.
                stream.flush().await.unwrap();
                assert_eq!(stream.unsent(), 0);
            }
            stream.write_all(&pattern(written, 100_000)).await.unwrap();
            AsyncWriteExt::shutdown(&mut stream).await.unwrap();
            let got = reader.join().unwrap();
            assert_eq!(got.len(), written + 100_000);
            assert!(got == pattern(0, written + 100_000));
        })
        .unwrap();
    }
}

#[test]
fn the_rest_of_a_short_send_leaves_without_its_task() {
    for ring in rings() {
        let batches = ring.is_some();
        block_on_with(ring, async move {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            rustix::net::sockopt::set_socket_send_buffer_size(&client, 1).unwrap();
            client.set_nonblocking(true).unwrap();
            let stream = Stream::adopt(client.into()).unwrap();
            let (mut peer, _) = listener.accept().unwrap();
            let mut written = 0;
            while let Ok(count) = stream.try_write(&pattern(written, 8192)) {
                written += count;
                yield_now().await;
            }
            assert_eq!(stream.unsent() > 0, batches, "{} bytes", stream.unsent());
            // No task polls the stream from here on.
            let mut got = vec![0; written];
            let reader = std::thread::spawn(move || {
                peer.read_exact(&mut got).unwrap();
                got
            });
            while !reader.is_finished() {
                sleep(std::time::Duration::from_millis(1)).await;
            }
            assert!(reader.join().unwrap() == pattern(0, written));
        })
        .unwrap();
    }
}

#[test]
fn the_error_of_a_queued_send_comes_with_the_next_operation_once() {
    for operation in ["write", "flush", "shutdown"] {
        let ring = SendRing::new().ok();
        let batches = ring.is_some();
        block_on_with(ring, async move {
            let (mut stream, peer) = pair();
            let (other, mut other_peer) = pair();
            drop(peer);
            let first = stream.try_write(b"lost");
            other.try_write(b"delivered").unwrap();
            yield_now().await;
            let mut got = [0; 9];
            other_peer.read_exact(&mut got).unwrap();
            let error = match (batches, operation) {
                (false, _) => first.unwrap_err(),
                (true, "write") => stream.try_write(b"again").unwrap_err(),
                (true, "flush") => stream.flush().await.unwrap_err(),
                _ => AsyncWriteExt::shutdown(&mut stream).await.unwrap_err(),
            };
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
            stream.flush().await.unwrap();
        })
        .unwrap();
    }
}

#[test]
fn a_reset_ends_the_wait_for_room() {
    for ring in rings() {
        block_on_with(ring, async {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut stream = Stream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (mut peer, _) = listener.accept().unwrap();
            peer.write_all(b"unread").unwrap();
            while stream.try_write(&pattern(0, 4096)).is_ok() {
                yield_now().await;
            }
            let (ended, has_ended) = oneshot::channel();
            spawn(async move {
                let flushed = stream.write_all(b"more").await;
                ended.send(flushed.unwrap_err().kind()).unwrap();
            });
            yield_now().await;
            drop(peer);
            let kind = has_ended.await.unwrap();
            assert!(matches!(kind, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{kind}");
        })
        .unwrap();
    }
}

#[test]
fn a_stream_that_ends_with_a_queued_send_sends_it() {
    for ring in rings() {
        block_on_with(ring, async {
            let (kept, mut kept_peer) = pair();
            let (dropped, mut dropped_peer) = pair();
            let (shut, mut shut_peer) = pair();
            dropped.try_write(b"dropped").unwrap();
            kept.try_write(b"kept").unwrap();
            shut.try_write(b"shut").unwrap();
            drop(dropped);
            // A new socket takes the number of the closed descriptor, and must not get its bytes.
            let (heir, heir_peer) = pair();
            poll_fn(|cx| shut.poll_shutdown_write(cx)).await.unwrap();
            let mut got = String::new();
            dropped_peer.read_to_string(&mut got).unwrap();
            assert_eq!(got, "dropped");
            got.clear();
            shut_peer.read_to_string(&mut got).unwrap();
            assert_eq!(got, "shut");
            yield_now().await;
            let mut got = [0; 4];
            kept_peer.read_exact(&mut got).unwrap();
            assert_eq!(&got, b"kept");
            assert!(!has_arrived(&heir_peer));
            drop(heir);
        })
        .unwrap();
    }
}

#[test]
fn the_end_of_a_loop_sends_what_is_queued() {
    for ring in rings() {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let stream = block_on_with(ring, async {
            let stream = Stream::adopt(near.into()).unwrap();
            stream.try_write(b"queued,").unwrap();
            stream
        })
        .unwrap();
        stream.try_write(b"direct").unwrap();
        drop(stream);
        let mut got = String::new();
        far.read_to_string(&mut got).unwrap();
        assert_eq!(got, "queued,direct");
    }
}

#[test]
fn questions_are_answered_while_others_wait() {
    for ring in rings() {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let (done, is_done) = mpsc::channel();
        let peer = std::thread::spawn(move || {
            for number in 0..500_u32 {
                far.write_all(&number.to_be_bytes()).unwrap();
                let mut answer = [0; 4];
                far.read_exact(&mut answer).unwrap();
                assert_eq!(u32::from_be_bytes(answer), number + 1);
            }
            done.send(()).unwrap();
        });
        block_on_with(ring, async {
            let mut stream = Stream::adopt(near.into()).unwrap();
            let mut question = [0; 4];
            while stream.read_exact(&mut question).await.is_ok() {
                let answer = u32::from_be_bytes(question) + 1;
                stream.write_all(&answer.to_be_bytes()).await.unwrap();
            }
        })
        .unwrap();
        is_done.recv().unwrap();
        peer.join().unwrap();
    }
}
