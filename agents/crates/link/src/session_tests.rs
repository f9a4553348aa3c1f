//! The order of messages on one connection, without sockets or clocks.

use std::time::{Duration, Instant};

use fairlead_model::Version;
use fairlead_wire::agent::{self, agent_envelope, gateway_envelope::Body};

use super::{CloseReason, InspectRequest, LogRequest, PUSHES_IN_FLIGHT_MAX, Session, SessionAction, SessionEvent};

fn start(now: Instant) -> Session {
    let (session, actions) = Session::start(agent::Hello::default(), Version { epoch: 1, number: 5 }, now, || 42_001);
    assert!(
        matches!(actions.as_slice(), [SessionAction::Send(body)] if matches!(**body, agent_envelope::Body::Hello(_)))
    );
    session
}

fn open(now: Instant) -> Session {
    let (session, actions) =
        start(now).step(SessionEvent::Received(Body::Challenge(agent::Challenge { nonce: vec![9] })), now);
    assert_eq!(actions, [SessionAction::Prove(vec![9])]);
    let (session, _) = session.step(SessionEvent::Proved(vec![1]), now);
    let welcome = agent::Welcome {
        push_acked_sequence: 3,
        ping_interval_ms: 20_000,
        transfer_token: "token".into(),
        ..agent::Welcome::default()
    };
    let (session, actions) = session.step(SessionEvent::Received(Body::Welcome(welcome)), now);
    assert_eq!(actions[0], SessionAction::Open { acked: 3, transfer_token: "token".into() });
    assert!(is_sync(&actions[1]) && actions[2] == SessionAction::WantReport);
    session
}

fn is_sync(action: &SessionAction) -> bool {
    matches!(action, SessionAction::Send(body) if matches!(**body, agent_envelope::Body::Sync(_)))
}

fn push(sequence: u64) -> SessionEvent {
    SessionEvent::Push(Box::new(agent::Push { sequence, body: None }))
}

#[test]
fn a_newer_version_is_synced_at_once_and_an_older_one_is_not() {
    let now = Instant::now();
    let mut session = open(now);
    for (number, synced) in [(4, false), (5, false), (6, true)] {
        let version = Some(agent::Version { epoch: 1, number });
        let (next, actions) =
            session.step(SessionEvent::Received(Body::Desired(agent::DesiredVersion { version })), now);
        assert_eq!(actions.iter().any(is_sync), synced, "{number}");
        session = next;
    }
}

#[test]
fn silence_closes_and_pings_keep_open() {
    let now = Instant::now();
    let later = now + Duration::from_secs(59);
    let (session, actions) = open(now).step(SessionEvent::Received(Body::Ping(agent::Ping { sent_unix_ms: 7 })), later);
    let pong = agent::Pong { ping_sent_unix_ms: 7, agent_unix_ms: 42, agent_unix_us: 42_001 };
    assert_eq!(actions, [SessionAction::Send(Box::new(agent_envelope::Body::Pong(pong)))]);
    let (session, actions) = session.step(SessionEvent::Tick, later + Duration::from_secs(59));
    assert!(!actions.iter().any(|action| matches!(action, SessionAction::Close(_))));
    let (_, actions) = session.step(SessionEvent::Tick, later + Duration::from_secs(60));
    assert_eq!(actions, [SessionAction::Close(CloseReason::Silent)]);
}

#[test]
fn a_gateway_that_never_answers_is_left_after_the_handshake_deadline() {
    let now = Instant::now();
    let session = start(now);
    let deadline = session.deadline();
    assert!(deadline <= now + Duration::from_secs(15));
    let (_, actions) = session.step(SessionEvent::Tick, deadline);
    assert_eq!(actions, [SessionAction::Close(CloseReason::Silent)]);
}

#[test]
fn pushes_in_flight_are_bounded_and_an_acknowledgement_makes_room() {
    let now = Instant::now();
    let mut session = open(now);
    let most = PUSHES_IN_FLIGHT_MAX as u64;
    for sequence in 1..=most {
        assert!(session.wants_push());
        session = session.step(push(sequence), now).0;
    }
    assert!(!session.wants_push());
    let (session, actions) =
        session.step(SessionEvent::Received(Body::PushAck(agent::PushAck { sequence: most })), now);
    assert_eq!(actions, [SessionAction::Acknowledged(most)]);
    assert!(session.wants_push());
}

#[test]
fn an_unanswered_sync_is_asked_again_and_an_answered_one_only_after_the_interval() {
    let now = Instant::now();
    let session = open(now);
    let keep = |session: Session, at| session.step(SessionEvent::Received(Body::Ping(agent::Ping::default())), at).0;
    let session = keep(session, now + Duration::from_secs(25));
    let (session, actions) = session.step(SessionEvent::Tick, now + Duration::from_secs(30));
    assert!(actions.iter().any(is_sync));
    let answered = now + Duration::from_secs(31);
    let (mut session, _) = session.step(SessionEvent::Received(Body::State(agent::SignedState::default())), answered);
    for seconds in [50, 100, 150, 200, 250] {
        session = keep(session, answered + Duration::from_secs(seconds));
        let (next, actions) = session.step(SessionEvent::Tick, answered + Duration::from_secs(seconds));
        assert!(!actions.iter().any(is_sync), "{seconds}");
        session = next;
    }
    let session = keep(session, answered + Duration::from_secs(299));
    assert!(session.step(SessionEvent::Tick, answered + Duration::from_secs(300)).1.iter().any(is_sync));
}

#[test]
fn a_message_out_of_turn_ends_the_session() {
    let now = Instant::now();
    let (_, actions) = start(now).step(SessionEvent::Received(Body::State(agent::SignedState::default())), now);
    assert!(matches!(actions.as_slice(), [SessionAction::Close(CloseReason::OutOfTurn(_))]));
}

#[test]
fn log_queries_are_forwarded_and_answers_are_sent_only_while_the_session_is_open() {
    let now = Instant::now();
    let query = agent::LogQuery { query_id: "q1".into(), text: "x".into(), ..agent::LogQuery::default() };
    let (session, actions) = open(now).step(SessionEvent::Received(Body::LogQuery(query.clone())), now);
    assert_eq!(actions, [SessionAction::QueryLogs(LogRequest::Query(Box::new(query.clone())))]);
    let lines = agent::LogLines { query_id: "q1".into(), done: true, ..agent::LogLines::default() };
    let (session, actions) = session.step(SessionEvent::Lines(Box::new(lines.clone())), now);
    assert_eq!(actions, [SessionAction::Send(Box::new(agent_envelope::Body::LogLines(lines.clone())))]);
    let cancel = agent::LogCancel { query_id: "q1".into() };
    let (_, actions) = session.step(SessionEvent::Received(Body::LogCancel(cancel)), now);
    assert_eq!(actions, [SessionAction::QueryLogs(LogRequest::Cancel("q1".into()))]);
    let (session, actions) = start(now).step(SessionEvent::Lines(Box::new(lines)), now);
    assert_eq!(actions, [], "an answer to a former connection");
    let (_, actions) = session.step(SessionEvent::Received(Body::LogQuery(query)), now);
    assert_eq!(actions, [SessionAction::Close(CloseReason::OutOfTurn("a challenge was due"))]);
}

#[test]
fn inspection_queries_are_forwarded_and_plans_are_sent_only_while_the_session_is_open() {
    let now = Instant::now();
    let query = agent::InspectQuery { query_id: "q1".into(), ..agent::InspectQuery::default() };
    let (session, actions) = open(now).step(SessionEvent::Received(Body::InspectQuery(query.clone())), now);
    assert_eq!(actions, [SessionAction::Inspect(InspectRequest::Query(Box::new(query.clone())))]);
    let found = agent::Inspection { query_id: "q1".into(), ..agent::Inspection::default() };
    let (session, actions) = session.step(SessionEvent::Inspection(Box::new(found.clone())), now);
    assert_eq!(actions, [SessionAction::Send(Box::new(agent_envelope::Body::Inspection(found.clone())))]);
    let cancel = agent::InspectCancel { query_id: "q1".into() };
    let (_, actions) = session.step(SessionEvent::Received(Body::InspectCancel(cancel)), now);
    assert_eq!(actions, [SessionAction::Inspect(InspectRequest::Cancel("q1".into()))]);
    let (session, actions) = start(now).step(SessionEvent::Inspection(Box::new(found)), now);
    assert_eq!(actions, [], "an answer to a former connection");
    let (_, actions) = session.step(SessionEvent::Received(Body::InspectQuery(query)), now);
    assert_eq!(actions, [SessionAction::Close(CloseReason::OutOfTurn("a challenge was due"))]);
}
