//! Network namespace whose only way out is a tun device: this process receives the packets that the kernel sends there, and
//! hands it packets as if they had arrived. For the emulated link of the benchmark lab.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;

use crate::NamespaceError;
use crate::namespace::{current, failed, inside_new};
use crate::netlink::{DeviceCounters, LOOPBACK, Netlink};

const DEVICE_FILE: &str = "/dev/net/tun";
const DEVICE: &str = "tun0";

/// Namespace and its device, both held open. The kernel removes them after this value is dropped and the processes inside
/// end.
#[derive(Debug)]
pub struct TunNamespace {
    own: OwnedFd,
    device: OwnedFd,
    index: u32,
    routing: Netlink,
}

impl TunNamespace {
    /// Creates a namespace. Its device has `address`, leads to `peer` only, is up, and takes packets from and to 127.0.0.0/8.
    /// `loopback` brings up the loopback device; without it, 127.0.0.1 is reached through the device.
    pub fn make(address: Ipv4Addr, peer: Ipv4Addr, loopback: bool) -> Result<Self, NamespaceError> {
        inside_new(move || {
            let own = current().map_err(failed("opening the network namespace"))?;
            let device = open_device().map_err(failed("opening /dev/net/tun"))?;
            let mut routing = Netlink::open().map_err(failed("opening its routing"))?;
            let index = name_to_index(routing.as_fd(), DEVICE);
            let index = index.map_err(|error| failed("finding its device")(error.into()))?;
            routing.add_address(index, address.into()).map_err(failed("giving it its address"))?;
            routing.set_up_tun(index).map_err(failed("taking its device up"))?;
            routing.add_host_route(index, peer.into()).map_err(failed("routing to the other end"))?;
            if loopback {
                routing.set_up(LOOPBACK).map_err(failed("taking its loopback up"))?;
            } else {
                let routed = routing.add_host_route(index, Ipv4Addr::LOCALHOST.into());
                routed.map_err(failed("routing 127.0.0.1 to the other end"))?;
            }
            Ok(Self { own, device, index, routing })
        })?
    }

    /// Returns the descriptor of the namespace, which exists as long as the descriptor is open.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }

    /// Returns the device, which does not block. Each read returns one IP packet, and each write passes one.
    pub fn device(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    /// Reads the kernel's counters of the device.
    pub fn counters(&mut self) -> io::Result<DeviceCounters> {
        self.routing.counters(self.index)
    }
}

/// Runs `action` on a thread in `namespace`, and waits for it.
pub fn run_inside<T: Send>(namespace: BorrowedFd<'_>, action: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("network".to_owned());
        let thread = thread.spawn_scoped(scope, || {
            crate::join(namespace)?;
            action()
        })?;
        thread.join().map_err(|_| io::Error::other("its thread ended"))?
    })
}

/// Creates the device in the namespace of the calling thread.
#[allow(unsafe_code)]
fn open_device() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let device = rustix::fs::open(DEVICE_FILE, flags, Mode::empty())?;
    // SAFETY: zeros are a valid `ifreq`: integers and pointers without a target.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(DEVICE.bytes()) {
        *to = libc::c_char::try_from(from).map_err(|_| Errno::INVAL)?;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request reads one `ifreq`, which outlives it (tun.rst of the kernel).
    match unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &raw const request) } {
        0 => Ok(device),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::{read, write};

    use super::*;

    /// Forwards packets between two devices until the connection of the test ends.
    fn forward(one: &TunNamespace, other: &TunNamespace, done: &std::sync::atomic::AtomicBool) -> [u64; 2] {
        let (mut packet, mut counts) = ([0; 2048], [0; 2]);
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            let mut polled = [PollFd::new(&one.device, PollFlags::IN), PollFd::new(&other.device, PollFlags::IN)];
            let patience = rustix::event::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            poll(&mut polled, Some(&patience)).unwrap();
            for (number, (from, to)) in [(one, other), (other, one)].into_iter().enumerate() {
                while let Ok(length) = read(from.device(), &mut packet) {
                    assert_eq!(write(to.device(), &packet[..length]).unwrap(), length);
                    counts[number] += 1;
                }
            }
        }
        counts
    }

    #[test]
    fn a_connection_to_127_0_0_1_leads_over_the_devices_and_the_kernel_counts_its_packets() {
        let (near, far) = (Ipv4Addr::new(198, 18, 0, 2), Ipv4Addr::new(198, 18, 0, 3));
        let mut servers = TunNamespace::make(near, far, true).unwrap();
        let mut clients = TunNamespace::make(far, near, false).unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        let counts = std::thread::scope(|scope| {
            let forwarded = scope.spawn(|| forward(&clients, &servers, &done));
            let listener = run_inside(servers.descriptor(), || TcpListener::bind("127.0.0.1:0")).unwrap();
            let address = listener.local_addr().unwrap();
            let mut client = run_inside(clients.descriptor(), || TcpStream::connect(address)).unwrap();
            let (mut server, peer) = listener.accept().unwrap();
            assert_eq!(peer.ip(), far);
            client.write_all(b"hello").unwrap();
            let mut received = [0; 5];
            server.read_exact(&mut received).unwrap();
            assert_eq!(&received, b"hello");
            drop((client, server));
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            forwarded.join().unwrap()
        });
        let (sent, received) = (clients.counters().unwrap(), servers.counters().unwrap());
        assert!(counts[0] >= 3, "{counts:?}");
        assert_eq!([sent.sent, sent.received], counts);
        assert_eq!([received.received, received.sent], counts);
    }
}
