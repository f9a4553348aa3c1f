//! Floods: hostile clients that send, or leave unread, as much as they can. The proxy must stay within its memory and
//! descriptors, end or slow the flood, and serve a polite client on open and new connections.

mod http1;
mod http2;
mod slow;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;

use crate::case::case;
use crate::proxy_endpoint::{ProxyEndpoint, ProxyProcess};
use crate::support::app::App;
use crate::support::client::{Client, get};

const MIB: u64 = 1024 * 1024;
/// Interval between two samples of the memory.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum share of its descriptors that a flooded proxy may use, in percent.
const DESCRIPTORS_PERCENT_MAX: u64 = 60;
/// Rounds of the polite client before the flood.
const CALM_ROUNDS: usize = 20;
/// Prefix of the floods' figures on standard output, one JSON line each (`npm run check:floods`).
const REPORT: &str = "FAIRLEAD_FLOODS_REPORT";

pub fn trials() -> Vec<Trial> {
    http1::trials().into_iter().chain(http2::trials()).chain(slow::trials()).collect()
}

/// Context of a flood.
pub struct FloodContext {
    pub endpoint: ProxyEndpoint,
    /// Requests that reached the app, without those of the polite client.
    pub reached: Arc<AtomicUsize>,
    polite: Arc<PoliteClient>,
}

impl FloodContext {
    /// Completes after this many more rounds of the polite client.
    pub async fn polite_rounds(&self, rounds: usize) {
        let until = self.polite.rounds.load(Ordering::Relaxed) + rounds;
        while self.polite.rounds.load(Ordering::Relaxed) < until {
            self.polite.served.notified().await;
        }
    }
}

/// Client outside the flood: it sends requests on one open connection and on new ones.
#[derive(Default)]
struct PoliteClient {
    rounds: AtomicUsize,
    failed: AtomicUsize,
    served: Notify,
}

impl PoliteClient {
    /// Runs one round; returns the duration of each response.
    async fn round<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        endpoint: &ProxyEndpoint,
        open: &mut Client<S>,
    ) -> [Duration; 2] {
        let began = Instant::now();
        self.ask(open).await;
        let on_open = began.elapsed();
        let began = Instant::now();
        match endpoint.try_open("http/1.1").await {
            Ok(stream) => self.ask(&mut Client::new(stream)).await,
            Err(_) => drop(self.failed.fetch_add(1, Ordering::Relaxed)),
        }
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.served.notify_waiters();
        [on_open, began.elapsed()]
    }

    async fn ask<S: AsyncRead + AsyncWrite + Unpin>(&self, client: &mut Client<S>) {
        let asked = async {
            tokio::io::AsyncWriteExt::write_all(&mut client.stream, get("/witness").as_bytes()).await.ok()?;
            tokio::io::AsyncWriteExt::flush(&mut client.stream).await.ok()?;
            client.response(false).await
        };
        if asked.await.is_none_or(|response| (response.status, response.text()) != (200, "ok")) {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Starts an app that serves 4 MiB at `/large`, 40 KB at `/small`, nothing at `/held`, and two bytes elsewhere.
async fn app(reached: Arc<AtomicUsize>) -> App {
    App::new(move |mut peer, _| {
        let reached = Arc::clone(&reached);
        async move {
            while let Some(head) = peer.head().await {
                if !head.contains("/witness") {
                    reached.fetch_add(1, Ordering::Relaxed);
                }
                if head.contains("/large ") {
                    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n").await;
                    peer.write_bytes(&LARGE).await;
                } else if head.contains("/small ") {
                    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n").await;
                    peer.write_bytes(&LARGE[..40_000]).await;
                } else if head.contains("/held ") {
                    while peer.fill().await {}
                } else {
                    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
                }
            }
        }
    })
    .await
}

static LARGE: [u8; 4_194_304] = [b'y'; 4_194_304];

/// Creates a case with a proxy that may grow by `growth_mib_max` during the flood.
fn flood<F: Future<Output = ()> + Send + 'static>(
    name: &'static str,
    growth_mib_max: u64,
    flood: impl FnOnce(FloodContext) -> F + Send + 'static,
) -> Trial {
    case("floods", name, move || async move {
        let reached = Arc::<AtomicUsize>::default();
        let app = app(Arc::clone(&reached)).await;
        let proxy = ProxyProcess::before(app.address).await;
        let (endpoint, polite) = (proxy.endpoint.clone(), Arc::<PoliteClient>::default());
        let mut open = Client::new(endpoint.open("http/1.1").await);
        // Memory that the first requests allocate once does not count.
        let mut calm = Vec::new();
        for _ in 0..CALM_ROUNDS {
            calm.extend(polite.round(&endpoint, &mut open).await);
        }
        let before = proxy.memory_bytes();
        let over = Arc::<AtomicBool>::default();
        let (asks, done) = (Arc::clone(&polite), Arc::clone(&over));
        let asking = tokio::spawn(async move {
            let mut took = Vec::new();
            while !done.load(Ordering::Relaxed) || took.is_empty() {
                took.extend(asks.round(&endpoint, &mut open).await);
            }
            took
        });
        let context = FloodContext { endpoint: proxy.endpoint.of_client(2), reached, polite: Arc::clone(&polite) };
        let flooding = tokio::spawn(flood(context));
        let (mut most, mut descriptors) = (before, 0);
        while !flooding.is_finished() {
            most = most.max(proxy.memory_bytes());
            descriptors = descriptors.max(proxy.descriptors_percent());
            tokio::time::sleep(SAMPLE_INTERVAL).await;
        }
        let carried_out = flooding.await;
        over.store(true, Ordering::Relaxed);
        let took = asking.await.unwrap();
        let growth = most.max(proxy.memory_bytes()).saturating_sub(before);
        proxy.end().await;
        let failed = polite.failed.load(Ordering::Relaxed);
        if std::env::var_os(REPORT).is_some() {
            println!(
                "{{\"flood\":\"{name}\",\"growthMib\":{:.1},\"descriptorsPercent\":{descriptors},\"asked\":{},\"failed\":{failed},\
                 \"p99Ms\":{:.2},\"calmP99Ms\":{:.2}}}",
                growth as f64 / MIB as f64,
                took.len(),
                p99_ms(took),
                p99_ms(calm)
            );
        }
        carried_out.unwrap();
        assert_eq!(failed, 0, "the polite client was not served");
        assert!(growth <= growth_mib_max * MIB, "grew by {} KiB", growth / 1024);
        assert!(descriptors <= DESCRIPTORS_PERCENT_MAX, "{descriptors} % of the descriptors are used");
    })
}

fn p99_ms(mut took: Vec<Duration>) -> f64 {
    took.sort_unstable();
    took[(took.len() * 99).div_ceil(100) - 1].as_secs_f64() * 1000.0
}
