//! What the access log is told of an exchange, taken from the head as it was sent on and from what was counted.

use std::net::IpAddr;
use std::rc::Rc;

use fairlead_base::clock;
use fairlead_route::{Client, RequestLine, Version};

use super::{Exchange, Reply};
use crate::access_log::Record;
use crate::core::Core;
use crate::upstream::Instance;

/// What web servers since nginx write of a client that left before its answer.
const CLIENT_LEFT: u16 = 499;

/// What an exchange keeps for its line.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) client: IpAddr,
    pub(super) version: Version,
    pub(super) secure: bool,
    /// Where it was last.
    pub(super) instance: Option<Rc<Instance>>,
}

impl Exchange {
    /// Writes the exchange's line if it is to have one. The head must still be there.
    pub(super) fn log(&self) {
        let status = self.tally.logged_status().unwrap_or(CLIENT_LEFT);
        if !self.core.access_log.wants(status, self.core.ids.random()) {
            return;
        }
        let line_end = memchr::memmem::find(&self.head, b" HTTP/1.1\r\n").unwrap_or(self.head.len());
        let target = self.head.get(self.method.end + 1..line_end).unwrap_or_default();
        // As the client asked, with what the route took away.
        let prefix = field(&self.head, b"\r\nx-forwarded-prefix: ");
        let whole;
        let target = if prefix.is_empty() {
            target
        } else {
            whole = [prefix, target].concat();
            &whole
        };
        self.core.access_log.write(&Record {
            unix_ms: clock::unix_ms(),
            duration_us: self.tally.elapsed_us(),
            bytes_received: self.tally.bytes_received,
            bytes_sent: self.tally.bytes_sent,
            status,
            client: self.journal.client,
            version: version(self.journal.version),
            secure: self.journal.secure,
            method: &self.head[self.method.clone()],
            host: field(&self.head, b"\r\nhost: "),
            target,
            user_agent: field(&self.head, b"\r\nuser-agent: "),
            referer: field(&self.head, b"\r\nreferer: "),
            request_id: self.id().as_bytes(),
            app: self.app.key.as_bytes(),
            instance: self.journal.instance.as_ref().map_or(b"", |instance| instance.id.as_bytes()),
        });
    }
}

/// Writes the line of a request that the proxy answered by itself.
pub(super) fn log_answer(core: &Core, client: &Client, line: &RequestLine<'_>, host: &[u8], reply: &Reply) {
    if !core.access_log.wants(reply.status, core.ids.random()) {
        return;
    }
    core.access_log.write(&Record {
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

fn version(version: Version) -> &'static [u8] {
    match version {
        Version::Http10 => b"HTTP/1.0",
        Version::Http11 => b"HTTP/1.1",
        Version::Http2 => b"HTTP/2.0",
        Version::Http3 => b"HTTP/3.0",
    }
}

/// The value of the first field with this name in any case; `name` is in lower case, with its line end before and its colon.
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
