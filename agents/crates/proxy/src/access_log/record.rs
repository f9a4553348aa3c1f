//! Binary encoding of an access log record between a core and the writer: fixed numbers, then strings with their
//! lengths.

use std::net::{IpAddr, Ipv6Addr};

/// Maximum length of a string; longer ones are cut, because clients can send very long ones.
const TEXT_BYTES_MAX: usize = 2048;

/// Access log entry of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AccessLogRecord<'a> {
    /// Time of the response.
    pub(crate) unix_ms: u64,
    /// Time from the request head to the end of the response.
    pub(crate) duration_us: u64,
    /// Body bytes; heads do not count.
    pub(crate) bytes_received: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) status: u16,
    pub(crate) client: IpAddr,
    /// Protocol version that the client used, such as "HTTP/1.1".
    pub(crate) version: &'a [u8],
    pub(crate) secure: bool,
    pub(crate) method: &'a [u8],
    pub(crate) host: &'a [u8],
    pub(crate) target: &'a [u8],
    pub(crate) user_agent: &'a [u8],
    pub(crate) referer: &'a [u8],
    pub(crate) request_id: &'a [u8],
    /// Empty if the proxy answered the request itself.
    pub(crate) app: &'a [u8],
    pub(crate) instance: &'a [u8],
}

impl<'a> AccessLogRecord<'a> {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.unix_ms, self.duration_us, self.bytes_received, self.bytes_sent] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.status.to_le_bytes());
        let client = match self.client {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        out.extend_from_slice(&client.octets());
        out.push(u8::from(self.secure));
        for text in self.texts() {
            let text = &text[..text.len().min(TEXT_BYTES_MAX)];
            out.extend_from_slice(&(text.len() as u16).to_le_bytes());
            out.extend_from_slice(text);
        }
    }

    fn texts(&self) -> [&'a [u8]; 9] {
        let Self { version, method, host, target, user_agent, referer, request_id, app, instance, .. } = *self;
        [version, method, host, target, user_agent, referer, request_id, app, instance]
    }

    /// Reads the first record of `batch` and advances `batch` past it; `None` at its end.
    pub(super) fn decode(batch: &mut &'a [u8]) -> Option<Self> {
        let [unix_ms, duration_us, bytes_received, bytes_sent] =
            [number(batch)?, number(batch)?, number(batch)?, number(batch)?];
        let status = u16::from_le_bytes(take(batch)?);
        let client = Ipv6Addr::from(take::<16>(batch)?).to_canonical();
        let secure = take::<1>(batch)? == [1];
        let mut text = || {
            let length = usize::from(u16::from_le_bytes(take(batch)?));
            let (text, rest) = batch.split_at_checked(length)?;
            *batch = rest;
            Some(text)
        };
        let [version, method, host, target] = [text()?, text()?, text()?, text()?];
        let [user_agent, referer, request_id, app, instance] = [text()?, text()?, text()?, text()?, text()?];
        Some(Self {
            unix_ms,
            duration_us,
            bytes_received,
            bytes_sent,
            status,
            client,
            version,
            secure,
            method,
            host,
            target,
            user_agent,
            referer,
            request_id,
            app,
            instance,
        })
    }
}

fn take<const LENGTH: usize>(batch: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (bytes, rest) = batch.split_first_chunk()?;
    *batch = rest;
    Some(*bytes)
}

fn number(batch: &mut &[u8]) -> Option<u64> {
    take(batch).map(u64::from_le_bytes)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn record() -> AccessLogRecord<'static> {
        AccessLogRecord {
            unix_ms: 1_795_176_000_123,
            duration_us: 1_500,
            bytes_received: 3,
            bytes_sent: 1_234,
            status: 200,
            client: "192.0.2.7".parse().unwrap(),
            version: b"HTTP/1.1",
            secure: true,
            method: b"GET",
            host: b"a.example.com",
            target: b"/a?b=\"c\"",
            user_agent: b"curl/8 \\ \xff\n",
            referer: b"",
            request_id: b"0123",
            app: b"app_1/env_1",
            instance: b"ins_1",
        }
    }

    #[test]
    fn records_come_out_as_they_went_in_but_for_overlong_texts() {
        let long = vec![b'x'; 2 * TEXT_BYTES_MAX];
        let second = AccessLogRecord { client: "2001:db8::1".parse().unwrap(), target: &long, ..record() };
        let mut bytes = Vec::new();
        record().encode(&mut bytes);
        second.encode(&mut bytes);
        let mut batch = bytes.as_slice();
        assert_eq!(AccessLogRecord::decode(&mut batch), Some(record()));
        assert_eq!(
            AccessLogRecord::decode(&mut batch),
            Some(AccessLogRecord { target: &long[..TEXT_BYTES_MAX], ..second })
        );
        assert_eq!(AccessLogRecord::decode(&mut batch), None);
    }
}
