use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use fairlead_base::Folders;

use super::*;

struct Bench {
    dir: tempfile::TempDir,
    requests: mpsc::UnboundedSender<InspectRequest>,
    answers: mpsc::Receiver<agent::Inspection>,
    task: tokio::task::JoinHandle<()>,
}

fn bench() -> Bench {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o711)).unwrap();
    let folders = Folders::new(dir.path()).unwrap();
    folders.create().unwrap();
    let options = BuildOptions {
        builds: folders.builds(),
        artifacts: folders.artifacts(),
        caches: folders.caches(),
        trash: fairlead_base::Trash::new(&folders),
        user: None,
        program: std::env::current_exe().unwrap(),
        path: std::env::var_os("PATH").unwrap(),
        environment: BTreeMap::new(),
        limits: fairlead_build::usual_limits(0),
        cgroups: fairlead_base::cgroup::Cgroups::off("a test"),
        network: None,
        toolchains: None,
        engine: None,
        image_owner: String::new(),
        store: None,
        sealing: None,
        redactor: None,
    };
    let identities = Arc::new(Identities::open(&folders).unwrap());
    let (answers_end, answers) = mpsc::channel(OPEN_MAX + 1);
    let (_, cleared) = cleared_after(std::future::ready(()));
    let (requests, inbox) = mpsc::unbounded_channel();
    let task = tokio::spawn(Inspections::new(options, identities, answers_end, cleared).run(inbox));
    Bench { dir, requests, answers, task }
}

impl Bench {
    fn ask(&self, id: &str, repository_url: &str) {
        let source =
            agent::BuildSpec { repository_url: repository_url.into(), timeout_ms: 60_000, ..Default::default() };
        let query = agent::InspectQuery { query_id: id.into(), source: Some(Box::new(source)) };
        self.requests.send(InspectRequest::Query(Box::new(query))).unwrap();
    }

    async fn failure(&mut self) -> (String, String) {
        let answer = self.answers.recv().await.unwrap();
        assert!(answer.plan.is_none());
        (answer.query_id, answer.failure.unwrap().code)
    }

    /// Closes the channel as the link does, and checks that no folder is left.
    async fn end(self) {
        drop(self.requests);
        self.task.await.unwrap();
        assert_eq!(std::fs::read_dir(self.dir.path().join("builds")).unwrap().count(), 0);
    }
}

/// Address of a host that accepts connections and never answers.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x.git", listener.local_addr().unwrap());
    (listener, url)
}

#[tokio::test]
async fn each_query_is_answered_once_also_an_invalid_one() {
    let mut bench = bench();
    bench.ask("q1", "http://127.0.0.1:1/nothing.git");
    assert_eq!(bench.failure().await, ("q1".into(), "build.clone_failed".into()));
    bench.ask("q2", "file:///etc");
    assert_eq!(bench.failure().await, ("q2".into(), "inspect.source_invalid".into()));
    bench.end().await;
}

#[tokio::test]
async fn queries_beyond_the_queue_are_refused_and_cancelled_ones_make_room() {
    let mut bench = bench();
    let (_listener, url) = silent();
    for number in 0..OPEN_MAX {
        bench.ask(&format!("q{number}"), &url);
    }
    bench.ask("last", &url);
    assert_eq!(bench.failure().await, ("last".into(), "inspect.busy".into()));
    bench.requests.send(InspectRequest::Cancel("q0".into())).unwrap();
    bench.requests.send(InspectRequest::CancelAll).unwrap();
    bench.end().await;
}

#[test]
fn repository_texts_are_clipped_and_folders_are_relative_to_its_root() {
    let long = "é".repeat(TEXT_BYTES_MAX);
    let plan = Plan { sentences: vec![long; LIST_MAX + 1], ..Plan::default() };
    let message = plan_message(&plan);
    assert_eq!(message.sentences.len(), LIST_MAX);
    assert!(message.sentences[0].len() <= TEXT_BYTES_MAX + '…'.len_utf8());
    let commit = Commit {
        hash: String::new(),
        subject: String::new(),
        author: String::new(),
        committed_unix_ms: 0,
        branch: String::new(),
    };
    let error = InspectError::InFolders { sentence: "x".into(), folders: vec!["web".into()] };
    assert_eq!(without_plan(commit, &error, "apps").app_folders, ["apps/web"]);
}

fn plan_message(plan: &Plan) -> agent::BuildPlan {
    super::plan(&BuildMethod::Native(Box::new(plan.clone())))
}
