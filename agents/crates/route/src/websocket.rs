//! Frame boundaries of a WebSocket, and its Close frame for a restart (RFC 6455, 5.2 and 5.5.1). Invariant: it tracks
//! lengths only; payloads are never read, changed or delayed.

/// Service Restart in IANA's registry of close codes: the client reconnects to another server process.
const SERVICE_RESTART: u16 = 1012;
/// Longest header of a frame: two bytes, eight of length, four of mask.
const HEADER_BYTES_MAX: usize = 14;
const OPCODE_CLOSE: u8 = 8;

/// Close frame from a server (so without a mask) that asks the client to reconnect.
pub const CLOSE_FRAME: [u8; 4] = {
    let code = SERVICE_RESTART.to_be_bytes();
    [0x80 | OPCODE_CLOSE, 2, code[0], code[1]]
};

/// Position within the frames of one direction of a WebSocket.
#[derive(Debug, Clone, Default)]
pub struct WebSocketFrames {
    /// Remaining bytes of the current payload.
    payload_left: u64,
    /// Bytes of a header that have arrived.
    header: [u8; HEADER_BYTES_MAX],
    header_length: u8,
    closed: bool,
}

impl WebSocketFrames {
    /// True between two frames: one has just ended, or none has begun.
    pub fn at_boundary(&self) -> bool {
        self.payload_left == 0 && self.header_length == 0
    }

    /// True after a Close frame: no frame may follow it.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Tracks all of `bytes`.
    pub fn track(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = self.step(rest);
        }
    }

    /// Tracks `bytes` up to the first boundary, which may be at their very start; returns their number. `None` if all
    /// of them were tracked without a boundary.
    pub fn track_to_boundary(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut rest = bytes;
        while !self.at_boundary() {
            if rest.is_empty() {
                return None;
            }
            rest = self.step(rest);
        }
        Some(bytes.len() - rest.len())
    }

    /// Tracks one header or payload as far as it has arrived; returns the rest.
    fn step<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        if self.payload_left > 0 {
            let here = usize::try_from(self.payload_left).unwrap_or(usize::MAX).min(bytes.len());
            self.payload_left -= here as u64;
            return &bytes[here..];
        }
        let have = usize::from(self.header_length);
        let wanted = header_length(&self.header[..have]);
        let here = (wanted - have).min(bytes.len());
        self.header[have..have + here].copy_from_slice(&bytes[..here]);
        let have = have + here;
        // The first two bytes determine the length of the header.
        if have == wanted && header_length(&self.header[..have]) == have {
            self.payload_left = payload_length(&self.header[..have]);
            self.closed |= self.header[0] & 0x0f == OPCODE_CLOSE;
            self.header_length = 0;
        } else {
            // At most 14.
            self.header_length = have as u8;
        }
        &bytes[here..]
    }
}

/// Returns the length of a header from its first bytes.
fn header_length(begun: &[u8]) -> usize {
    let [_, second, ..] = begun else { return 2 };
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    let length = match second & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    2 + length + mask
}

fn payload_length(header: &[u8]) -> u64 {
    let big_endian = |bytes: &[u8]| bytes.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    match header[1] & 0x7f {
        126 => big_endian(&header[2..4]),
        127 => big_endian(&header[2..10]),
        length => u64::from(length),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn frame(opcode: u8, masked: bool, payload: usize) -> Vec<u8> {
        let mask = if masked { 0x80 } else { 0 };
        let mut bytes = vec![0x80 | opcode];
        match payload {
            0..=125 => bytes.push(mask | payload as u8),
            126..=0xffff => {
                bytes.push(mask | 126);
                bytes.extend((payload as u16).to_be_bytes());
            }
            _ => {
                bytes.push(mask | 127);
                bytes.extend((payload as u64).to_be_bytes());
            }
        }
        if masked {
            bytes.extend([1, 2, 3, 4]);
        }
        // Bytes that look like headers.
        bytes.extend(std::iter::repeat_n(0x88, payload));
        bytes
    }

    proptest! {
        #[test]
        fn borders_are_where_frames_end_however_the_bytes_arrive(
            frames in vec((0u8..8, any::<bool>(), prop_oneof![0usize..4, 120usize..130, 65_530usize..65_540]), 1..8),
            pieces in vec(1usize..70_000, 1..40),
        ) {
            let frames: Vec<_> = frames.into_iter().map(|(op, masked, size)| frame(op, masked, size)).collect();
            let bytes = frames.concat();
            let borders: Vec<usize> = frames.iter().scan(0, |at, frame| { *at += frame.len(); Some(*at) }).collect();
            let (mut following, mut at, mut pieces) = (WebSocketFrames::default(), 0, pieces.into_iter().cycle());
            while at < bytes.len() {
                let end = bytes.len().min(at + pieces.next().unwrap());
                let piece = &bytes[at..end];
                let next = borders.iter().copied().chain([0]).filter(|border| (at..=end).contains(border)).min();
                let found = following.clone().track_to_boundary(piece);
                prop_assert_eq!(found.map(|offset| at + offset), next);
                following.track(piece);
                prop_assert_eq!(following.at_boundary(), borders.contains(&end));
                at = end;
            }
            prop_assert!(!following.is_closed());
            following.track(&CLOSE_FRAME);
            prop_assert!(following.is_closed() && following.at_boundary());
        }
    }

    #[test]
    fn a_length_without_end_is_only_a_length() {
        let mut frames = WebSocketFrames::default();
        frames.track(&[0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255]);
        frames.track(&[0; 1000]);
        assert!(!frames.at_boundary() && frames.track_to_boundary(&[0; 10]).is_none());
    }
}
