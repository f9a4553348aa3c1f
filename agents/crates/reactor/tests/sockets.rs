//! Sockets on a loop: TCP and Unix streams, datagrams, and edge-triggered readiness.

use std::cell::Cell;
use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::rc::Rc;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use fairlead_reactor::{Listener, Source, Stream, block_on, sleep, spawn, yield_now};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;

#[test]
fn more_than_the_socket_takes_at_once_arrives_whole_both_ways() {
    const BYTES: usize = 32 * 1024 * 1024;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let unix = UnixListener::bind(&path).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let sent: Vec<u8> = (0..=250).cycle().take(BYTES).collect();
    for kind in ["unix", "tcp"] {
        let (full, is_full) = mpsc::channel();
        // Reads nothing until the socket is full, then echoes everything once it has all of it.
        let answer = move |peer: &mut dyn ReadWrite| {
            is_full.recv().unwrap();
            let mut all = Vec::new();
            peer.read_to_end(&mut all).unwrap();
            peer.write_all(&all).unwrap();
        };
        let (unix, tcp) = (unix.try_clone().unwrap(), tcp.try_clone().unwrap());
        let app = std::thread::spawn(move || match kind {
            "unix" => answer(&mut unix.accept().unwrap().0),
            _ => answer(&mut tcp.accept().unwrap().0),
        });
        let got = block_on(async {
            let mut socket = match kind {
                "unix" => Stream::connect_unix(&path).unwrap(),
                _ => Stream::connect(address).await.unwrap(),
            };
            assert_eq!(socket.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
            // Writes until the socket is full; the peer starts to read only after that.
            let mut taken = 0;
            while let Ok(count) = socket.try_write(&sent[taken..]) {
                taken += count;
            }
            assert!(0 < taken && taken < BYTES, "{taken}");
            full.send(()).unwrap();
            socket.write_all(&sent[taken..]).await.unwrap();
            AsyncWriteExt::shutdown(&mut socket).await.unwrap();
            let mut got = Vec::new();
            socket.read_to_end(&mut got).await.unwrap();
            got
        })
        .unwrap();
        app.join().unwrap();
        assert!(got == sent, "{kind}");
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

#[test]
fn questions_are_accepted_and_answered_until_the_end_is_seen() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peer = std::thread::spawn(move || {
        for _ in 0..20 {
            let mut stream = TcpStream::connect(address).unwrap();
            for number in 0..50_u32 {
                stream.write_all(&number.to_be_bytes()).unwrap();
                let mut answer = [0; 4];
                stream.read_exact(&mut answer).unwrap();
                assert_eq!(u32::from_be_bytes(answer), number + 1);
            }
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        }
    });
    block_on(async {
        let listener = Listener::new(listener).unwrap();
        for _ in 0..20 {
            let (mut stream, from) = listener.accept().await.unwrap();
            assert!(from.ip().is_loopback());
            let (ended, has_ended) = oneshot::channel();
            spawn(async move {
                let mut question = [0; 4];
                // Peeks first, then reads.
                while stream.peek(&mut question).await.unwrap() == 4 {
                    let seen = question;
                    stream.read_exact(&mut question).await.unwrap();
                    assert_eq!(seen, question);
                    let answer = u32::from_be_bytes(question) + 1;
                    stream.write_all_buf(&mut &answer.to_be_bytes()[..]).await.unwrap();
                }
                assert_eq!(stream.read(&mut question).await.unwrap(), 0);
                ended.send(()).unwrap();
            });
            has_ended.await.unwrap();
        }
    })
    .unwrap();
    peer.join().unwrap();
}

#[test]
fn an_end_that_comes_with_the_last_bytes_is_seen_after_them() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    stream.write_all(b"last").unwrap();
    drop(stream);
    block_on(async {
        let (stream, _) = Listener::new(listener).unwrap().accept().await.unwrap();
        // Data and end have both arrived before the first poll.
        let mut buffer = [0; 64];
        for expected in [4, 0, 0] {
            let read = poll_fn(|cx| stream.poll_read_slice(cx, &mut buffer)).await;
            assert_eq!(read.unwrap(), expected);
        }
    })
    .unwrap();
}

#[test]
fn a_connection_without_a_listener_fails() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        assert_eq!(Stream::connect(address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let nowhere = Stream::connect_unix(&folder.path().join("none.sock"));
        assert_eq!(nowhere.unwrap_err().kind(), ErrorKind::NotFound);
    })
    .unwrap();
}

#[test]
fn a_task_that_is_always_ready_lets_others_run() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peer = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let zeros = [0; 64 * 1024];
        while stream.write_all(&zeros).is_ok() {}
    });
    block_on(async {
        let stream = Stream::connect(address).await.unwrap();
        // Starts once enough has arrived that a reader of single bytes never finishes.
        let mut seen = [0; 32 * 1024];
        while stream.peek(&mut seen).await.unwrap() < seen.len() {
            sleep(Duration::from_millis(1)).await;
        }
        let read: Rc<Cell<u32>> = Rc::default();
        let counted = Rc::clone(&read);
        let reader = spawn(async move {
            let mut byte = [0];
            while poll_fn(|cx| stream.poll_read_slice(cx, &mut byte)).await.unwrap() > 0 {
                counted.set(counted.get() + 1);
            }
        });
        let mut turns = 0;
        let mut before = 0;
        // Wakes itself at once, so it takes turns with the reader.
        poll_fn(|cx| {
            let now = read.get();
            assert!(now - before <= 128, "{} reads in one turn", now - before);
            (before, turns) = (now, turns + 1);
            cx.waker().wake_by_ref();
            if turns < 100 { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        assert!(before > 0);
        reader.abort();
    })
    .unwrap();
    peer.join().unwrap();
}

#[test]
fn a_task_that_yields_runs_after_tasks_that_the_network_made_ready() {
    let (left, right) = UnixStream::pair().unwrap();
    left.set_nonblocking(true).unwrap();
    block_on(async {
        let source = Rc::new(Source::new(left).unwrap());
        let (read, reader): (Rc<Cell<u32>>, _) = (Rc::default(), Rc::clone(&source));
        let counted = Rc::clone(&read);
        spawn(async move {
            loop {
                poll_fn(|cx| reader.poll_readable(cx)).await;
                match reader.try_read_by(|mut socket| socket.read(&mut [0; 8])) {
                    Ok(_) => counted.set(counted.get() + 1),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
            }
        });
        yield_now().await;
        for number in 1..100 {
            (&right).write_all(b"x").unwrap();
            yield_now().await;
            assert_eq!(read.get(), number);
        }
    })
    .unwrap();
}

#[test]
fn a_connection_that_another_task_uses_gives_its_former_user_no_turns() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peer = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut byte = [0];
        while stream.read(&mut byte).unwrap() > 0 {
            stream.write_all(&byte).unwrap();
        }
    });
    block_on(async {
        let (handed, connection) = oneshot::channel();
        let turns: Rc<Cell<u32>> = Rc::default();
        let counted = Rc::clone(&turns);
        spawn(async move {
            // Waits until the connection is writable, then reads once.
            let mut stream = Stream::connect(address).await.unwrap();
            stream.write_all(b"a").await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
            handed.send(stream).unwrap();
            poll_fn(|_| {
                counted.set(counted.get() + 1);
                Poll::<()>::Pending
            })
            .await;
        });
        let mut stream = connection.await.unwrap();
        let before = turns.get();
        for _ in 0..100 {
            stream.write_all(b"b").await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
        }
        // One turn, if the first response arrived before another task waited for it.
        assert!(turns.get() - before <= 1, "{} turns", turns.get() - before);
    })
    .unwrap();
    peer.join().unwrap();
}

#[test]
fn the_sending_side_may_be_shut_down_after_a_reset() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    block_on(async {
        let (mut stream, _) = Listener::new(listener).unwrap().accept().await.unwrap();
        stream.write_all(b"never read").await.unwrap();
        peer.write_all(b"last").unwrap();
        // Unread bytes turn the close into a reset.
        drop(peer);
        sleep(Duration::from_millis(20)).await;
        let shut = poll_fn(|cx| stream.poll_shutdown_write(cx)).await;
        assert_eq!(shut.unwrap_err().kind(), ErrorKind::NotConnected);
        AsyncWriteExt::shutdown(&mut stream).await.unwrap();
    })
    .unwrap();
}

#[test]
fn datagrams_are_received_and_a_descriptor_that_lives_on_elsewhere_is_forgotten() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let (address, other) = (socket.local_addr().unwrap(), socket.try_clone().unwrap());
    block_on(async {
        for number in 0..3_u8 {
            let source = Source::new(other.try_clone().unwrap()).unwrap();
            let sender = Source::new(UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
            sender.try_write_by(|socket| socket.send_to(&[number], address)).unwrap();
            let mut byte = [0];
            poll_fn(|cx| source.poll_readable(cx)).await;
            assert_eq!(source.try_read_by(|socket| socket.recv(&mut byte)).unwrap(), 1);
            assert_eq!(byte, [number]);
            let again = source.try_read_by(|socket| socket.recv(&mut byte)).unwrap_err();
            assert_eq!(again.kind(), ErrorKind::WouldBlock);
        }
    })
    .unwrap();
}
