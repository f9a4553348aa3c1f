//! Forward auth: asks an app on the same server whether a request may pass. Invariant: fails closed, so a request passes
//! only after a 2xx response.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use bytes::Bytes;
use fairlead_model::{ForwardAuth, TrafficError, UpstreamProtocol};
use fairlead_reactor::timeout;
use fairlead_route::content_length;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::shared::SharedPolicyState;
use super::{CheckResult, Decision, Filter, FilterId, PreparedPage, RequestContext, RouteSettings};
use crate::exchange::Reply;
use crate::h1::{fields, header_slots, parse_response};
use crate::limits::{INTERIMS_MAX, Limits};
use crate::upstream::{Connector, UpstreamSocket};

const ID: FilterId = FilterId::of("forward_auth");
/// Maximum number of instances that one request tries to connect to.
const ATTEMPTS_MAX: usize = 2;
/// Maximum number of auth requests in flight on one core; each has a connection of its own.
const IN_FLIGHT_MAX: u32 = 256;
/// Maximum number of them for one route, so that a slow auth app leaves others their part.
const IN_FLIGHT_PER_ROUTE_MAX: u32 = 64;
/// Maximum length of a body that is relayed to the client; a longer one is left out.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// Maximum length of the header lines that are copied to the request.
const LINES_BYTES_MAX: usize = 8 * 1024;
/// Maximum number of entries in each half of the cache of a core, and the length of the longest one.
const CACHED_MAX: usize = 1024;
const CACHED_LINES_BYTES_MAX: usize = 2048;
/// Response fields that a rejected client gets, beside the body and its media type.
const RELAYED: [&str; 3] = ["location", "set-cookie", "www-authenticate"];

/// Media type of a body without one.
const PLAIN: &str = "text/plain; charset=utf-8";

thread_local! {
    static IN_FLIGHT: Cell<u32> = const { Cell::new(0) };
    static CACHE: RefCell<AllowedCache> = RefCell::default();
}

/// Forward auth of one route.
#[derive(Debug)]
pub(super) struct ForwardAuthFilter(Arc<AuthEndpoint>);

#[derive(Debug)]
struct AuthEndpoint {
    settings: ForwardAuth,
    /// Instances of the auth app; empty if it has none, so that all requests are rejected.
    connectors: Vec<Arc<Connector>>,
    next: AtomicUsize,
    /// Auth requests of the route in flight, on all cores.
    in_flight: Arc<AtomicU32>,
    /// Route and settings, which are a part of each cache key.
    scope: Box<str>,
    shared: Arc<SharedPolicyState>,
}

/// HMAC of a question, which is the key of the cache.
type CacheKey = [u8; 32];

impl Filter for ForwardAuthFilter {
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        let Some(settings) = &route.policy.forward_auth else { return Ok(None) };
        if route.redirect.is_some() {
            return Err(TrafficError::new("forward_auth", "can't be asked for by a redirect"));
        }
        Ok(Some(Self(Arc::new(AuthEndpoint {
            connectors: (route.connectors)(&settings.app),
            next: AtomicUsize::new(0),
            in_flight: Arc::default(),
            scope: format!("{} {settings:?}", route.key).into(),
            shared: Arc::clone(route.shared),
            settings: settings.clone(),
        }))))
    }

    fn check(&self, request: &RequestContext<'_>) -> Decision {
        let endpoint = Arc::clone(&self.0);
        let question = endpoint.question(request);
        let key = endpoint.cache_key(request, &question);
        if let Some(lines) = key.and_then(|key| CACHE.with_borrow(|cache| cache.find(&key, request.now))) {
            return Decision::Await(Box::pin(std::future::ready(CheckResult::Pass(lines.to_vec()))));
        }
        Decision::Await(Box::pin(async move { endpoint.ask(&question, key).await }))
    }

    fn dropped_headers(&self) -> Vec<&str> {
        self.0.settings.response_headers.iter().map(String::as_str).collect()
    }
}

impl AuthEndpoint {
    /// Returns the request to the auth app. HTTP/1.0, so that the length or the end of the connection frames its response.
    fn question(&self, request: &RequestContext<'_>) -> Vec<u8> {
        let mut head = Vec::with_capacity(512);
        let mut push = |parts: &[&[u8]]| parts.iter().for_each(|part| head.extend_from_slice(part));
        push(&[b"GET ", self.settings.path.as_bytes(), b" HTTP/1.0\r\nhost: ", request.host, b"\r\n"]);
        push(&[b"x-forwarded-method: ", request.line.method, b"\r\n"]);
        push(&[b"x-forwarded-proto: ", if request.is_secure { b"https" } else { b"http" }, b"\r\n"]);
        push(&[b"x-forwarded-host: ", request.host, b"\r\n"]);
        push(&[b"x-forwarded-uri: ", request.line.target.path_and_query, b"\r\n"]);
        push(&[b"x-forwarded-for: ", request.address.to_string().as_bytes(), b"\r\n"]);
        // A request has one Cookie field; HTTP/2 may split it (RFC 9113, 8.2.3).
        let mut cookies: Vec<&[u8]> = Vec::new();
        request.headers.each(&mut |name, value| match credential(name) {
            Some(b"cookie") => cookies.push(value),
            Some(name) => push(&[name, b": ", value, b"\r\n"]),
            None => {}
        });
        if !cookies.is_empty() {
            push(&[b"cookie: ", &cookies.join(&b"; "[..]), b"\r\n"]);
        }
        push(&[b"connection: close\r\n\r\n"]);
        head
    }

    /// Returns the cache key: the whole question, or the credentials alone if the settings say that only they decide.
    /// A request without credentials is then not cached, because one public path would open all others.
    fn cache_key(&self, request: &RequestContext<'_>, question: &[u8]) -> Option<CacheKey> {
        if self.settings.cache_seconds == 0 {
            return None;
        }
        let mut context = hmac::Context::with_key(&self.shared.credential_key);
        let mut update = |part: &[u8]| {
            context.update(&part.len().to_le_bytes());
            context.update(part);
        };
        update(self.scope.as_bytes());
        if self.settings.cache_by_credentials {
            let mut any = false;
            update(request.host);
            request.headers.each(&mut |name, value| {
                if let Some(name) = credential(name) {
                    any = true;
                    update(name);
                    update(value);
                }
            });
            if !any {
                return None;
            }
        } else {
            update(question);
        }
        let mut key = CacheKey::default();
        key.copy_from_slice(context.sign().as_ref());
        Some(key)
    }

    /// Asks the auth app. All failures reject the request.
    async fn ask(&self, question: &[u8], key: Option<CacheKey>) -> CheckResult {
        let limit = Duration::from_millis(u64::from(self.settings.timeout_ms));
        let Some(_counted) = InFlight::enter(&self.in_flight) else { return unavailable("too many are asked for now") };
        match timeout(limit, self.exchange(question, limit)).await {
            Ok(Ok(AuthResponse::Allowed(lines))) => {
                // A public path names no user: what it answers to any cookie must not open the other paths.
                let names_user = !self.settings.cache_by_credentials || !lines.is_empty();
                if let Some(key) = key.filter(|_| names_user && lines.len() <= CACHED_LINES_BYTES_MAX) {
                    let expires = Instant::now() + Duration::from_secs(u64::from(self.settings.cache_seconds));
                    CACHE.with_borrow_mut(|cache| cache.remember(key, expires, &lines));
                }
                CheckResult::Pass(lines)
            }
            Ok(Ok(AuthResponse::Rejected(reply))) => CheckResult::Reject(ID, reply),
            Ok(Err(error)) => unavailable(&error.to_string()),
            Err(_) => unavailable("it did not answer in time"),
        }
    }

    async fn exchange(&self, question: &[u8], limit: Duration) -> io::Result<AuthResponse> {
        let mut socket = self.connect(limit).await?;
        socket.write_all(question).await?;
        socket.flush().await?;
        let (mut input, mut interims) = (Vec::new(), 0);
        let (reply, length, framing, content_type) = loop {
            let mut slots = header_slots();
            if let Some(head) = parse_response(&input, &mut slots, &Limits::default()).map_err(io::Error::other)? {
                match head.status {
                    100..200 if interims < INTERIMS_MAX => {
                        interims += 1;
                        input.drain(..head.length);
                        continue;
                    }
                    200..300 => return self.copied_lines(fields(head.headers)).map(AuthResponse::Allowed),
                    // A 304 answers a question that none of ours is, and no client expects its body.
                    300..=303 | 305..500 => {
                        let fields = fields(head.headers);
                        let content_type = find(fields.clone(), b"content-type").unwrap_or(PLAIN).into();
                        break (relayed(head.status, fields.clone()), head.length, framing(fields), content_type);
                    }
                    status => return Err(io::Error::other(format!("status {status}"))),
                }
            }
            read(&mut socket, &mut input).await?;
        };
        input.drain(..length);
        let body = read_body(&mut socket, input, framing).await?;
        Ok(AuthResponse::Rejected(match body.filter(|body| !body.is_empty()) {
            None => reply,
            Some(body) => reply.with_page(&PreparedPage { content_type, body, retry_after: None }),
        }))
    }

    /// Connects to one instance, and to another one if that fails.
    async fn connect(&self, limit: Duration) -> io::Result<UpstreamSocket> {
        let mut failure = io::Error::other("the app has no instance here");
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        for offset in 0..self.connectors.len().min(ATTEMPTS_MAX) {
            let connector = &self.connectors[first.wrapping_add(offset) % self.connectors.len()];
            if connector.protocol() != UpstreamProtocol::Http1 {
                return Err(io::Error::other("the app does not speak HTTP/1"));
            }
            match connector.connect(limit).await {
                Ok(socket) => return Ok(socket),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Returns the lines that the request to the app gets.
    fn copied_lines<'a>(&self, fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> io::Result<Vec<u8>> {
        let mut lines = Vec::new();
        for (name, value) in fields {
            let copies = |copied: &&String| name.eq_ignore_ascii_case(copied.as_bytes());
            if let Some(name) = self.settings.response_headers.iter().find(copies) {
                for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                    lines.extend_from_slice(part);
                }
            }
        }
        if lines.len() > LINES_BYTES_MAX {
            return Err(io::Error::other("its headers for the request are too long"));
        }
        Ok(lines)
    }
}

enum AuthResponse {
    /// Lets the request pass, with these lines for the app.
    Allowed(Vec<u8>),
    Rejected(Reply),
}

/// Framing of a body that is relayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AuthBody {
    /// Length in bytes.
    Length(usize),
    /// The end of the connection ends it.
    UntilClose,
    /// Longer than the maximum, or framed as HTTP/1.0 has no name for.
    LeftOut,
}

/// Returns the name of a field that identifies a client.
fn credential(name: &[u8]) -> Option<&'static [u8]> {
    [&b"cookie"[..], b"authorization"].into_iter().find(|field| name.eq_ignore_ascii_case(field))
}

fn unavailable(reason: &str) -> CheckResult {
    tracing::debug!(reason, "an auth app gave no decision");
    let reply = Reply::new(503, "Service Unavailable", "it can't be checked now whether this request is allowed.");
    CheckResult::Reject(ID, reply.with("retry-after", "1"))
}

/// Returns the reply for the client, without its body.
fn relayed<'a>(status: u16, fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Reply {
    let reason = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let mut reply = Reply::new(status, reason.unwrap_or("Rejected"), "this request is not allowed.");
    for (name, value) in fields {
        let relayed = RELAYED.into_iter().find(|relayed| name.eq_ignore_ascii_case(relayed.as_bytes()));
        if let (Some(name), Ok(value)) = (relayed, std::str::from_utf8(value)) {
            reply = reply.with(name, value.to_owned());
        }
    }
    reply
}

/// Returns the first field of this name, if it is text.
fn find<'a>(mut fields: impl Iterator<Item = (&'a [u8], &'a [u8])>, name: &[u8]) -> Option<&'a str> {
    let (_, value) = fields.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(value).ok()
}

fn framing<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone) -> AuthBody {
    let has = |name: &'static [u8]| fields.clone().any(|(other, _)| other.eq_ignore_ascii_case(name));
    if has(b"transfer-encoding") || has(b"content-encoding") {
        return AuthBody::LeftOut;
    }
    match (
        has(b"content-length"),
        find(fields.clone(), b"content-length").and_then(|value| content_length(value.as_bytes())),
    ) {
        (false, _) => AuthBody::UntilClose,
        (true, Some(length)) if length <= BODY_BYTES_MAX as u64 => AuthBody::Length(length as usize),
        (true, _) => AuthBody::LeftOut,
    }
}

/// Reads a body to its end; `None` if it is left out.
async fn read_body(socket: &mut UpstreamSocket, mut body: Vec<u8>, framing: AuthBody) -> io::Result<Option<Bytes>> {
    match framing {
        AuthBody::LeftOut => return Ok(None),
        AuthBody::Length(length) => {
            while body.len() < length {
                read(socket, &mut body).await?;
            }
            body.truncate(length);
        }
        AuthBody::UntilClose => {
            while body.len() <= BODY_BYTES_MAX {
                match read(socket, &mut body).await {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Some(body.into())),
                    Err(error) => return Err(error),
                }
            }
            return Ok(None);
        }
    }
    Ok(Some(body.into()))
}

async fn read(socket: &mut UpstreamSocket, input: &mut Vec<u8>) -> io::Result<()> {
    let mut bytes = [0; 4096];
    match socket.read(&mut bytes).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            input.extend_from_slice(&bytes[..count]);
            Ok(())
        }
    }
}

/// Counts an auth request in flight, on this core and for its route, until dropped.
struct InFlight {
    of_route: Arc<AtomicU32>,
}

impl InFlight {
    fn enter(of_route: &Arc<AtomicU32>) -> Option<Self> {
        if IN_FLIGHT.get() >= IN_FLIGHT_MAX {
            return None;
        }
        let taken = |count| (count < IN_FLIGHT_PER_ROUTE_MAX).then_some(count + 1);
        of_route.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()?;
        IN_FLIGHT.set(IN_FLIGHT.get() + 1);
        Some(Self { of_route: Arc::clone(of_route) })
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        IN_FLIGHT.set(IN_FLIGHT.get() - 1);
        self.of_route.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Cache of allowed requests on a core. When the newer half is full, it replaces the older one.
#[derive(Debug, Default)]
struct AllowedCache {
    halves: [HashMap<CacheKey, AllowedRequest>; 2],
}

/// End of an entry, and the header lines for the app.
type AllowedRequest = (Instant, Rc<[u8]>);

impl AllowedCache {
    fn find(&self, key: &CacheKey, now: Instant) -> Option<Rc<[u8]>> {
        let entry = self.halves.iter().find_map(|half| half.get(key));
        entry.filter(|(expires, _)| now < *expires).map(|(_, lines)| Rc::clone(lines))
    }

    fn remember(&mut self, key: CacheKey, expires: Instant, lines: &[u8]) {
        if self.halves[0].len() >= CACHED_MAX {
            self.halves.swap(0, 1);
            self.halves[0].clear();
        }
        self.halves[0].insert(key, (expires, lines.into()));
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use fairlead_model::{RoutePolicy, UpstreamAddress};
    use fairlead_reactor::{Listener, block_on, spawn};
    use fairlead_route::{HttpVersion, RequestBody, RequestLine, RequestTarget};

    use super::*;
    use crate::filters::{PasswordCache, RequestHeaders};

    const COOKIE: (&[u8], &[u8]) = (b"Cookie", b"session=1");

    /// Auth app on a port of its own, and the filter that asks it.
    struct Stand {
        listener: Listener,
        filter: ForwardAuthFilter,
    }

    fn stand(settings: ForwardAuth) -> Stand {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = UpstreamAddress::from(listener.local_addr().unwrap());
        let connector = Arc::new(Connector::new(&address, UpstreamProtocol::Http1, None).unwrap());
        let policy = RoutePolicy { forward_auth: Some(settings), ..RoutePolicy::default() };
        let route = RouteSettings {
            key: "a.test/",
            prefix_bytes: 0,
            policy: &policy,
            redirect: None,
            has_certificate: true,
            tls: None,
            shared: &SharedPolicyState::new().unwrap(),
            connectors: &|_| vec![Arc::clone(&connector)],
        };
        Stand {
            listener: Listener::new(listener).unwrap(),
            filter: ForwardAuthFilter::compile(&route).unwrap().unwrap(),
        }
    }

    fn settings() -> ForwardAuth {
        ForwardAuth {
            app: "auth".into(),
            path: "/verify".into(),
            response_headers: vec!["x-user".into()],
            timeout_ms: 60_000,
            cache_seconds: 0,
            cache_by_credentials: false,
        }
    }

    async fn check(filter: &ForwardAuthFilter, path: &[u8], headers: &dyn for<'a> RequestHeaders<'a>) -> CheckResult {
        let target = RequestTarget { path_and_query: path, authority: None };
        let line =
            RequestLine { method: b"POST", target, version: HttpVersion::Http11, authority: None, unsized_body: false };
        let request = RequestContext {
            address: "192.0.2.1".parse().unwrap(),
            https_port: None,
            is_secure: true,
            tls: None,
            host: b"a.test",
            line: &line,
            headers,
            body: RequestBody::None,
            now: Instant::now(),
            password_cache: &Rc::<PasswordCache>::default(),
        };
        match filter.check(&request) {
            Decision::Await(check) => check.await,
            Decision::Pass | Decision::Count(_) | Decision::Reject(_) => panic!("the auth app was not asked"),
        }
    }

    /// Checks a request, whose question gets these bytes as the response. Returns the question too.
    async fn answered(stand: Stand, response: &'static [u8]) -> (CheckResult, String, Stand) {
        let Stand { listener, filter } = stand;
        let (asked, question) = tokio::sync::oneshot::channel();
        spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4096];
            let count = stream.read(&mut head).await.unwrap();
            stream.write_all(response).await.unwrap();
            drop(stream);
            assert!(asked.send((String::from_utf8(head[..count].to_vec()).unwrap(), listener)).is_ok());
        });
        let result = check(&filter, b"/a?b", &|| [COOKIE, (b"X-Other", b"1")].into_iter()).await;
        let (question, listener) = question.await.unwrap();
        (result, question, Stand { listener, filter })
    }

    fn status(result: &CheckResult) -> Option<u16> {
        match result {
            CheckResult::Pass(_) => None,
            CheckResult::Reject(_, reply) => Some(reply.status),
        }
    }

    #[test]
    fn an_allowed_request_gets_the_chosen_headers_only() {
        block_on(async {
            let response = b"HTTP/1.1 200 OK\r\nX-User: ann\r\nX-Secret: 1\r\nContent-Length: 2\r\n\r\nok";
            let (result, question, stand) = answered(stand(settings()), response).await;
            assert!(matches!(&result, CheckResult::Pass(lines) if lines == b"x-user: ann\r\n"), "{result:?}");
            assert_eq!(
                question,
                "GET /verify HTTP/1.0\r\nhost: a.test\r\nx-forwarded-method: POST\r\nx-forwarded-proto: https\r\n\
                 x-forwarded-host: a.test\r\nx-forwarded-uri: /a?b\r\nx-forwarded-for: 192.0.2.1\r\n\
                 cookie: session=1\r\nconnection: close\r\n\r\n"
            );
            assert_eq!(stand.filter.dropped_headers(), ["x-user"]);
        })
        .unwrap();
    }

    #[test]
    fn a_rejection_goes_back_to_the_client_with_few_of_its_fields() {
        block_on(async {
            let response = b"HTTP/1.1 302 Found\r\nLocation: /login\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\
                             X-Secret: 1\r\nContent-Length: 4\r\n\r\ngo on";
            let (result, ..) = answered(stand(settings()), response).await;
            let CheckResult::Reject(_, reply) = result else { panic!("{result:?}") };
            let fields: Vec<_> = reply.headers().filter(|(name, _)| *name != "cache-control").collect();
            assert!(fields.contains(&("location", "/login")) && fields.contains(&("set-cookie", "b=2")), "{fields:?}");
            assert!(fields.contains(&("set-cookie", "a=1")) && !fields.iter().any(|(name, _)| *name == "x-secret"));
            assert_eq!((reply.status, &reply.body[..]), (302, &b"go o"[..]));
            let until_close = b"HTTP/1.1 401 x\r\nWWW-Authenticate: Bearer\r\n\r\nsign in";
            let (result, ..) = answered(stand(settings()), until_close).await;
            let CheckResult::Reject(_, reply) = result else { panic!("{result:?}") };
            assert_eq!((reply.status, &reply.body[..]), (401, &b"sign in"[..]));
        })
        .unwrap();
    }

    #[test]
    fn a_failure_never_lets_a_request_pass() {
        block_on(async {
            for response in [
                &b"HTTP/1.1 500 x\r\n\r\n"[..],
                b"HTTP/1.1 200 O",
                b"garbage\r\n\r\n",
                b"",
                b"HTTP/1.1 401 x\r\nContent-Length: 9\r\n\r\ncut",
            ] {
                let (result, ..) = answered(stand(settings()), response).await;
                assert_eq!(status(&result), Some(503), "{response:?}");
            }
            let silent = stand(ForwardAuth { timeout_ms: 20, ..settings() });
            assert_eq!(status(&check(&silent.filter, b"/", &|| [COOKIE].into_iter()).await), Some(503));
            let Stand { listener, filter } = stand(settings());
            drop(listener);
            assert_eq!(status(&check(&filter, b"/", &|| [COOKIE].into_iter()).await), Some(503));
        })
        .unwrap();
    }

    #[test]
    fn an_allowed_question_is_cached_and_no_other_one() {
        block_on(async {
            let cached = ForwardAuth { cache_seconds: 60, ..settings() };
            let (_, _, stand_all) = answered(stand(cached.clone()), b"HTTP/1.1 204 x\r\nX-User: ann\r\n\r\n").await;
            let by_credentials = ForwardAuth { cache_by_credentials: true, ..cached };
            let (_, _, stand_few) =
                answered(stand(by_credentials.clone()), b"HTTP/1.1 204 x\r\nX-User: ann\r\n\r\n").await;
            let (_, _, public) = answered(stand(by_credentials), b"HTTP/1.1 204 x\r\n\r\n").await;
            let (all, few) = (&stand_all.filter, &stand_few.filter);
            drop((stand_all.listener, stand_few.listener, public.listener));
            let known = || [COOKIE].into_iter();
            let result = check(all, b"/a?b", &known).await;
            assert!(matches!(&result, CheckResult::Pass(lines) if lines == b"x-user: ann\r\n"), "{result:?}");
            assert_eq!(status(&check(all, b"/other", &known).await), Some(503));
            assert_eq!(status(&check(few, b"/other", &known).await), None);
            assert_eq!(status(&check(&public.filter, b"/other", &known).await), Some(503), "it names no user");
            let other = || [(&b"Cookie"[..], &b"session=2"[..])].into_iter();
            let anonymous = || std::iter::empty();
            for filter in [all, few] {
                assert_eq!(status(&check(filter, b"/a?b", &other).await), Some(503));
                assert_eq!(status(&check(filter, b"/a?b", &anonymous).await), Some(503));
            }
        })
        .unwrap();
    }

    #[test]
    fn cache_entries_expire_and_their_number_is_bounded() {
        let (mut cache, now) = (AllowedCache::default(), Instant::now());
        cache.remember([0; 32], now + Duration::from_secs(1), b"x: y\r\n");
        assert!(cache.find(&[0; 32], now).is_some() && cache.find(&[0; 32], now + Duration::from_secs(1)).is_none());
        for n in 0..10 * CACHED_MAX {
            let mut key = CacheKey::default();
            key[..8].copy_from_slice(&n.to_le_bytes());
            cache.remember(key, now + Duration::from_secs(1), b"");
        }
        assert!(cache.halves.iter().all(|half| half.len() <= CACHED_MAX));
    }
}
