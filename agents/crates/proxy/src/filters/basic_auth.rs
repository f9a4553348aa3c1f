//! HTTP Basic authentication. A password is verified once on a separate thread, because hashing is slow by design. A
//! cache keeps a keyed hash of each verified header, never the password.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::{digest, hmac};
use fairlead_model::TrafficError;
use fairlead_route::{Credentials, client_key};
use fairlead_tls::PasswordHash;
use tokio::sync::oneshot;

use super::shared::SharedPolicyState;
use super::{CheckResult, Decision, Filter, FilterId, RequestContext, RequestHeaders, RouteSettings, request_limits};
use crate::exchange::Reply;

const ID: FilterId = FilterId::of("unauthorized");

/// Maximum number of queued password checks.
const QUEUED_MAX: usize = 32;
/// Maximum number of queued checks of one client, so that a guessing client does not block others.
const QUEUED_PER_CLIENT_MAX: u32 = 4;
/// Maximum number of entries in each half of the password cache.
const CACHED_MAX: usize = 1024;

/// Users of one route.
#[derive(Debug)]
pub(super) struct PasswordFilter {
    users: HashMap<Box<[u8]>, PasswordHash>,
    /// Hash that unknown user names are checked against, so that timing does not reveal which names exist.
    decoy: PasswordHash,
    challenge: Arc<str>,
    /// Digest of all users and their hashes, so that a cache entry is valid for exactly this list.
    digest: digest::Digest,
    shared: Arc<SharedPolicyState>,
}

/// Result of an authentication.
enum AuthOutcome {
    /// The password cache contains these credentials.
    Cached,
    /// The password must be verified.
    Unverified(PasswordCheck),
    /// No usable credentials were sent.
    Unauthenticated,
}

/// Password that must be verified.
struct PasswordCheck {
    hash: PasswordHash,
    credentials: Credentials,
    credential_digest: CredentialDigest,
    client: u64,
    shared: Arc<SharedPolicyState>,
}

/// Result of a password check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PasswordResult {
    Right,
    Wrong,
    /// Too many checks are queued.
    Busy,
}

/// HMAC of an Authorization header, which is the key of the cache.
type CredentialDigest = [u8; 32];

impl Filter for PasswordFilter {
    fn compile(route: &RouteSettings<'_>) -> Result<Option<Self>, TrafficError> {
        let Some(auth) = &route.policy.basic_auth else { return Ok(None) };
        if route.redirect.is_some() {
            return Err(TrafficError::new("basic_auth", "can't be asked for by a redirect"));
        }
        let mut users = HashMap::with_capacity(auth.users.len());
        let mut all = digest::Context::new(&digest::SHA256);
        for user in &auth.users {
            let hash = PasswordHash::parse(&user.password_hash)
                .map_err(|error| TrafficError::new(format!("basic_auth.users.{}", user.name), error.to_string()))?;
            // Neither a name nor a hash ends with a colon, so different lists never produce the same bytes.
            for part in [user.name.as_str(), ":", &user.password_hash, "\n"] {
                all.update(part.as_bytes());
            }
            users.insert(user.name.as_bytes().into(), hash);
        }
        let Some(decoy) = users.values().next().map(PasswordHash::decoy) else {
            return Err(TrafficError::new("basic_auth.users", "is empty: nobody could come in"));
        };
        let realm = if auth.realm.is_empty() { "restricted" } else { &auth.realm };
        Ok(Some(Self {
            users,
            decoy,
            challenge: format!("Basic realm=\"{realm}\", charset=\"UTF-8\"").into(),
            digest: all.finish(),
            shared: Arc::clone(route.shared),
        }))
    }

    fn check(&self, request: &RequestContext<'_>) -> Decision {
        match self.authenticate(client_key(request.address), request.headers, request.password_cache) {
            AuthOutcome::Cached => Decision::Pass,
            AuthOutcome::Unauthenticated => Decision::Reject(Reply::unauthorized(&self.challenge)),
            AuthOutcome::Unverified(check) => {
                let (cache, challenge) = (Rc::clone(request.password_cache), Arc::clone(&self.challenge));
                Decision::Await(Box::pin(async move {
                    match check.run(&cache).await {
                        PasswordResult::Right => CheckResult::Pass(Vec::new()),
                        PasswordResult::Wrong => CheckResult::Reject(ID, Reply::unauthorized(&challenge)),
                        PasswordResult::Busy => CheckResult::Reject(request_limits::ID, Reply::too_many_requests(1)),
                    }
                }))
            }
        }
    }

    fn dropped_headers(&self) -> Vec<&str> {
        vec!["authorization"]
    }
}

impl PasswordFilter {
    /// Authenticates a request; a request with two Authorization fields has no valid credentials.
    fn authenticate(&self, client: u64, headers: &dyn RequestHeaders<'_>, cache: &PasswordCache) -> AuthOutcome {
        let (mut fields, mut sent) = (0, None);
        headers.each(&mut |name, value| {
            if name.eq_ignore_ascii_case(b"authorization") {
                fields += 1;
                sent = Some(value);
            }
        });
        let (1, Some(value)) = (fields, sent) else { return AuthOutcome::Unauthenticated };
        let credential_digest = self.credential_digest(value);
        if cache.has(&credential_digest) {
            return AuthOutcome::Cached;
        }
        let Some(credentials) = Credentials::parse(value) else { return AuthOutcome::Unauthenticated };
        let hash = self.users.get(credentials.user()).unwrap_or(&self.decoy).clone();
        let shared = Arc::clone(&self.shared);
        AuthOutcome::Unverified(PasswordCheck { hash, credentials, credential_digest, client, shared })
    }

    fn credential_digest(&self, value: &[u8]) -> CredentialDigest {
        let mut context = hmac::Context::with_key(&self.shared.credential_key);
        context.update(self.digest.as_ref());
        context.update(value);
        let mut credential_digest = CredentialDigest::default();
        credential_digest.copy_from_slice(context.sign().as_ref());
        credential_digest
    }
}

impl PasswordCheck {
    /// Verifies the password and caches a success.
    async fn run(self, cache: &PasswordCache) -> PasswordResult {
        let credential_digest = self.credential_digest;
        let verifier = Arc::clone(&self.shared);
        match verifier.verifier().ask(self) {
            None => PasswordResult::Busy,
            Some(reply) => match reply.await {
                Ok(true) => {
                    cache.remember(credential_digest);
                    PasswordResult::Right
                }
                Ok(false) => PasswordResult::Wrong,
                // The verifier thread is gone, which is a bug.
                Err(_) => PasswordResult::Busy,
            },
        }
    }
}

/// Cache of verified credentials on a core. When the newer half is full, it replaces the older one; a lookup moves an
/// entry to the newer half.
#[derive(Debug, Default)]
pub(crate) struct PasswordCache {
    halves: RefCell<[HashSet<CredentialDigest>; 2]>,
}

impl PasswordCache {
    fn has(&self, credential_digest: &CredentialDigest) -> bool {
        let halves = self.halves.borrow();
        if halves[0].contains(credential_digest) {
            return true;
        }
        let older = halves[1].contains(credential_digest);
        drop(halves);
        if older {
            self.remember(*credential_digest);
        }
        older
    }

    fn remember(&self, credential_digest: CredentialDigest) {
        let halves = &mut *self.halves.borrow_mut();
        if halves[0].len() >= CACHED_MAX {
            halves.swap(0, 1);
            halves[0].clear();
        }
        halves[0].insert(credential_digest);
    }
}

/// Handle of the thread that verifies passwords one by one, at low CPU priority.
#[derive(Debug)]
pub(super) struct Verifier {
    jobs: Option<SyncSender<Job>>,
    /// Number of queued checks of each client. Locked briefly, only by requests with a password that is not cached.
    waiting: Arc<Mutex<HashMap<u64, u32>>>,
}

struct Job {
    check: PasswordCheck,
    reply: oneshot::Sender<bool>,
}

impl Verifier {
    pub(super) fn start() -> Self {
        let (jobs, received) = sync_channel(QUEUED_MAX);
        let waiting: Arc<Mutex<HashMap<u64, u32>>> = Arc::default();
        let shared = Arc::clone(&waiting);
        let started =
            std::thread::Builder::new().name("passwords".into()).spawn(move || verify_all(&received, &shared));
        let jobs = match started {
            Ok(_) => Some(jobs),
            Err(error) => {
                tracing::error!(%error, "no thread to check passwords");
                None
            }
        };
        Self { jobs, waiting }
    }

    /// Queues a check; `None` if too many wait.
    fn ask(&self, check: PasswordCheck) -> Option<oneshot::Receiver<bool>> {
        let client = check.client;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let own = waiting.entry(client).or_default();
        if *own >= QUEUED_PER_CLIENT_MAX {
            return None;
        }
        let (reply, result) = oneshot::channel();
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(Job { check, reply }).is_ok());
        if sent {
            *own += 1;
        } else if *own == 0 {
            waiting.remove(&client);
        }
        sent.then_some(result)
    }
}

fn verify_all(jobs: &Receiver<Job>, waiting: &Mutex<HashMap<u64, u32>>) {
    if let Err(error) = rustix::process::setpriority_process(None, 10) {
        tracing::debug!(%error, "passwords are checked at the usual priority");
    }
    while let Ok(Job { check, reply }) = jobs.recv() {
        // The client has left if the receiver is closed.
        if !reply.is_closed() {
            let right = check.hash.verify(check.credentials.password());
            if reply.send(right).is_err() {
                tracing::debug!("a client left while its password was checked");
            }
        }
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = waiting.get_mut(&check.client) {
            *own -= 1;
            if *own == 0 {
                waiting.remove(&check.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlead_model::{BasicAuth, BasicUser, RoutePolicy};

    use super::*;

    /// Hash of `open sesame` with the minimum number of iterations.
    const HASH: &str = "pbkdf2-sha256:10000:MDEyMzQ1Njc4OWFiY2RlZg==:I1fRzPdik5F+m1JYkXkqwnEmFt/dm1VokeoVyG9DVvs=";

    fn auth(shared: &Arc<SharedPolicyState>, name: &str) -> PasswordFilter {
        let users = vec![BasicUser { name: name.into(), password_hash: HASH.into() }];
        let basic_auth = Some(BasicAuth { realm: String::new(), users });
        let policy = RoutePolicy { basic_auth, ..RoutePolicy::default() };
        let route = RouteSettings {
            key: "a.test/",
            prefix_bytes: 0,
            policy: &policy,
            redirect: None,
            has_certificate: true,
            tls: None,
            shared,
            connectors: &|_| Vec::new(),
        };
        PasswordFilter::compile(&route).unwrap().unwrap()
    }

    async fn authenticate(auth: &PasswordFilter, value: &str, cache: &PasswordCache) -> Option<PasswordResult> {
        let headers = || [(&b"Authorization"[..], value.as_bytes())].into_iter();
        match auth.authenticate(1, &headers, cache) {
            AuthOutcome::Cached => None,
            AuthOutcome::Unverified(check) => Some(check.run(cache).await),
            AuthOutcome::Unauthenticated => Some(PasswordResult::Wrong),
        }
    }

    #[tokio::test]
    async fn a_password_is_checked_once_and_only_for_the_users_it_was_right_for() {
        let (shared, cache) = (SharedPolicyState::new().unwrap(), PasswordCache::default());
        let ann = auth(&shared, "ann");
        let (right, wrong) = ("Basic YW5uOm9wZW4gc2VzYW1l", "Basic YW5uOm9wZW4gc2VzYW0=");
        assert_eq!(authenticate(&ann, wrong, &cache).await, Some(PasswordResult::Wrong));
        assert_eq!(authenticate(&ann, right, &cache).await, Some(PasswordResult::Right));
        assert_eq!(authenticate(&ann, right, &cache).await, None);
        assert_eq!(authenticate(&ann, wrong, &cache).await, Some(PasswordResult::Wrong));
        assert_eq!(authenticate(&auth(&shared, "bob"), right, &cache).await, Some(PasswordResult::Wrong));
        assert_eq!(authenticate(&ann, right, &PasswordCache::default()).await, Some(PasswordResult::Right));
        assert_eq!(authenticate(&ann, "Bearer x", &cache).await, Some(PasswordResult::Wrong));
    }

    #[test]
    fn recently_used_entries_stay_in_the_bounded_cache() {
        let cache = PasswordCache::default();
        let credential_digest = |n: usize| {
            let mut credential_digest = CredentialDigest::default();
            credential_digest[..8].copy_from_slice(&n.to_le_bytes());
            credential_digest
        };
        for n in 0..10 * CACHED_MAX {
            cache.remember(credential_digest(n));
            assert!(n == 0 || cache.has(&credential_digest(0)));
        }
        assert!(cache.halves.borrow().iter().all(|half| half.len() <= CACHED_MAX));
        assert!(!cache.has(&credential_digest(1)));
    }

    #[test]
    fn one_client_s_guesses_do_not_take_every_place() {
        let shared = SharedPolicyState::new().unwrap();
        let ann = auth(&shared, "ann");
        let cache = PasswordCache::default();
        // Creates a verifier that cannot start its thread.
        let (jobs, _received) = sync_channel(QUEUED_MAX);
        let stopped = Verifier { jobs: Some(jobs), waiting: Arc::default() };
        let ask = |client: &str| {
            let headers = || [(&b"authorization"[..], &b"Basic YW5uOng="[..])].into_iter();
            match ann.authenticate(client_key(client.parse().unwrap()), &headers, &cache) {
                AuthOutcome::Unverified(check) => stopped.ask(check),
                AuthOutcome::Cached | AuthOutcome::Unauthenticated => None,
            }
        };
        let kept: Vec<_> = (0..10).filter_map(|_| ask("192.0.2.1")).collect();
        assert_eq!(kept.len(), QUEUED_PER_CLIENT_MAX as usize);
        assert!(ask("192.0.2.2").is_some());
        let many = (0..100u32).filter_map(|n| ask(&std::net::Ipv4Addr::from(n).to_string())).count();
        assert_eq!(many + kept.len() + 1, QUEUED_MAX);
        assert!(stopped.waiting.lock().unwrap().values().all(|count| *count > 0));
    }
}
