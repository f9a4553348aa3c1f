//! Floods: what a hostile client can send without end. The proxy, a process of its own with the limits it ships with, stays
//! within its memory, ends or holds back the flood, and serves others meanwhile.

mod http1;
mod http2;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use libtest_mimic::Trial;

use crate::case::case;
use crate::door::{Door, OwnProcess};
use crate::support::app::App;
use crate::support::client::{Client, get};

const MIB: u64 = 1024 * 1024;
/// Between two looks at the memory.
const LOOK: Duration = Duration::from_millis(10);

pub fn trials() -> Vec<Trial> {
    http1::trials().into_iter().chain(http2::trials()).collect()
}

/// What a flood is played on.
pub struct Stage {
    pub door: Door,
    /// Requests that reached the app, the witness's apart.
    pub reached: Arc<AtomicUsize>,
}

/// An app that answers `/large` with 4 MiB, `/held` never, and all else with two bytes.
async fn app(reached: Arc<AtomicUsize>) -> App {
    App::new(move |mut peer, _| {
        let reached = Arc::clone(&reached);
        async move {
            while let Some(head) = peer.head().await {
                if !head.contains("/witness") {
                    reached.fetch_add(1, Ordering::Relaxed);
                }
                if head.contains(" /large ") {
                    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n").await;
                    peer.write_bytes(&vec![b'y'; 4_194_304]).await;
                } else if head.contains(" /held ") {
                    while peer.fill().await {}
                } else {
                    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
                }
            }
        }
    })
    .await
}

/// A case whose proxy may grow by `growth_mib_max` while it is flooded.
fn flood<F: Future<Output = ()> + Send + 'static>(
    name: &str,
    growth_mib_max: u64,
    flood: impl FnOnce(Stage) -> F + Send + 'static,
) -> Trial {
    case("floods", name, move || async move {
        let reached = Arc::<AtomicUsize>::default();
        let app = app(Arc::clone(&reached)).await;
        let proxy = OwnProcess::before(app.address).await;
        // What the first requests allocate once is not the flood's.
        for _ in 0..20 {
            witness(&proxy.door).await;
        }
        let before = proxy.memory_bytes();
        let over = Arc::<AtomicBool>::default();
        let (door, done) = (proxy.door.clone(), Arc::clone(&over));
        let witnesses = tokio::spawn(async move {
            let mut served = 0;
            while !done.load(Ordering::Relaxed) || served == 0 {
                witness(&door).await;
                served += 1;
            }
        });
        let flooding = tokio::spawn(flood(Stage { door: proxy.door.clone(), reached }));
        let mut most = before;
        while !flooding.is_finished() {
            most = most.max(proxy.memory_bytes());
            tokio::time::sleep(LOOK).await;
        }
        flooding.await.unwrap();
        over.store(true, Ordering::Relaxed);
        witnesses.await.expect("another client was not served");
        let growth = most.max(proxy.memory_bytes()).saturating_sub(before);
        proxy.end().await;
        assert!(growth <= growth_mib_max * MIB, "grew by {} KiB", growth / 1024);
    })
}

/// A client that is not part of it.
async fn witness(door: &Door) {
    let response = Client::new(door.open("http/1.1").await).ask(&get("/witness")).await;
    assert_eq!((response.status, response.text()), (200, "ok"));
}
