//! Emulator of the link between clients and proxies: two network namespaces, each with a tun device, and a process that
//! forwards their packets with a delay and loses some. For kernels without netem.

use std::collections::VecDeque;
use std::io::{BufRead, Error, Result, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Instant;

use fairlead_model::{LinkCondition, LinkCounters};
use fairlead_network::{DeviceCounters, TunNamespace};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::{Errno, read, write};
use serde::{Deserialize, Serialize};

/// Addresses of the two ends, of the network for benchmarks of networks (RFC 2544).
const PROXIES: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const CLIENTS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// Largest packet that the kernel sends to a tun device, with room to spare.
const PACKET_BYTES_MAX: usize = 64 * 1024;
/// Packets that a direction holds at most, as netem's default for a gigabit link and 100 ms.
const QUEUE_MAX: usize = 10_000;
/// Packets of one device before the other gets its turn.
const BATCH: usize = 64;
const MILLION: u64 = 1_000_000;
const COMMANDS: u64 = 2;

/// Namespaces of a link, as paths that other processes can open.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LinkNamespaces {
    pub(crate) proxies: PathBuf,
    pub(crate) clients: PathBuf,
}

/// Runs the link until standard input ends. Each line of input is a `LinkCondition`, and is answered by the `LinkCounters`
/// since the line before. Packets that still wait are delivered first, so that they count in the row that sent them.
pub fn run_link() -> Result<()> {
    let make = |address, peer, loopback| TunNamespace::make(address, peer, loopback).map_err(Error::other);
    let mut ends = [make(PROXIES, CLIENTS, true)?, make(CLIENTS, PROXIES, false)?];
    let path =
        |end: &TunNamespace| PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), end.descriptor().as_raw_fd()));
    print(&LinkNamespaces { proxies: path(&ends[0]), clients: path(&ends[1]) })?;
    let interest = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (end, number) in ends.iter().zip(0..) {
        epoll::add(&interest, end.device(), EventData::new_u64(number), EventFlags::IN)?;
    }
    let mut input = std::io::stdin().lock();
    epoll::add(&interest, rustix::stdio::stdin(), EventData::new_u64(COMMANDS), EventFlags::IN)?;
    let mut directions = [LinkDirection::default(), LinkDirection::default()];
    let mut before = kernel_counters(&mut ends)?;
    let (mut events, mut packet) = (Vec::with_capacity(8), vec![0; PACKET_BYTES_MAX]);
    loop {
        match epoll::wait(&interest, spare_capacity(&mut events), time_to_next(&directions).as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events.drain(..) {
            let key = event.data.u64();
            if key != COMMANDS {
                let from = usize::from(key == 1);
                receive(ends[from].device(), &mut directions[from], &mut packet)?;
                continue;
            }
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let condition: LinkCondition = serde_json::from_str(&line)?;
            for (from, direction) in directions.iter_mut().enumerate() {
                for packet in direction.flush() {
                    write(ends[1 - from].device(), &packet)?;
                }
            }
            let now = kernel_counters(&mut ends)?;
            print(&counted(&mut directions, before, now)?)?;
            before = now;
            for (direction, number) in directions.iter_mut().zip(0..) {
                // Each direction loses other packets.
                direction.set(LinkCondition { seed: condition.seed * 2 + number, ..condition });
            }
        }
        for (from, direction) in directions.iter_mut().enumerate() {
            while let Some(due) = direction.take_due(Instant::now()) {
                write(ends[1 - from].device(), &due)?;
            }
        }
    }
}

fn receive(device: BorrowedFd<'_>, direction: &mut LinkDirection, packet: &mut [u8]) -> Result<()> {
    for _ in 0..BATCH {
        match read(device, &mut *packet) {
            Ok(length) => direction.accept(&packet[..length], Instant::now()),
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn print(value: &impl Serialize) -> Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    writeln!(out)?;
    out.flush()
}

fn kernel_counters(ends: &mut [TunNamespace; 2]) -> Result<DeviceCounters> {
    let [one, other] = ends;
    let (one, other) = (one.counters()?, other.counters()?);
    Ok(DeviceCounters {
        sent: one.sent + other.sent,
        received: one.received + other.received,
        dropped: one.dropped + other.dropped,
    })
}

/// Takes the counters of both directions. Fails if the kernel's counters of the devices differ.
fn counted(directions: &mut [LinkDirection; 2], before: DeviceCounters, now: DeviceCounters) -> Result<LinkCounters> {
    let mut sum = LinkCounters {
        kernel_sent: now.sent - before.sent,
        kernel_received: now.received - before.received,
        overflowed: now.dropped - before.dropped,
        ..LinkCounters::default()
    };
    for direction in directions {
        let own = std::mem::take(&mut direction.counters);
        sum.packets += own.packets;
        sum.lost += own.lost;
        sum.overflowed += own.overflowed;
        sum.forwarded += own.forwarded;
    }
    if (sum.packets, sum.forwarded) == (sum.kernel_sent, sum.kernel_received) {
        return Ok(sum);
    }
    Err(Error::other(format!("the kernel counted other packets than the link: {sum:?}")))
}

/// Returns the time until the next packet is due.
fn time_to_next(directions: &[LinkDirection; 2]) -> Option<Timespec> {
    let due = directions.iter().filter_map(|direction| direction.queue.front()).map(|(due, _)| *due).min()?;
    Timespec::try_from(due.saturating_duration_since(Instant::now())).ok()
}

/// One direction of the link: loses packets at random and delays the others, in their order.
#[derive(Debug, Default)]
struct LinkDirection {
    condition: LinkCondition,
    /// State of the random numbers.
    random: u64,
    queue: VecDeque<(Instant, Vec<u8>)>,
    counters: LinkCounters,
}

impl LinkDirection {
    fn set(&mut self, condition: LinkCondition) {
        (self.condition, self.random) = (condition, condition.seed);
    }

    fn accept(&mut self, packet: &[u8], now: Instant) {
        self.counters.packets += 1;
        if self.next_random() % MILLION < self.condition.loss_per_million.into() {
            self.counters.lost += 1;
        } else if self.queue.len() >= QUEUE_MAX {
            self.counters.overflowed += 1;
        } else {
            self.queue.push_back((now + self.condition.delay, packet.to_vec()));
        }
    }

    /// Returns the next packet that is due. A packet never overtakes another, also where the delay gets shorter.
    fn take_due(&mut self, now: Instant) -> Option<Vec<u8>> {
        let (_, packet) = self.queue.pop_front_if(|(due, _)| *due <= now)?;
        self.counters.forwarded += 1;
        Some(packet)
    }

    /// Returns all packets that wait, before they are due.
    fn flush(&mut self) -> VecDeque<Vec<u8>> {
        self.counters.forwarded += self.queue.len() as u64;
        self.queue.drain(..).map(|(_, packet)| packet).collect()
    }

    /// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed, on every machine.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lossy(seed: u64) -> LinkDirection {
        let mut direction = LinkDirection::default();
        direction.set(LinkCondition { loss_per_million: 20_000, delay: Duration::from_millis(30), seed });
        direction
    }

    /// Returns the numbers of the packets that arrive.
    fn arrivals(direction: &mut LinkDirection, packets: u32) -> Vec<u32> {
        let now = Instant::now();
        let mut arrived = Vec::new();
        for number in 0..packets {
            direction.accept(&number.to_ne_bytes(), now);
            while let Some(packet) = direction.take_due(now + Duration::from_millis(30)) {
                arrived.push(u32::from_ne_bytes(packet.try_into().unwrap()));
            }
        }
        arrived
    }

    #[test]
    fn the_share_of_lost_packets_is_the_probability_and_a_seed_repeats_it() {
        let (mut one, mut same, mut other) = (lossy(7), lossy(7), lossy(8));
        let arrived = arrivals(&mut one, 100_000);
        // Four standard deviations of a binomial distribution around 2,000.
        assert!(one.counters.lost.abs_diff(2_000) <= 4 * 45, "{:?}", one.counters);
        assert_eq!(one.counters.forwarded + one.counters.lost, one.counters.packets);
        assert!(arrived.is_sorted());
        assert_eq!(arrived, arrivals(&mut same, 100_000));
        assert_ne!(arrived, arrivals(&mut other, 100_000));
    }

    #[test]
    fn a_packet_waits_for_its_delay_and_a_full_queue_drops() {
        let mut direction = LinkDirection::default();
        direction.set(LinkCondition { loss_per_million: 0, delay: Duration::from_millis(30), seed: 0 });
        let now = Instant::now();
        direction.accept(b"one", now);
        assert_eq!(direction.take_due(now + Duration::from_millis(29)), None);
        direction.set(LinkCondition::default());
        direction.accept(b"two", now);
        assert_eq!(direction.take_due(now), None, "the second does not overtake the first");
        let later = now + Duration::from_millis(30);
        assert_eq!(direction.take_due(later).as_deref(), Some(&b"one"[..]));
        assert_eq!(direction.take_due(later).as_deref(), Some(&b"two"[..]));
        for _ in 0..=QUEUE_MAX {
            direction.accept(b"many", now);
        }
        assert_eq!(direction.counters.overflowed, 1);
    }

    #[test]
    fn each_packet_counts_in_the_row_that_sent_it() {
        let mut direction = lossy(7);
        for packets in [1_000, 3] {
            let now = Instant::now();
            for _ in 0..packets {
                direction.accept(b"many", now);
            }
            let waiting = direction.flush().len() as u64;
            let LinkCounters { packets: taken, lost, overflowed, forwarded, .. } =
                std::mem::take(&mut direction.counters);
            assert_eq!((taken, forwarded), (packets, waiting));
            assert_eq!(taken, lost + overflowed + forwarded);
            assert_eq!(direction.take_due(now + Duration::from_millis(30)), None);
        }
    }
}
