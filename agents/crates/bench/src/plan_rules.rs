//! Rules of a plan document: bounds of its fields, and combinations that can't be measured. Invariant: rules and sentences
//! equal those of packages/core/src/benchmark/plan.ts and schema.ts; the contract's fixtures check it.

use std::sync::LazyLock;

use fairlead_model::{BenchmarkProtocol, BenchmarkScenario, BenchmarkTarget, LabServer};
use regex::Regex;

use crate::plan_document::{FORMAT, LinkSpec, PlanConnection, PlanDocument, PlanSpec, PlanUpstream};
use crate::plan_load::PATH_MAX;
use crate::threshold::PlanThreshold;

const NAME_MAX: usize = 60;
const HOST_MAX: usize = 253;
const THRESHOLDS_MAX: usize = 20;
/// Most rows of a run.
const ROWS_MAX: usize = 400;
/// Most clients of an app.
const LIVE_CONCURRENCY_MAX: u32 = 1024;
/// Most bytes of responses that all clients of the lab wait for at once.
const LAB_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Longest load of a run.
const LOAD_MS_MAX: u64 = 4 * 3_600_000;
/// Most clients of a latency probe.
const PROBE_CONCURRENCY_MAX: u32 = 64;

impl PlanDocument {
    /// Returns a sentence for each rule that the document breaks.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut fault = |is_fault: bool, message: String| {
            if is_fault {
                faults.push(message);
            }
        };
        fault(self.format != FORMAT, format!("A plan of Fairlead has \"format\": \"{FORMAT}\"."));
        fault(self.name.is_empty(), "Enter a name.".to_owned());
        fault(length(&self.name) > NAME_MAX, format!("A name has at most {NAME_MAX} characters."));
        fault(INVISIBLE.is_match(&self.name), "A name has no line breaks or invisible characters.".to_owned());
        faults.extend(self.plan.bound_faults());
        if faults.is_empty() { self.plan.combination_faults() } else { faults }
    }
}

impl PlanSpec {
    fn bound_faults(&self) -> Vec<String> {
        let mut all = Vec::new();
        let faults = &mut all;
        within(faults, "host: characters", self.host.as_deref().map_or(0, utf16_length), 0, HOST_MAX);
        if !self.host.as_deref().is_none_or(is_host) {
            faults.push("A host has letters, digits, dots and hyphens.".to_owned());
        }
        within(faults, "path: characters", length(&self.path), 1, PATH_MAX);
        within(faults, "targets: entries", self.targets.len(), 1, 11);
        within(faults, "protocols: entries", self.protocols.len(), 1, 4);
        within(faults, "concurrency: entries", self.concurrency.len(), 1, 8);
        for clients in &self.concurrency {
            within(faults, "concurrency", *clients as usize, 1, 20_000);
        }
        within(faults, "repeats", self.repeats as usize, 1, 9);
        within(faults, "durationMs", self.duration_ms as usize, 500, 30_000);
        within(faults, "warmupMs", self.warmup_ms as usize, 0, 5000);
        if let Some(rate) = self.requests_per_second {
            within(faults, "requestsPerSecond", rate as usize, 1, 100_000);
        }
        within(faults, "labApp.responseBytes", self.lab_app.response_bytes as usize, 0, 1_048_576);
        within(faults, "labApp.responseDelayMs", self.lab_app.response_delay_ms as usize, 0, 10_000);
        within(faults, "labApp.errorEvery", self.lab_app.error_every as usize, 0, 1_000_000);
        self.load.bound_faults(faults);
        self.link.bound_faults(faults);
        within(faults, "thresholds: entries", self.thresholds.len(), 0, THRESHOLDS_MAX);
        if !is_path(&self.path) {
            faults.push("A path starts with / and has no spaces.".to_owned());
        }
        if has_twins(&self.targets) {
            faults.push("Name each target once.".to_owned());
        }
        if has_twins(&self.protocols) {
            faults.push("Name each protocol once.".to_owned());
        }
        if has_twins(&self.concurrency) {
            faults.push("Name each concurrency once.".to_owned());
        }
        faults.extend(self.thresholds.iter().flat_map(PlanThreshold::faults));
        all
    }

    /// Returns what can't be measured together: `planFaults` of packages/core/src/benchmark/plan.ts.
    fn combination_faults(&self) -> Vec<String> {
        use BenchmarkProtocol::{Grpc, Http1, Http1Cleartext};
        use BenchmarkScenario as Scenario;
        let Self { scenario, .. } = *self;
        let needs_app = needs_app(scenario);
        let needs_lab = matches!(
            scenario,
            Scenario::SlowUpstream | Scenario::GreedyClient | Scenario::Latency | Scenario::PacketLoss
        );
        let is_closed =
            matches!(scenario, Scenario::Matrix | Scenario::Latency | Scenario::PacketLoss | Scenario::Wake);
        let is_event = scenario != Scenario::Matrix;
        let is_latency = scenario == Scenario::Latency;
        let is_wake = scenario == Scenario::Wake;
        let is_http1 = self.protocols.iter().all(|protocol| matches!(protocol, Http1 | Http1Cleartext));
        let is_grpc = self.protocols.contains(&Grpc);
        let is_fresh = self.connection == PlanConnection::Fresh;
        let has_rate = self.requests_per_second.is_some();
        let is_live = self.upstream == PlanUpstream::Live;
        let is_peer = |target: &BenchmarkTarget| !matches!(target, BenchmarkTarget::Proxy | BenchmarkTarget::Direct);
        let clients = self.concurrency.iter().copied().max().unwrap_or(0);
        let waiting = u64::from(clients) * u64::from(self.lab_app.response_bytes);
        let has_app_server = self.lab_app.server != LabServer::Own;
        let copies_release = self.copies_release();
        let rows = self.rows();
        let too_many_rows =
            format!("The plan has {rows} rows, and a run has at most {ROWS_MAX}. Choose fewer combinations.");
        let before = [
            (rows == 0 && !is_grpc, "Apps speak HTTP/1.1: measure HTTP/2 through the proxy, or choose HTTP/1.1."),
            (rows > ROWS_MAX, &too_many_rows),
        ];
        let rules = [
            (self.load_ms() > LOAD_MS_MAX, "The stages of all rows take longer than 4 hours."),
            (
                is_live && self.targets.iter().any(is_peer),
                "Other proxies run in the lab only. Choose the upstream Lab, or the targets Fairlead and Direct.",
            ),
            (is_live && self.protocols.contains(&Http1Cleartext), "HTTP without TLS is measured in the lab only."),
            (
                is_live && clients > LIVE_CONCURRENCY_MAX,
                "An app is measured with at most 1024 clients. Choose the lab for more.",
            ),
            (is_live && needs_lab, "This scenario runs in the lab only."),
            (!is_live && needs_app, "This scenario needs an app: it does not run in the lab."),
            (
                !is_live && has_app_server && (is_event || self.lab_app.error_every > 0),
                "An app server other than the lab’s own runs the matrix only, without errors.",
            ),
            (
                copies_release && self.lab_app.response_delay_ms > 0,
                "A copy of the release has no response delay of its own: set it to 0.",
            ),
            (
                copies_release && clients > LIVE_CONCURRENCY_MAX,
                "A copy of the release is measured with at most 1024 clients.",
            ),
            (
                !is_live && !copies_release && self.path != "/",
                "The lab measures the path /. Add requests for other ones.",
            ),
            (
                !is_live && waiting > LAB_BYTES_MAX,
                "All clients together wait for more than 256 MiB. Choose fewer clients or smaller responses.",
            ),
            (
                needs_app && self.targets.iter().any(|target| *target != BenchmarkTarget::Proxy),
                "This scenario measures the app through the proxy only.",
            ),
            (is_latency && !is_http1, "Latency probes are measured over HTTP/1.1."),
            (is_latency && has_rate, "Latency probes have no rate of requests."),
            (is_latency && clients > PROBE_CONCURRENCY_MAX, "Latency probes have at most 64 clients."),
            (!is_closed && !has_rate, "This scenario needs requests per second."),
            (is_event && is_fresh, "This scenario is measured over reused connections."),
            (is_wake && has_rate, "Each client sends one request when the app sleeps."),
            (is_wake && !is_http1, "A wake is measured over HTTP/1.1 only."),
            (
                scenario == Scenario::PacketLoss && self.link.is_unimpaired(),
                "A link without loss and delay is no scenario. Choose one of them.",
            ),
            (is_fresh && !is_http1, "Fresh connections are measured over HTTP/1.1 only."),
            (is_fresh && has_rate, "Fresh connections are measured in a closed loop only."),
        ];
        let load = self.load.faults(&self.path, scenario, has_rate);
        let grpc = if is_grpc { self.grpc_faults() } else { Vec::new() };
        let all = before.into_iter().chain(load).chain(rules).chain(grpc);
        all.filter(|(is_fault, _)| *is_fault).map(|(_, message)| message.to_owned()).collect()
    }

    /// Returns what can't be measured over gRPC: `grpcFaults` of packages/core/src/benchmark/plan.ts.
    fn grpc_faults(&self) -> Vec<(bool, &'static str)> {
        let speaks = |target: &BenchmarkTarget| target.speaks(BenchmarkProtocol::Grpc);
        let is_lab = self.upstream == PlanUpstream::Lab;
        // The lab's app answers at the path / too.
        let has_methods = self.load.has_grpc_methods(Some(self.path.as_str()).filter(|_| !is_lab));
        vec![
            (self.protocols.len() > 1, "gRPC is measured by itself: choose no other protocol."),
            (
                !self.targets.iter().all(speaks),
                "h2o, kamal-proxy and Spooky can’t be measured over gRPC: leave them out.",
            ),
            (is_lab && self.lab_app.server != LabServer::Own, "Only the lab’s own app speaks gRPC."),
            (!has_methods, "A gRPC path names a service and a method, such as /shop.Cart/Get."),
            (!self.load.is_posted(), "gRPC calls are POST requests."),
            (!self.load.has_grpc_messages(), "The message of a gRPC call is in base64."),
        ]
    }

    fn rows(&self) -> usize {
        let speaks = |target: &BenchmarkTarget| self.protocols.iter().filter(|it| target.speaks(**it)).count();
        let pairs: usize = self.targets.iter().map(speaks).sum();
        pairs * self.parts() * self.concurrency.len() * self.repeats as usize
    }

    /// Rows of each combination: stages, or the phases and probes of the scenario.
    fn parts(&self) -> usize {
        match self.load.stages.len() {
            0 => self.scenario.phases().len() * self.scenario.probes().len(),
            stages => stages,
        }
    }

    /// Warm-up and measured time of all rows.
    fn load_ms(&self) -> u64 {
        let rows = self.rows() as u64;
        let stages = &self.load.stages;
        let measured_ms = if stages.is_empty() {
            rows * u64::from(self.duration_ms)
        } else {
            let stages_ms: u64 = stages.iter().map(|stage| u64::from(stage.duration_ms)).sum();
            rows / stages.len() as u64 * stages_ms
        };
        rows * u64::from(self.warmup_ms) + measured_ms
    }
}

impl LinkSpec {
    fn bound_faults(&self, faults: &mut Vec<String>) {
        let steps = self.loss_percent / 0.0001;
        // Same tolerance as the control plane's schema: quotients of decimal fractions are rarely whole.
        let is_multiple = (steps - steps.round()).abs() < 4.0 * f64::EPSILON * steps.abs().max(1.0);
        if !(0.0..=50.0).contains(&self.loss_percent) || !is_multiple {
            faults.push("A loss is from 0 to 50 %, in steps of 0.0001 %.".to_owned());
        }
        within(faults, "link.delayMs", self.delay_ms as usize, 0, 1000);
    }

    fn is_unimpaired(&self) -> bool {
        self.loss_percent == 0.0 && self.delay_ms == 0
    }
}

/// Returns whether a scenario acts on an app behind its server's proxy, which needs a control plane.
fn needs_app(scenario: BenchmarkScenario) -> bool {
    use BenchmarkScenario as Scenario;
    matches!(scenario, Scenario::Deploy | Scenario::RouteChange | Scenario::ProxyUpgrade | Scenario::Wake)
}

/// Control and format characters, such as bidirectional overrides, that make one name look like another.
static INVISIBLE: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the pattern is a constant")]
    Regex::new(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]").expect("a valid pattern")
});

/// Adds a fault if a number is outside its bounds.
pub(crate) fn within(faults: &mut Vec<String>, field: &str, value: usize, min: usize, max: usize) {
    if !(min..=max).contains(&value) {
        faults.push(format!("`{field}` is {value}, and it must be from {min} to {max}."));
    }
}

pub(crate) fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| matches!(byte, 0x21..=0x7e))
}

fn is_host(host: &str) -> bool {
    host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Length as JavaScript counts it.
pub(crate) fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}

fn has_twins<T: PartialEq>(values: &[T]) -> bool {
    values.iter().enumerate().any(|(at, value)| values.iter().take(at).any(|other| other == value))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde::Deserialize;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::plan_document::{DocumentError, with_integers};

    #[derive(Deserialize)]
    struct DocumentCase {
        name: String,
        document: Value,
        valid: bool,
        /// Sentence of a rule that the document breaks.
        #[serde(default)]
        fault: Option<String>,
    }

    fn read(path: &str) -> Value {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path);
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    }

    fn parse(document: &Value) -> Result<PlanDocument, DocumentError> {
        PlanDocument::parse(&document.to_string())
    }

    #[test]
    fn documents_are_valid_as_in_the_control_plane() {
        let cases: Vec<DocumentCase> =
            serde_json::from_value(read("packages/contract/fixtures/plan-documents.json")).unwrap();
        assert!(cases.iter().filter(|case| case.valid).count() > 5 && cases.iter().any(|case| !case.valid));
        for DocumentCase { name, document, valid, fault } in cases {
            let parsed = parse(&document);
            assert_eq!(parsed.is_ok(), valid, "{name}: {parsed:?}");
            if let (Some(fault), Err(error)) = (fault, parsed) {
                assert_eq!(error.to_string(), fault, "{name}");
            }
        }
    }

    /// Plan with one field set; the rest is as small as the rules of combinations ask for.
    fn with(path: &[&str], value: Value) -> Value {
        let mut plan = json!({ "targets": ["proxy"], "protocols": ["http1"], "concurrency": [1], "repeats": 1 });
        let mut at = plan.as_object_mut().unwrap();
        let (last, parents) = path.split_last().unwrap();
        for parent in parents {
            at = at.entry(*parent).or_insert_with(|| Value::Object(Map::new())).as_object_mut().unwrap();
        }
        at.insert((*last).to_owned(), value);
        json!({ "format": FORMAT, "name": "Nightly", "plan": plan })
    }

    /// Checks every bound and word of the published schema, so that a change there is noticed here.
    fn check(path: &[&str], schema: &Value) -> usize {
        let field = path.join(".");
        let schema = schema.get("anyOf").and_then(|any| any.get(0)).unwrap_or(schema);
        let mut checked = 0;
        let mut expect = |value: Value, is_valid: bool| {
            let parsed = parse(&with(path, value.clone()));
            assert_eq!(parsed.is_ok(), is_valid, "{field} = {value}: {parsed:?}");
            checked += 1;
        };
        let is_list = schema["type"] == "array";
        let values = if is_list { &schema["items"] } else { schema };
        let wrap = |value: Value| if is_list { json!([value]) } else { value };
        if let Some(max) = values["maximum"].as_u64() {
            expect(wrap(json!(max + 1)), false);
            // Live plans have fewer clients.
            if field != "concurrency" {
                expect(wrap(json!(max)), true);
            }
        }
        if let Some(min) = values["minimum"].as_u64() {
            expect(wrap(json!(min)), true);
            if min > 0 {
                expect(wrap(json!(min - 1)), false);
            }
        }
        if let Some(max) = values["maxLength"].as_u64() {
            let first = if field == "host" { "x" } else { "/" };
            expect(json!(format!("{first}{}", "x".repeat(max as usize - 1))), true);
            expect(json!(format!("{first}{}", "x".repeat(max as usize))), false);
        }
        if is_list && values["type"] != "object" {
            expect(json!([]), false);
        }
        for word in values["enum"].as_array().into_iter().flatten() {
            let error = parse(&with(path, wrap(word.clone()))).err().map(|error| error.to_string());
            let is_known = error.is_none_or(|error| !error.contains("unknown"));
            assert!(is_known, "{field} knows no {word}");
            checked += 1;
        }
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            checked += check(&[path, &[name.as_str()]].concat(), inner);
        }
        checked
    }

    #[test]
    fn the_published_schema_has_the_fields_bounds_and_defaults_of_the_document() {
        let schema = read("docs/benchmarks/plan.schema.json");
        let properties = schema["properties"]["plan"]["properties"].as_object().unwrap();
        let defaults = with_integers(serde_json::to_value(PlanSpec::default()).unwrap());
        let mut checked = 0;
        for (name, field) in properties {
            if name != "host" {
                assert_eq!(field["default"], defaults[name], "default of `{name}`");
            }
            checked += check(&[name], field);
        }
        for name in defaults.as_object().unwrap().keys() {
            assert!(properties.contains_key(name), "`{name}` is in no published schema");
        }
        assert!(checked > 50, "{checked}");
    }

    #[test]
    fn a_host_can_not_add_lines_to_a_request() {
        for host in ["a.test\r\nX-A: b", "a.test\n", "a.test:80", "ä.test", "a b", "\0"] {
            let error = parse(&with(&["host"], json!(host))).unwrap_err();
            assert_eq!(error.to_string(), "A host has letters, digits, dots and hyphens.", "{host:?}");
        }
        for host in ["", "xn--4ca.A-1.test"] {
            assert!(parse(&with(&["host"], json!(host))).is_ok(), "{host:?}");
        }
    }
}
