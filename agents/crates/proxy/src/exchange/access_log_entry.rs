//! Access log entry of an exchange, built from the forwarded head and the exchange metrics.

use std::net::IpAddr;
use std::rc::Rc;

use fairlead_base::clock;
use fairlead_route::{Client, HttpVersion, RequestLine};

use super::{Exchange, Reply};
use crate::access_log::AccessLogRecord;
use crate::core::Core;
use crate::upstream::Instance;

/// Status that nginx logs for a client that closed the connection before the response.
const CLIENT_LEFT: u16 = 499;

/// Fields of an access log entry that the head does not contain.
#[derive(Debug)]
pub(super) struct AccessLogEntry {
    pub(super) client: IpAddr,
    pub(super) version: HttpVersion,
    pub(super) secure: bool,
    /// Instance of the last attempt.
    pub(super) instance: Option<Rc<Instance>>,
}

impl Exchange {
    /// Writes the access log entry if sampling selects it. The head must not be cleared yet.
    pub(super) fn log(&self) {
        let status = self.metrics.logged_status().unwrap_or(CLIENT_LEFT);
        if !self.core.access_log.wants(status, self.core.ids.random()) {
            return;
        }
        let line_end = memchr::memmem::find(&self.head, b" HTTP/1.1\r\n").unwrap_or(self.head.len());
        let target = self.head.get(self.method.end + 1..line_end).unwrap_or_default();
        // Restores the path prefix that the route removed.
        let prefix = field(&self.head, b"\r\nx-forwarded-prefix: ");
        let whole;
        let target = if prefix.is_empty() {
            target
        } else {
            whole = [prefix, target].concat();
            &whole
        };
        self.core.access_log.write(&AccessLogRecord {
            unix_ms: clock::unix_ms(),
            duration_us: self.metrics.elapsed_us(),
            bytes_received: self.metrics.bytes_received,
            bytes_sent: self.metrics.bytes_sent,
            status,
            client: self.log_entry.client,
            version: version(self.log_entry.version),
            secure: self.log_entry.secure,
            method: &self.head[self.method.clone()],
            host: field(&self.head, b"\r\nhost: "),
            target,
            user_agent: field(&self.head, b"\r\nuser-agent: "),
            referer: field(&self.head, b"\r\nreferer: "),
            request_id: self.id().as_bytes(),
            app: self.app.key.as_bytes(),
            instance: self.log_entry.instance.as_ref().map_or(b"", |instance| instance.id.as_bytes()),
        });
    }
}

/// Writes the access log entry of a request that the proxy answered by itself.
pub(super) fn log_reply(core: &Core, client: &Client, line: &RequestLine<'_>, host: &[u8], reply: &Reply) {
    if !core.access_log.wants(reply.status, core.ids.random()) {
        return;
    }
    core.access_log.write(&AccessLogRecord {
        unix_ms: clock::unix_ms(),
        duration_us: 0,
        bytes_received: 0,
        bytes_sent: reply.body.len() as u64,
        status: reply.status,
        client: client.ip(),
        version: version(line.version),
        secure: client.is_secure(),
        method: line.method,
        host,
        target: line.target.path_and_query,
        user_agent: b"",
        referer: b"",
        request_id: b"",
        app: b"",
        instance: b"",
    });
}

fn version(version: HttpVersion) -> &'static [u8] {
    match version {
        HttpVersion::Http10 => b"HTTP/1.0",
        HttpVersion::Http11 => b"HTTP/1.1",
        HttpVersion::Http2 => b"HTTP/2.0",
        HttpVersion::Http3 => b"HTTP/3.0",
    }
}

/// Returns the value of the first field with this name, in any case. `name` is lower case, with the preceding CRLF and
/// the colon.
fn field<'a>(head: &'a [u8], name: &[u8]) -> &'a [u8] {
    let found = memchr::memchr_iter(b'\r', head)
        .find(|at| head.get(*at..at + name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)));
    let Some(start) = found.map(|at| at + name.len()) else { return &[] };
    let end = memchr::memchr(b'\r', &head[start..]).map_or(head.len(), |length| start + length);
    &head[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_any_case_and_only_as_whole_names() {
        let head = b"GET / HTTP/1.1\r\nhost: a.test\r\nX-User-Agent: no\r\nUser-Agent: yes\r\n\r\n";
        assert_eq!(field(head, b"\r\nhost: "), b"a.test");
        assert_eq!(field(head, b"\r\nuser-agent: "), b"yes");
        assert_eq!(field(head, b"\r\nreferer: "), b"");
    }
}
