//! Tests the link against an in-process gateway over a real socket: hello, sync, push and outages.

#![cfg(test)]

#[path = "gateway/fake.rs"]
mod fake;

use std::sync::Arc;

use fairlead_base::{CancellationToken, Folders};
use fairlead_link::{
    AgentConfig, Enrolment, Link, LinkEnds, LinkOptions, LogRequest, SpoolLimits, enrol, probe_control_plane,
};
use fairlead_model::DesiredState;
use fairlead_wire::agent::{self, agent_envelope::Body as FromAgent, gateway_envelope::Body as FromGateway, push};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use fake::{Gateway, Peer, RECIPIENT, TOKEN};

struct Agent {
    ends: LinkEnds,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
    capabilities: watch::Sender<Vec<String>>,
}

impl Agent {
    fn start(config: &AgentConfig, folders: &Folders) -> Self {
        let (capabilities, told) = watch::channel(vec!["app".to_owned()]);
        let options = LinkOptions {
            capabilities: told,
            config: config.clone(),
            folders: folders.clone(),
            agent_version: "0.0.0-test".into(),
            host: agent::HostInfo::default(),
            sealing_recipient: RECIPIENT.into(),
            spool: SpoolLimits::default(),
        };
        let (link, ends) = Link::open(options).unwrap();
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(link.run(shutdown.clone()));
        Self { ends, shutdown, task, capabilities }
    }

    async fn stop(self) {
        self.shutdown.cancel();
        self.task.await.unwrap();
    }

    async fn state(&mut self, number: u64) -> Arc<DesiredState> {
        let held = |desired: &fairlead_link::AcceptedState| {
            desired.state.as_ref().is_some_and(|state| state.version.number == number)
        };
        self.ends.desired.wait_for(held).await.unwrap().state.clone().unwrap()
    }

    async fn refused(&mut self) -> &'static str {
        let desired = self.ends.desired.wait_for(|desired| desired.refused.is_some()).await.unwrap();
        desired.refused.as_ref().unwrap().0
    }
}

async fn enrolled(gateway: &Gateway) -> (tempfile::TempDir, Folders, AgentConfig) {
    let dir = tempfile::tempdir().unwrap();
    let folders = Folders::new(dir.path()).unwrap();
    let enrolment = Enrolment {
        control_url: gateway.url(),
        ca_file: None,
        token: TOKEN.into(),
        host: agent::HostInfo::default(),
        agent_version: "0.0.0-test".into(),
        sealing_recipient: RECIPIENT.into(),
    };
    let (config, _) = tokio::join!(enrol(&folders, enrolment), gateway.enrol());
    (dir, folders, config.unwrap())
}

fn frame(at: u64) -> agent::Frame {
    agent::Frame { agent_unix_ms: at, ..agent::Frame::default() }
}

async fn pushed(peer: &mut Peer) -> (u64, u64) {
    loop {
        if let FromAgent::Push(push) = peer.receive().await {
            let Some(push::Body::Frame(frame)) = push.body else { panic!("not a frame") };
            return (push.sequence, frame.agent_unix_ms);
        }
    }
}

#[tokio::test]
async fn enrolment_pins_the_signing_key_and_a_second_one_is_refused() {
    let gateway = Gateway::bind().await;
    let (_dir, folders, config) = enrolled(&gateway).await;
    assert_eq!(config.server_id.as_str(), "srv_fake");
    assert_eq!(config.signing_keys[0].key_id, "key_fake");
    let again = Enrolment {
        control_url: gateway.url(),
        ca_file: None,
        token: TOKEN.into(),
        host: agent::HostInfo::default(),
        agent_version: "0".into(),
        sealing_recipient: RECIPIENT.into(),
    };
    assert!(enrol(&folders, again).await.unwrap_err().to_string().contains("srv_fake"));
}

#[tokio::test]
async fn changed_capabilities_are_sent_again() {
    let gateway = Gateway::bind().await;
    let (_dir, folders, config) = enrolled(&gateway).await;
    let agent = Agent::start(&config, &folders);
    let first = gateway.session(4, 0).await;
    assert_eq!(first.capabilities(), ["app"]);
    agent.capabilities.send_replace(vec!["app".into(), "container".into()]);
    let second = gateway.session(4, 0).await;
    assert_eq!(second.capabilities(), ["app", "container"]);
    agent.stop().await;
}

#[tokio::test]
async fn a_state_is_synced_reported_and_kept_for_a_start_without_control_plane() {
    let gateway = Gateway::bind().await;
    let (_dir, folders, config) = enrolled(&gateway).await;
    let mut agent = Agent::start(&config, &folders);
    let mut peer = gateway.session(4, 0).await;
    peer.answer_sync(4).await;
    agent.state(4).await;
    agent.ends.report.send_replace(Some(agent::Report { applied: peer.version(4), ..agent::Report::default() }));
    loop {
        if let FromAgent::Report(report) = peer.receive().await {
            assert_eq!(report.applied, peer.version(4));
            break;
        }
    }
    peer.desired(5).await;
    peer.answer_sync(5).await;
    agent.state(5).await;
    agent.stop().await;
    drop((peer, gateway));
    let mut alone = Agent::start(&config, &folders);
    alone.state(5).await;
    alone.stop().await;
}

#[tokio::test]
async fn replayed_older_unsigned_and_foreign_states_are_refused_and_the_good_one_stays() {
    let gateway = Gateway::bind().await;
    let (_dir, folders, config) = enrolled(&gateway).await;
    let mut agent = Agent::start(&config, &folders);
    let mut peer = gateway.session(9, 0).await;
    peer.answer_sync(9).await;
    agent.state(9).await;
    let mut unsigned = peer.signed(10, "srv_fake");
    unsigned.signature[0] ^= 1;
    let cases = [
        (peer.signed(8, "srv_fake"), "state.older"),
        (unsigned, "state.bad_signature"),
        (peer.signed(10, "srv_x"), "state.wrong_server"),
    ];
    for (state, code) in cases {
        peer.send(FromGateway::State(state)).await;
        assert_eq!(agent.refused().await, code);
        peer.send(FromGateway::State(peer.signed(9, "srv_fake"))).await;
        agent.ends.desired.wait_for(|desired| desired.refused.is_none()).await.unwrap();
        agent.state(9).await;
    }
    agent.stop().await;
}

#[tokio::test]
async fn pushes_of_an_outage_arrive_in_order_once_the_link_is_back_and_survive_a_restart() {
    let gateway = Gateway::bind().await;
    let (_dir, folders, config) = enrolled(&gateway).await;
    let agent = Agent::start(&config, &folders);
    let mut peer = gateway.session(1, 0).await;
    assert!(agent.ends.pushes.frame(frame(100)));
    assert_eq!(pushed(&mut peer).await, (1, 100));
    peer.send(FromGateway::PushAck(agent::PushAck { sequence: 1 })).await;
    assert!(agent.ends.pushes.frame(frame(200)));
    assert_eq!(pushed(&mut peer).await, (2, 200));
    // Not acknowledged: the gateway closes, more is pushed, and the agent ends too.
    drop(peer);
    for at in [300, 400] {
        assert!(agent.ends.pushes.frame(frame(at)));
    }
    agent.stop().await;
    let agent = Agent::start(&config, &folders);
    let mut peer = gateway.session(1, 1).await;
    for expected in [(2, 200), (3, 300), (4, 400)] {
        assert_eq!(pushed(&mut peer).await, expected);
    }
    peer.send(FromGateway::PushAck(agent::PushAck { sequence: 4 })).await;
    assert!(agent.ends.pushes.frame(frame(500)));
    assert_eq!(pushed(&mut peer).await, (5, 500));
    agent.stop().await;
}

#[tokio::test]
async fn a_gateway_that_breaks_the_protocol_or_hangs_up_is_dialled_again() {
    let gateway = Gateway::bind().await;
    let (_dir, folders, config) = enrolled(&gateway).await;
    let mut agent = Agent::start(&config, &folders);
    gateway.accept().await.send_raw(b"\xff\xff\xff".to_vec()).await;
    drop(gateway.accept().await);
    let mut peer = gateway.accept().await;
    peer.send(FromGateway::Welcome(agent::Welcome::default())).await;
    let mut peer = gateway.session(2, 0).await;
    peer.answer_sync(2).await;
    agent.state(2).await;
    assert!(*agent.ends.connected.borrow());
    agent.stop().await;
}

#[tokio::test]
async fn only_a_session_with_a_verified_state_proves_the_control_plane() {
    let gateway = Gateway::bind().await;
    let (_dir, folders, config) = enrolled(&gateway).await;
    let mut agent = Agent::start(&config, &folders);
    // The second session holds the same state, which counts as well.
    for _ in 0..2 {
        let mut peer = gateway.session(3, 0).await;
        agent.ends.connected.wait_for(|connected| *connected).await.unwrap();
        assert!(!*agent.ends.state_verified.borrow());
        let mut unsigned = peer.signed(3, "srv_fake");
        unsigned.signature[0] ^= 1;
        peer.send(FromGateway::State(unsigned)).await;
        assert_eq!(agent.refused().await, "state.bad_signature");
        assert!(!*agent.ends.state_verified.borrow());
        peer.send(FromGateway::State(peer.signed(3, "srv_fake"))).await;
        agent.ends.state_verified.wait_for(|verified| *verified).await.unwrap();
        let mut changed = peer.signed(4, "srv_fake");
        changed.signature[0] ^= 1;
        peer.send(FromGateway::State(changed)).await;
        agent.ends.state_verified.wait_for(|verified| !verified).await.unwrap();
        peer.send(FromGateway::State(peer.signed(3, "srv_fake"))).await;
        agent.ends.state_verified.wait_for(|verified| *verified).await.unwrap();
        drop(peer);
        agent.ends.state_verified.wait_for(|verified| !verified).await.unwrap();
    }
    agent.stop().await;
}

#[tokio::test]
async fn a_log_query_and_its_answer_cross_the_link_and_an_outage_ends_both() {
    let gateway = Gateway::bind().await;
    let (_dir, folders, config) = enrolled(&gateway).await;
    let mut agent = Agent::start(&config, &folders);
    let mut peer = gateway.session(1, 0).await;
    let query = agent::LogQuery { query_id: "q1".into(), app_id: "app_a".into(), ..agent::LogQuery::default() };
    peer.send(FromGateway::LogQuery(query.clone())).await;
    assert_eq!(agent.ends.log_requests.recv().await, Some(LogRequest::Query(Box::new(query))));
    // More than the buffers hold: the sender waits for the link, and nothing is lost.
    let answers = agent.ends.log_answers.clone();
    let answering = tokio::spawn(async move {
        for number in 0..40u64 {
            let line = agent::AppLogLine { unix_ms: number, text: "x".repeat(64 * 1024), ..Default::default() };
            let lines = agent::LogLines { query_id: "q1".into(), lines: vec![line], ..Default::default() };
            answers.send(lines).await.unwrap();
        }
    });
    let mut came = Vec::new();
    while came.len() < 40 {
        if let FromAgent::LogLines(lines) = peer.receive().await {
            came.push(lines.lines[0].unix_ms);
        }
    }
    answering.await.unwrap();
    assert_eq!(came, (0..40).collect::<Vec<_>>());
    peer.send(FromGateway::LogCancel(agent::LogCancel { query_id: "q1".into() })).await;
    assert_eq!(agent.ends.log_requests.recv().await, Some(LogRequest::Cancel("q1".into())));
    drop(peer);
    assert_eq!(agent.ends.log_requests.recv().await, Some(LogRequest::CancelAll));
    agent.stop().await;
}

#[tokio::test]
async fn a_probe_is_answered_without_a_session_or_fails_with_the_reason() {
    let gateway = Gateway::bind().await;
    let (_dir, folders, config) = enrolled(&gateway).await;
    for refuses in [false, true] {
        let door = async {
            let mut peer = gateway.accept().await;
            let FromAgent::Hello(hello) = peer.receive().await else { panic!("no hello") };
            assert_eq!((hello.server_id.as_str(), hello.agent_version.as_str()), ("srv_fake", "9.9.9"));
            peer.send(if refuses {
                let message = "The control plane does not know this server.".into();
                FromGateway::Error(agent::LinkError { code: "link.server_unknown".into(), message, retryable: false })
            } else {
                FromGateway::Challenge(agent::Challenge { nonce: vec![5; 32] })
            })
            .await;
            peer.ended().await;
        };
        let (answer, ()) = tokio::join!(probe_control_plane(&config, &folders, "9.9.9", &["app"]), door);
        match answer {
            Ok(()) => assert!(!refuses),
            Err(error) => assert!(refuses && error.to_string().contains("does not know this server"), "{error}"),
        }
    }
    std::fs::write(folders.desired_state(), b"half of a state").unwrap();
    assert!(
        probe_control_plane(&config, &folders, "9.9.9", &[]).await.unwrap_err().to_string().contains("not understood")
    );
}
