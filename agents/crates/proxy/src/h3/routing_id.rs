//! QUIC connection ids that encode the process and core of a connection. A client keeps its id when its address
//! changes, while the kernel may then deliver its packets to any core.

use aws_lc_rs::rand;
use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};

/// Length of every issued id in bytes.
pub(crate) const CID_BYTES: usize = 10;

/// Random id of a process that serves QUIC: two processes on one port collide with a probability of 1 in 65,536.
pub(crate) type Generation = [u8; 2];

/// Process and core of a connection, as its connection id encodes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuicRoutingId {
    pub(crate) generation: Generation,
    /// Core number modulo 256.
    pub(crate) core: u8,
}

impl QuicRoutingId {
    /// Parses the routing id of a datagram; returns `None` if the connection id has another length. A client chooses
    /// the id of its first packets, so an unknown routing id means nothing.
    pub(crate) fn of(datagram: &[u8]) -> Option<Self> {
        let first = *datagram.first()?;
        // RFC 9000, 17.2: version, then the id with its length. 17.3: just the id.
        let start = if first & 0x80 == 0 {
            1
        } else if usize::from(*datagram.get(5)?) == CID_BYTES {
            6
        } else {
            return None;
        };
        let [core, high, low, ..] = *datagram.get(start..start + CID_BYTES)? else { return None };
        Some(Self { generation: [high, low], core })
    }
}

/// Generates the connection ids of one core.
pub(crate) struct RoutingIdGenerator(pub(crate) QuicRoutingId);

impl ConnectionIdGenerator for RoutingIdGenerator {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut bytes = [0; CID_BYTES];
        // Without randomness the id exists already, and QUIC requests another.
        if rand::fill(&mut bytes).is_err() {
            tracing::error!("the system has no randomness for connection ids");
        }
        let [high, low] = self.0.generation;
        bytes[..3].copy_from_slice(&[self.0.core, high, low]);
        ConnectionId::new(&bytes)
    }

    /// Accepts ids of former processes too: their clients get a stateless reset.
    fn validate(&self, _: &ConnectionId) -> Result<(), InvalidCid> {
        Ok(())
    }

    fn cid_len(&self) -> usize {
        CID_BYTES
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_placed_by_the_id_that_its_core_issued() {
        let routing_id = QuicRoutingId { generation: [7, 9], core: 3 };
        let id = RoutingIdGenerator(routing_id).generate_cid();
        let short = [&[0x40], &id[..], b"payload"].concat();
        let long = [&[0xe0, 0, 0, 0, 1, CID_BYTES as u8], &id[..], b"rest"].concat();
        assert_eq!((QuicRoutingId::of(&short), QuicRoutingId::of(&long)), (Some(routing_id), Some(routing_id)));
        let foreign = [&[0xc0, 0, 0, 0, 1, 8], &id[..]].concat();
        assert_eq!(
            (QuicRoutingId::of(&foreign), QuicRoutingId::of(&short[..5]), QuicRoutingId::of(&[])),
            (None, None, None)
        );
    }
}
