//! Tests of the parser of desired state, one invalid field at a time.

use fairlead_model::{ServerId, StateError, Version, message};
use prost::Message;

use super::desired_state;
use crate::{SECRETS_BYTES_MAX, agent};

fn server() -> ServerId {
    ServerId::parse("srv_1").unwrap()
}

fn good() -> agent::DesiredState {
    let release = agent::ReleaseSpec {
        release_id: "rel_1".into(),
        number: 1,
        artifact_digest: format!("sha256:{}", "a".repeat(64)),
        command: vec!["node".into(), "server.js".into()],
        variables: [("GREETING".to_owned(), "hello".to_owned())].into(),
        readiness_check: Some(agent::HealthCheck {
            path: "/".into(),
            interval_ms: 100,
            timeout_ms: 1000,
            ..Default::default()
        }),
        drain_timeout_ms: 30_000,
        stop_timeout_ms: 5_000,
        memory_bytes_max: 0,
        secrets: Some(agent::SealedSecrets { sealed: vec![1], version: "v1".into() }),
        ..Default::default()
    };
    agent::DesiredState {
        version: Some(agent::Version { epoch: 1, number: 7 }),
        server_id: "srv_1".into(),
        requires: vec!["app".into()],
        apps: vec![agent::AppSpec {
            app_id: "app_1".into(),
            environment_id: "env_1".into(),
            name: "hello".into(),
            live: Some(release.clone()),
            candidate: Some(agent::Rollout {
                deployment_id: "dep_1".into(),
                release: Some(release),
                start_timeout_ms: 30_000,
                ..Default::default()
            }),
            instances: 1,
            traffic: Vec::new(),
            ..Default::default()
        }],
        routes: vec![agent::RouteSpec {
            host: "hello.localhost".into(),
            path_prefix: "/".into(),
            target: Some(agent::route_spec::Target::ControlSocket("web".into())),
            policy: Vec::new(),
        }],
        builds: vec![agent::BuildSpec {
            deployment_id: "dep_2".into(),
            app_id: "app_1".into(),
            repository_url: "http://127.0.0.1:4402/repository.git".into(),
            r#ref: "main".into(),
            root_folder: "examples/hello-node".into(),
            timeout_ms: 600_000,
            ..Default::default()
        }],
        benchmarks: vec![agent::BenchmarkPlan {
            run_id: "run_1".into(),
            app_id: "app_1".into(),
            environment_id: "env_1".into(),
            host: "hello.localhost".into(),
            path: "/".into(),
            targets: vec![1, 2],
            protocols: vec![1],
            concurrency: vec![1, 32],
            repeats: 2,
            duration_ms: 1000,
            warmup_ms: 200,
            ..Default::default()
        }],
        signing_keys: vec![],
        proxy: Vec::new(),
        ..Default::default()
    }
}

fn parse(state: &agent::DesiredState) -> Result<fairlead_model::DesiredState, StateError> {
    desired_state(&state.encode_to_vec(), &server())
}

#[test]
fn a_good_state_parses_whole() {
    let state = parse(&good()).unwrap();
    assert_eq!(state.version, Version { epoch: 1, number: 7 });
    assert_eq!(state.apps.len(), 1);
    let secrets = state.apps.values().next().unwrap().live.as_ref().unwrap().secrets.clone().unwrap();
    let release = state.apps.values().next().unwrap().live.as_ref().unwrap();
    assert_eq!((release.private_network, release.server_ports.len()), (false, 0));
    assert_eq!((secrets.sealed.as_slice(), secrets.version.as_str()), ([1].as_slice(), "v1"));
    assert_eq!(state.builds.values().next().unwrap().root_folder, "examples/hello-node");
    assert_eq!(state.benchmarks[0].concurrency, [1, 32]);
}

#[test]
fn a_build_has_variables_and_may_leave_the_branch_to_its_repository() {
    let mut state = good();
    state.builds[0].r#ref = String::new();
    state.builds[0].variables.insert("API_URL".into(), "https://a b".into());
    let parsed = parse(&state).unwrap();
    let build = parsed.builds.values().next().unwrap();
    assert_eq!((build.git_ref.as_str(), build.variables["API_URL"].as_str()), ("", "https://a b"));
}

fn waking(wake_timeout_ms: u32) -> agent::Autoscaling {
    agent::Autoscaling { instances_max: 1, idle_timeout_ms: 1_000, wake_timeout_ms, ..Default::default() }
}

#[test]
fn a_request_waits_for_an_app_that_sleeps_as_long_as_is_said_and_half_a_minute_otherwise() {
    for (said, waits) in [(0, 30), (1_000, 1), (120_000, 120)] {
        let mut state = good();
        state.apps[0].autoscaling = Some(waking(said));
        let state = parse(&state).unwrap();
        let autoscaling = state.apps.values().next().unwrap().autoscaling.as_ref().unwrap();
        assert_eq!(autoscaling.wake_timeout.as_secs(), waits);
    }
}

#[test]
fn the_largest_secrets_that_the_control_plane_makes_are_taken() {
    const VALUES: usize = 1024 * 1024;
    const NAMES: usize = 1000 * 144;
    let mut state = good();
    live(&mut state).secrets.as_mut().unwrap().sealed = vec![1; VALUES + NAMES + 4096];
    parse(&state).unwrap();
}

#[test]
fn server_ports_are_unicast_addresses_and_ports() {
    let ports = |values: &[&str]| {
        let mut state = good();
        live(&mut state).server_ports = values.iter().map(|value| (*value).to_owned()).collect();
        parse(&state).map(|state| state.apps.into_values().next().unwrap().live.unwrap().server_ports)
    };
    let good = [
        "127.0.0.1:5432",
        "127.0.0.2:1",
        "10.0.0.7:65535",
        "203.0.113.9:443",
        "168.63.129.17:80",
        "[::1]:5432",
        "[fd00::7]:80",
        "[fd00:ec3::254]:80",
        "[64:ff9b:2::1]:80",
        "[64:ff9b::1:0:0]:80",
        "[2003::1]:80",
    ];
    let parsed = ports(&good).unwrap();
    assert_eq!(parsed.iter().map(ToString::to_string).collect::<Vec<_>>(), good);
    let bad = [
        ("", "is not an IP address and port"),
        ("5432", "is not an IP address and port"),
        ("localhost:5432", "is not an IP address and port"),
        ("::1:5432", "is not an IP address and port"),
        ("127.0.0.1:65536", "is not an IP address and port"),
        ("127.0.0.1:0", "has port 0"),
        ("127.0.0.53:53", "is the resolver of every app"),
        ("0.0.0.0:80", "is a wildcard address"),
        ("[::]:80", "is a wildcard address"),
        ("169.254.169.254:80", "is a link-local address"),
        ("[fe80::1]:80", "is a link-local address"),
        ("[fe80::1%2]:80", "is a link-local address"),
        ("198.18.0.5:3000", "is an address of another app"),
        ("198.19.255.5:3000", "is an address of another app"),
        ("224.0.0.1:80", "is no unicast address"),
        ("255.255.255.255:80", "is no unicast address"),
        ("[ff02::1]:80", "is no unicast address"),
        ("168.63.129.16:80", "is the metadata service of a cloud"),
        ("192.0.0.192:80", "is the metadata service of a cloud"),
        ("100.100.100.200:80", "is the metadata service of a cloud"),
        ("[fd00:ec2::254]:80", "is the metadata service of a cloud"),
        ("[fd00:ec2:1::]:80", "is the metadata service of a cloud"),
        ("[fd20:ce::254]:80", "is the metadata service of a cloud"),
        ("[fd00:42::42]:80", "is the metadata service of a cloud"),
        ("[fd00:a9fe:a9fe::1]:80", "is the metadata service of a cloud"),
        ("[fd00:c1::a9fe:a9fe]:80", "is the metadata service of a cloud"),
        ("[fd00:100::100:200]:80", "is the metadata service of a cloud"),
        ("[::ffff:169.254.169.254]:80", "is an IPv4 address written as IPv6"),
        ("[::127.0.0.1]:80", "is an IPv4 address written as IPv6"),
        ("[64:ff9b::169.254.169.254]:80", "is an IPv4 address written as IPv6"),
        ("[64:ff9b::]:80", "is an IPv4 address written as IPv6"),
        ("[64:ff9b:1:2::a9fe:a9fe]:80", "is an IPv4 address written as IPv6"),
        ("[2002:a9fe:a9fe::1]:80", "is an IPv4 address written as IPv6"),
    ];
    for (value, reason) in bad {
        let error = ports(&["127.0.0.1:5432", value]).unwrap_err().to_string();
        assert!(error.contains("apps[0].live.server_ports[1]") && error.contains(reason), "{value}: {error}");
    }
    // Equal addresses in two spellings are one port.
    assert!(ports(&["[::1]:80", "[0:0::1]:80"]).unwrap_err().to_string().contains("is there twice"));
    let many: Vec<String> = (1..=17).map(|port| format!("127.0.0.1:{port}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(ports(&many[..16]).unwrap().len(), 16);
    assert!(ports(&many).unwrap_err().to_string().contains("are 17, more than 16"));
}

#[test]
fn one_wrong_field_refuses_the_whole_and_is_named() {
    type Spoil = fn(&mut agent::DesiredState);
    let cases: [(&str, Spoil); 37] = [
        ("apps[0].live.listens_on_socket", |s| {
            let release = live(s);
            (release.listens_on_socket, release.artifact_kind) = (true, agent::ArtifactKind::Image.into());
        }),
        ("apps[0].autoscaling.wake_timeout_ms", |s| s.apps[0].autoscaling = Some(waking(999))),
        ("apps[0].autoscaling.wake_timeout_ms", |s| s.apps[0].autoscaling = Some(waking(120_001))),
        ("version", |s| s.version = None),
        ("apps[0].instances", |s| s.apps[0].instances = 0),
        ("apps[0].app_id", |s| s.apps[0].app_id = "app_../../etc".into()),
        ("apps[1]", |s| s.apps.push(s.apps[0].clone())),
        ("apps[0].live.artifact_digest", |s| live(s).artifact_digest = "sha256:../x".into()),
        ("apps[0].live.command", |s| live(s).command.clear()),
        ("apps[0].live.variables.A=B", |s| drop(live(s).variables.insert("A=B".into(), "c".into()))),
        ("apps[0].live.readiness_check", |s| live(s).readiness_check = None),
        ("apps[0].live.secrets.sealed.length", |s| live(s).secrets.as_mut().unwrap().sealed.clear()),
        ("apps[0].live.secrets.sealed.length", |s| {
            live(s).secrets.as_mut().unwrap().sealed = vec![1; SECRETS_BYTES_MAX + 1];
        }),
        ("apps[0].live.secrets.version.length", |s| live(s).secrets.as_mut().unwrap().version.clear()),
        ("apps[0].candidate.release", |s| s.apps[0].candidate.as_mut().unwrap().release = None),
        ("routes[0].host", |s| s.routes[0].host = "Hello.localhost".into()),
        ("routes[0].path_prefix", |s| s.routes[0].path_prefix = "x".into()),
        ("routes[0].path_prefix", |s| s.routes[0].path_prefix = "/a?b".into()),
        ("routes[2]", |s| {
            for prefix in ["/api", "/api/"] {
                s.routes.push(agent::RouteSpec { path_prefix: prefix.into(), ..s.routes[0].clone() });
            }
        }),
        ("routes[0].target", |s| s.routes[0].target = None),
        ("routes[0].control_socket", |s| {
            s.routes[0].target = Some(agent::route_spec::Target::ControlSocket("../run/proxy".into()));
        }),
        ("routes[1]", |s| s.routes.push(s.routes[0].clone())),
        ("routes[0].policy.deny", |s| {
            let deny = vec!["192.0.2.0/40".into()];
            s.routes[0].policy = message::RoutePolicy { deny, ..Default::default() }.encode_to_vec();
        }),
        ("routes[0].redirect.to", |s| {
            let to = message::Redirect { status: 308, to: "javascript:x".into(), keep_path: false };
            s.routes[0].target = Some(agent::route_spec::Target::Redirect(to.encode_to_vec()));
        }),
        ("apps[0].traffic.sticky_sessions.cookie", |s| {
            let sticky_sessions =
                Some(message::StickySessions { by: Some(message::sticky_sessions::By::Cookie("a;b".into())) });
            s.apps[0].traffic = message::AppTraffic { sticky_sessions, ..Default::default() }.encode_to_vec();
        }),
        ("state.proxy.trusted_proxies", |s| {
            let trusted_proxies = vec!["everyone".into()];
            s.proxy = message::ProxySettings { trusted_proxies, ..Default::default() }.encode_to_vec();
        }),
        ("builds[0].repository_url", |s| s.builds[0].repository_url = "file:///etc".into()),
        ("builds[0].repository_url", |s| s.builds[0].repository_url = "https://user:pw@host/x".into()),
        ("builds[0].variables.A-B", |s| _ = s.builds[0].variables.insert("A-B".into(), "x".into())),
        ("builds[0].ref", |s| s.builds[0].r#ref = "--upload-pack=x".into()),
        ("builds[0].root_folder", |s| s.builds[0].root_folder = "a/../../b".into()),
        ("benchmarks[0].targets", |s| s.benchmarks[0].targets = vec![99]),
        ("benchmarks[0].link.loss_per_million", |s| {
            let link = agent::BenchmarkLink { loss_per_million: 500_001, delay_ms: 0 };
            s.benchmarks[0].link = Some(link);
        }),
        ("benchmarks[0].part.check_answer", |s| {
            let part = agent::BenchmarkPart { role: agent::BenchmarkRole::Load.into(), ..Default::default() };
            s.benchmarks[0].part = Some(agent::BenchmarkPart { addresses: vec!["10.0.0.7:443".to_owned()], ..part });
        }),
        ("benchmarks[0].part.check_name", |s| {
            let part = agent::BenchmarkPart { role: agent::BenchmarkRole::Load.into(), ..Default::default() };
            let (addresses, check_answer) = (vec!["10.0.0.7:443".to_owned()], vec![7; 32]);
            s.benchmarks[0].part = Some(agent::BenchmarkPart { addresses, check_answer, ..part });
        }),
        ("benchmarks[0].lab.server", |s| {
            s.benchmarks[0].lab = Some(agent::BenchmarkLab { server: 99, ..Default::default() });
        }),
        ("benchmarks[0].concurrency", |s| s.benchmarks[0].concurrency = vec![0]),
    ];
    for (field, spoil) in cases {
        let mut state = good();
        spoil(&mut state);
        match parse(&state) {
            Err(StateError::Field { field: named, .. }) => assert_eq!(named, field),
            other => panic!("{field}: {other:?}"),
        }
    }
}

fn live(state: &mut agent::DesiredState) -> &mut agent::ReleaseSpec {
    state.apps[0].live.as_mut().unwrap()
}

#[test]
fn only_the_control_plane_may_have_an_ipv6_address_as_its_host() {
    for (host, is_control, is_accepted) in [
        ("[2001:db8::5]", true, true),
        ("203.0.113.5", true, true),
        ("[2001:db8::5]", false, false),
        ("[2001:DB8::5]", true, false),
        ("2001:db8::5", true, false),
        ("[../x]", true, false),
    ] {
        let mut state = good();
        state.routes[0].host = host.into();
        if !is_control {
            state.routes[0].target = Some(agent::route_spec::Target::Redirect(Vec::new()));
        }
        assert_eq!(parse(&state).is_ok(), is_accepted, "{host}");
    }
}

#[test]
fn a_state_for_another_server_or_beyond_this_agent_is_refused() {
    let mut state = good();
    state.server_id = "srv_2".into();
    assert!(matches!(parse(&state), Err(StateError::Server { .. })));
    state.server_id = "srv_1".into();
    state.requires = vec!["teleport".into()];
    assert!(matches!(parse(&state), Err(StateError::Capability { capability }) if capability == "teleport"));
    assert!(desired_state(b"\xff\xff", &server()).is_err());
}

#[test]
fn requests_of_a_benchmark_are_bounded_and_can_not_smuggle_headers() {
    let request = agent::BenchmarkRequest {
        method: "POST".into(),
        path: "/orders".into(),
        headers: vec![agent::BenchmarkHeader { name: "X-Kind".into(), value: "a b".into() }],
        body: "{}".into(),
        weight: 3,
    };
    let with = |change: &dyn Fn(&mut agent::BenchmarkPlan)| {
        let mut state = good();
        state.benchmarks[0].requests = vec![request.clone()];
        change(&mut state.benchmarks[0]);
        parse(&state)
    };
    let load = with(&|_| ()).unwrap().benchmarks[0].load.clone();
    assert_eq!(load.requests[0].headers, [("X-Kind".to_owned(), "a b".to_owned())]);
    assert_eq!((load.requests[0].weight, load.requests[0].body.as_str()), (3, "{}"));
    for (name, value) in
        [("Host", "a"), ("transfer-encoding", "chunked"), ("X\r\nY", "a"), ("X", "a\r\nY: b"), ("", "")]
    {
        let header = agent::BenchmarkHeader { name: name.into(), value: value.into() };
        assert!(with(&|plan| plan.requests[0].headers = vec![header.clone()]).is_err(), "{name}");
    }
    assert!(with(&|plan| plan.requests[0].method = "CONNECT".into()).is_err());
    assert!(with(&|plan| plan.requests[0].path = "/a b".into()).is_err());
    assert!(with(&|plan| plan.requests[0].weight = 0).is_err());
    assert!(with(&|plan| plan.requests = vec![request.clone(); 51]).is_err());
    assert!(with(&|plan| plan.requests[0].body = "x".repeat(2 << 20)).is_err());
}

#[test]
fn stages_of_a_benchmark_need_a_rate_and_count_as_rows() {
    let with = |count: usize, rate: f64| {
        let mut state = good();
        let plan = &mut state.benchmarks[0];
        plan.requests_per_second = rate;
        plan.stages = vec![agent::BenchmarkStage { duration_ms: 500, requests_per_second: 20.0 }; count];
        plan.repeats = 20;
        parse(&state)
    };
    assert_eq!(with(2, 10.0).unwrap().benchmarks[0].load.stages.len(), 2);
    assert!(with(2, 0.0).is_err());
    // 2 targets, 2 levels, 20 rounds and 6 stages are 480 rows.
    assert!(with(6, 10.0).is_err());
}
