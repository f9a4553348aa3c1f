//! Plan document `fairlead-plan-1`, as a repository holds it. Invariant: accepts the documents that
//! packages/core/src/benchmark-plan/schema.ts accepts, as the contract's fixtures prove.

use std::time::Duration;

use fairlead_model::{
    AppKey, BenchmarkPlan, BenchmarkProtocol, BenchmarkScenario, BenchmarkTarget, LabApp, LabServer, LinkCondition,
    RunId,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::plan_load::{LoadSpec, without_query};
use crate::threshold::PlanThreshold;

/// Most bytes of a document.
pub const DOCUMENT_BYTES_MAX: usize = 256 * 1024;
/// Host of the lab's certificate.
pub const LAB_HOST: &str = "bench.localhost";
pub(crate) const FORMAT: &str = "fairlead-plan-1";

/// Plan with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanDocument {
    pub(crate) format: String,
    pub name: String,
    pub plan: PlanSpec,
}

/// Content of a plan document. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PlanSpec {
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub path: String,
    pub targets: Vec<BenchmarkTarget>,
    pub protocols: Vec<BenchmarkProtocol>,
    pub concurrency: Vec<u32>,
    pub repeats: u32,
    pub duration_ms: u32,
    pub warmup_ms: u32,
    pub upstream: PlanUpstream,
    pub scenario: BenchmarkScenario,
    pub connection: PlanConnection,
    pub requests_per_second: Option<u32>,
    pub lab_app: LabAppSpec,
    pub load: LoadSpec,
    pub link: LinkSpec,
    pub thresholds: Vec<PlanThreshold>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanUpstream {
    /// An app that runs already.
    Live,
    /// Lab's app behind proxies that the agent starts.
    Lab,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanConnection {
    Reused,
    Fresh,
}

/// Response of the lab's app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LabAppSpec {
    pub response_bytes: u32,
    pub response_delay_ms: u32,
    pub error_every: u32,
    pub server: LabServer,
}

impl Default for LabAppSpec {
    fn default() -> Self {
        Self { response_bytes: 13, response_delay_ms: 0, error_every: 0, server: LabServer::Own }
    }
}

/// Impairment of the emulated link, in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LinkSpec {
    /// In steps of 0.0001.
    pub loss_percent: f64,
    pub delay_ms: u32,
}

impl Default for LinkSpec {
    fn default() -> Self {
        Self { loss_percent: 1.0, delay_ms: 20 }
    }
}

impl Default for PlanSpec {
    fn default() -> Self {
        Self {
            host: None,
            path: "/".to_owned(),
            targets: vec![BenchmarkTarget::Proxy, BenchmarkTarget::Direct],
            protocols: vec![BenchmarkProtocol::Http1, BenchmarkProtocol::Http2],
            concurrency: vec![1, 8, 32],
            repeats: 3,
            duration_ms: 2000,
            warmup_ms: 500,
            upstream: PlanUpstream::Live,
            scenario: BenchmarkScenario::Matrix,
            connection: PlanConnection::Reused,
            requests_per_second: None,
            lab_app: LabAppSpec::default(),
            load: LoadSpec::default(),
            link: LinkSpec::default(),
            thresholds: Vec::new(),
        }
    }
}

/// Document that can't be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DocumentError(String);

impl PlanDocument {
    /// Reads a document and returns the first fault of an invalid one.
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        if text.len() > DOCUMENT_BYTES_MAX {
            return Err(DocumentError(format!("A plan has at most {} KiB.", DOCUMENT_BYTES_MAX / 1024)));
        }
        let invalid = |error: serde_json::Error| DocumentError(format!("The plan is invalid: {error}."));
        let value: Value = serde_json::from_str(text).map_err(invalid)?;
        let mut document: Self = serde_json::from_value(with_integers(value)).map_err(invalid)?;
        // JavaScript trims U+FEFF too, and keeps U+0085.
        let is_blank = |char: char| (char.is_whitespace() && char != '\u{85}') || char == '\u{feff}';
        document.name = document.name.trim_matches(is_blank).to_owned();
        match document.faults().into_iter().next() {
            None => Ok(document),
            Some(fault) => Err(DocumentError(fault)),
        }
    }
}

impl PlanSpec {
    /// Returns the plan without queries, values of headers and bodies, like `redactPlan` in load.ts.
    pub(crate) fn redacted(self) -> Self {
        Self { path: without_query(&self.path), load: self.load.redacted(), ..self }
    }

    /// Returns whether a copy of the app's live release answers in the lab, which needs a control plane.
    pub fn copies_release(&self) -> bool {
        self.upstream == PlanUpstream::Lab && self.lab_app.server == LabServer::Release
    }

    /// Returns the plan as the control plane would send it.
    pub fn to_plan(&self, run: RunId, key: AppKey, host: String) -> BenchmarkPlan {
        let milliseconds = |count: u32| Duration::from_millis(count.into());
        let LabAppSpec { response_bytes, response_delay_ms, error_every, server } = self.lab_app;
        let lab = LabApp {
            response_bytes,
            response_delay: milliseconds(response_delay_ms),
            error_every,
            serves_probes: self.scenario == BenchmarkScenario::Latency,
            speaks_grpc: self.protocols.contains(&BenchmarkProtocol::Grpc),
        };
        let is_lab = self.upstream == PlanUpstream::Lab;
        let is_impaired = self.scenario == BenchmarkScenario::PacketLoss;
        BenchmarkPlan {
            run,
            key,
            host,
            path: self.path.clone(),
            targets: self.targets.clone(),
            protocols: self.protocols.clone(),
            concurrency: self.concurrency.clone(),
            repeats: self.repeats,
            duration: milliseconds(self.duration_ms),
            warmup: milliseconds(self.warmup_ms),
            lab: is_lab.then_some(lab),
            lab_server: if is_lab { server } else { LabServer::Own },
            lab_release: None,
            scenario: self.scenario,
            fresh_connections: self.connection == PlanConnection::Fresh,
            rate: self.requests_per_second.map(f64::from),
            load: self.load.to_load(),
            link: if is_impaired { self.link.condition() } else { LinkCondition::default() },
            part: None,
        }
    }
}

impl LinkSpec {
    fn condition(&self) -> LinkCondition {
        LinkCondition {
            loss_per_million: (self.loss_percent * 10_000.0).round() as u32,
            delay: Duration::from_millis(self.delay_ms.into()),
            seed: 0,
        }
    }
}

/// Reads a field that may be absent, but not null.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Replaces whole numbers such as `2e3` and `2.0`, which JavaScript reads as integers.
pub(crate) fn with_integers(value: Value) -> Value {
    match value {
        Value::Number(number) if !number.is_u64() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && (0.0..=u32::MAX.into()).contains(&float) => {
                Value::from(float as u64)
            }
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(with_integers).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, with_integers(value))).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_gets_what_its_scenario_and_upstream_use() {
        let plan = |plan: Value| {
            let document = json!({ "format": FORMAT, "name": "Nightly", "plan": plan });
            let document = PlanDocument::parse(&document.to_string()).unwrap();
            let key = AppKey {
                app: fairlead_model::AppId::parse("app_1").unwrap(),
                environment: fairlead_model::EnvironmentId::parse("env_1").unwrap(),
            };
            document.plan.to_plan(RunId::parse("run_1").unwrap(), key, LAB_HOST.to_owned())
        };
        let link = json!({ "lossPercent": 0.0003, "delayMs": 7 });
        let loss = plan(json!({ "upstream": "lab", "scenario": "packet-loss", "link": link }));
        let impaired = LinkCondition { loss_per_million: 3, delay: Duration::from_millis(7), seed: 0 };
        assert_eq!((loss.link, loss.lab.map(|app| app.serves_probes)), (impaired, Some(false)));
        assert_eq!(plan(json!({ "link": link })).link, LinkCondition::default());
        let latency = plan(json!({ "upstream": "lab", "scenario": "latency", "protocols": ["http1"] }));
        assert_eq!(latency.lab.map(|app| app.serves_probes), Some(true));
        let puma = json!({ "server": "puma" });
        assert_eq!(plan(json!({ "upstream": "lab", "labApp": puma })).lab_server, LabServer::Puma);
        assert_eq!(plan(json!({ "labApp": puma })).lab_server, LabServer::Own);
        let request = json!({ "method": "PUT", "path": "/a", "headers": { "x-a": "b" }, "body": "c", "weight": 2 });
        let stages = json!([{ "durationMs": 600, "requestsPerSecond": 9 }]);
        let load = plan(json!({ "requestsPerSecond": 5, "load": { "requests": [request], "stages": stages } })).load;
        let [request] = load.requests.as_slice() else { panic!("{load:?}") };
        assert_eq!((request.method.as_str(), request.path.as_str(), request.weight), ("PUT", "/a", 2));
        assert_eq!(request.headers, [("x-a".to_owned(), "b".to_owned())]);
        assert_eq!((load.stages[0].duration, load.stages[0].rate), (Duration::from_millis(600), 9.0));
    }

    #[test]
    fn text_has_no_unpaired_surrogate() {
        let load = json!({ "requests": [{ "method": "PUT", "path": "/", "body": "x😀" }] });
        let text = json!({ "format": FORMAT, "name": "Nightly", "plan": { "load": load } }).to_string();
        assert!(PlanDocument::parse(&text).is_ok());
        assert!(PlanDocument::parse(&text.replace("😀", r"\ud83d\ude00")).is_ok());
        assert!(PlanDocument::parse(&text.replace("😀", r"\ud83d")).is_err());
        assert!(PlanDocument::parse(&text.replace("😀", r"\ude00")).is_err());
    }

    #[test]
    fn an_oversized_document_is_refused_unread() {
        let error = PlanDocument::parse(&" ".repeat(DOCUMENT_BYTES_MAX + 1)).unwrap_err();
        assert_eq!(error.to_string(), "A plan has at most 256 KiB.");
    }
}
