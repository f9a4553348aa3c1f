//! Connection ids that say where their connection lives: which process, and which of its cores. A client keeps them when its
//! address changes, and then its packets arrive wherever the kernel's hash of the new address leads.

use aws_lc_rs::rand;
use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};

/// Length of every id that we issue.
pub(crate) const CID_BYTES: usize = 10;

/// A process that serves QUIC, at random: two that live at once on one port differ, but for one time in 65,536.
pub(crate) type Generation = [u8; 2];

/// Where a connection lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) generation: Generation,
    /// The core's number modulo 256.
    pub(crate) core: u8,
}

impl Place {
    /// Where a datagram belongs, as far as its connection id tells; `None` when that is none of ours in length.
    /// The id of a client's first packets is of its own choice, so a place that nobody has means nothing.
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

/// Issues the ids of one core.
pub(crate) struct Cids(pub(crate) Place);

impl ConnectionIdGenerator for Cids {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut bytes = [0; CID_BYTES];
        // Without randomness an id would be taken already, and another is asked for.
        if rand::fill(&mut bytes).is_err() {
            tracing::error!("the system has no randomness for connection ids");
        }
        let [high, low] = self.0.generation;
        bytes[..3].copy_from_slice(&[self.0.core, high, low]);
        ConnectionId::new(&bytes)
    }

    /// Ids of processes before this one are as good: their clients are to be told that nobody knows them any more.
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
        let place = Place { generation: [7, 9], core: 3 };
        let id = Cids(place).generate_cid();
        let short = [&[0x40], &id[..], b"payload"].concat();
        let long = [&[0xe0, 0, 0, 0, 1, CID_BYTES as u8], &id[..], b"rest"].concat();
        assert_eq!((Place::of(&short), Place::of(&long)), (Some(place), Some(place)));
        let foreign = [&[0xc0, 0, 0, 0, 1, 8], &id[..]].concat();
        assert_eq!((Place::of(&foreign), Place::of(&short[..5]), Place::of(&[])), (None, None, None));
    }
}
