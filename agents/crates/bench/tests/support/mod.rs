//! Benchmark plan for tests.

use std::time::Duration;

use fairlead_model::{
    AppId, AppKey, BenchmarkLoad, BenchmarkPlan, BenchmarkProtocol, BenchmarkScenario, BenchmarkTarget, EnvironmentId,
    LabServer, LinkCondition, RunId,
};

pub(crate) const HOST: &str = "bench.localhost";

pub(crate) fn plan(target: BenchmarkTarget, protocol: BenchmarkProtocol, concurrency: u32) -> BenchmarkPlan {
    BenchmarkPlan {
        run: RunId::parse("run_1").unwrap(),
        key: AppKey { app: AppId::parse("app_1").unwrap(), environment: EnvironmentId::parse("env_1").unwrap() },
        host: HOST.to_owned(),
        path: "/".to_owned(),
        targets: vec![target],
        protocols: vec![protocol],
        concurrency: vec![concurrency],
        repeats: 2,
        duration: Duration::from_millis(150),
        warmup: Duration::from_millis(20),
        lab: None,
        lab_server: LabServer::Own,
        lab_release: None,
        scenario: BenchmarkScenario::Matrix,
        fresh_connections: false,
        rate: None,
        load: BenchmarkLoad::default(),
        link: LinkCondition::default(),
        part: None,
    }
}
