//! Serves log queries of the control plane from the app logs on this server's disk. Invariant: each query ends with its answer,
//! when it is cancelled, or with its connection.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairlead_base::{Folders, clock};
use fairlead_link::LogRequest;
use fairlead_model::{AppId, AppKey, EnvironmentId, LogStream};
use fairlead_runtime::{AppLogLine, LogFilter, LogFollower, tidy_app_logs};
use fairlead_wire::agent;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Maximum number of open queries; an open dashboard holds one.
const OPEN_MAX: usize = 8;
/// Maximum number of concurrent searches. Each occupies a blocking thread, and unpacking releases uses the same few threads.
const SEARCHES_MAX: usize = 2;
/// Maximum size of one message; far below the link's frame limit.
const CHUNK_BYTES_MAX: usize = 256 * 1024;
/// Poll interval of a follower, so that a person sees a line within half a second.
const FOLLOW_PAUSE: Duration = Duration::from_millis(400);
/// Interval at which app logs are compressed and old ones removed.
const TIDY_PAUSE: Duration = Duration::from_secs(60);

/// Serves log queries until the link ends.
pub(crate) struct AppLogs {
    folders: Folders,
    answers: mpsc::Sender<agent::LogLines>,
    open: HashMap<String, OpenQuery>,
    searches: Arc<Semaphore>,
}

struct OpenQuery {
    cancelled: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Drop for OpenQuery {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.task.abort();
    }
}

impl AppLogs {
    pub(crate) fn new(folders: Folders, answers: mpsc::Sender<agent::LogLines>) -> Self {
        Self { folders, answers, open: HashMap::new(), searches: Arc::new(Semaphore::new(SEARCHES_MAX)) }
    }

    /// Serves requests and tidies the logs between them.
    pub(crate) async fn run(mut self, mut requests: mpsc::UnboundedReceiver<LogRequest>) {
        let mut tidy = interval(TIDY_PAUSE);
        tidy.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                request = requests.recv() => match request {
                    Some(LogRequest::Query(query)) => self.open(*query),
                    Some(LogRequest::Cancel(id)) => drop(self.open.remove(&id)),
                    Some(LogRequest::CancelAll) => self.open.clear(),
                    None => return,
                },
                _ = tidy.tick() => self.tidy().await,
            }
        }
    }

    fn open(&mut self, query: agent::LogQuery) {
        self.open.retain(|_, open| !open.task.is_finished());
        let (id, answers) = (query.query_id.clone(), self.answers.clone());
        let cancelled = Arc::new(AtomicBool::new(false));
        let (busy, folders, flag) = (self.open.len() >= OPEN_MAX, self.folders.clone(), cancelled.clone());
        let searches = self.searches.clone();
        let task = tokio::spawn(async move {
            let outcome = if busy {
                Err(("log.busy", "This server is already searching its logs. Try again in a moment.".to_owned()))
            } else {
                answer(&folders, &query, &answers, flag, &searches).await
            };
            let failure = outcome.err().map(|(code, message)| agent::Failure { code: code.into(), message });
            if failure.is_some() {
                let end =
                    agent::LogLines { query_id: query.query_id, done: true, failure, ..agent::LogLines::default() };
                // An error means that the link has ended, so no client waits for the answer.
                answers.send(end).await.ok();
            }
        });
        // Dropping an open query of the same id cancels it.
        self.open.insert(id, OpenQuery { cancelled, task });
    }

    async fn tidy(&self) {
        let folders = self.folders.clone();
        let tidied = spawn_blocking(move || tidy_app_logs(&folders, clock::unix_ms())).await;
        if let Err(error) = tidied.unwrap_or_else(|error| Err(io::Error::other(error))) {
            tracing::warn!(%error, "the apps' logs can't be tidied");
        }
    }
}

type LogQueryError = (&'static str, String);

/// Sends the matching lines. Returns after the last one, or when the receiver is closed.
async fn answer(
    folders: &Folders,
    query: &agent::LogQuery,
    answers: &mpsc::Sender<agent::LogLines>,
    cancelled: Arc<AtomicBool>,
    searches: &Semaphore,
) -> Result<(), LogQueryError> {
    let filter = filter(query).map_err(|why| ("log.query_invalid", why))?;
    let unread = |error: io::Error| ("log.unreadable", format!("What the app wrote can't be read: {error}."));
    // The semaphore is never closed, and it is fair: every query gets its permit.
    let turn = searches.acquire().await;
    let (at, begun) = (folders.clone(), move |folders: &Folders| LogFollower::begin(folders, filter, &cancelled));
    let (mut follower, lines, more) = spawn_blocking(move || begun(&at))
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
        .map_err(unread)?;
    drop(turn);
    let mut chunks = chunks(query, lines);
    if let Some(first) = chunks.first_mut() {
        first.more = more;
    }
    if let Some(last) = chunks.last_mut() {
        last.done = !query.follow;
    }
    for chunk in chunks {
        if answers.send(chunk).await.is_err() {
            return Ok(());
        }
    }
    if !query.follow {
        return Ok(());
    }
    loop {
        sleep(FOLLOW_PAUSE).await;
        let at = folders.clone();
        let polled = spawn_blocking(move || follower.poll(&at).map(|lines| (follower, lines))).await;
        let (next, lines) = polled.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(unread)?;
        follower = next;
        if lines.is_empty() {
            continue;
        }
        for chunk in self::chunks(query, lines) {
            if answers.send(chunk).await.is_err() {
                return Ok(());
            }
        }
    }
}

fn filter(query: &agent::LogQuery) -> Result<LogFilter, String> {
    let key = AppKey {
        app: AppId::parse(&query.app_id).map_err(|error| error.to_string())?,
        environment: EnvironmentId::parse(&query.environment_id).map_err(|error| error.to_string())?,
    };
    let filter = LogFilter::new(key)
        .between(query.from_unix_ms, query.to_unix_ms)
        .newest(query.limit as usize)
        .matching(&query.text, query.regex)
        .and_then(|filter| filter.at_least(&query.level))
        .map_err(|error| error.to_string())?;
    Ok(filter.by(&query.process, &query.instance_id))
}

/// Splits lines into messages. Returns at least one message, which is empty if there are no lines.
fn chunks(query: &agent::LogQuery, lines: Vec<AppLogLine>) -> Vec<agent::LogLines> {
    let empty = || agent::LogLines { query_id: query.query_id.clone(), ..agent::LogLines::default() };
    let (mut chunks, mut bytes) = (vec![empty()], 0);
    for line in lines {
        if bytes > CHUNK_BYTES_MAX {
            chunks.push(empty());
            bytes = 0;
        }
        bytes += line.text.len() + 128;
        if let Some(chunk) = chunks.last_mut() {
            chunk.lines.push(message(line));
        }
    }
    chunks
}

fn message(line: AppLogLine) -> agent::AppLogLine {
    let stream = match line.stream {
        LogStream::System => agent::LogStream::System,
        LogStream::Stdout => agent::LogStream::Stdout,
        LogStream::Stderr => agent::LogStream::Stderr,
    };
    agent::AppLogLine {
        unix_ms: line.unix_ms,
        instance_id: line.instance,
        process: line.process,
        release_id: line.release,
        stream: stream.into(),
        level: line.level.map(|level| level.name().to_owned()).unwrap_or_default(),
        text: line.text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a log file as a shim does.
    fn written(folders: &Folders, instance: &str, text: &str) {
        let folder = folders.app_logs().join("app_a-env_p/web").join(format!("{instance}.rel_1"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir_all(folders.instances().join(instance)).unwrap();
        let path = folder.join("0000000001.log");
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(path, before + text).unwrap();
    }

    fn query(id: &str) -> agent::LogQuery {
        agent::LogQuery {
            query_id: id.into(),
            app_id: "app_a".into(),
            environment_id: "env_p".into(),
            ..agent::LogQuery::default()
        }
    }

    struct World {
        _dir: tempfile::TempDir,
        folders: Folders,
        requests: mpsc::UnboundedSender<LogRequest>,
        answers: mpsc::Receiver<agent::LogLines>,
    }

    fn world() -> World {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let (requests, inbox) = mpsc::unbounded_channel();
        let (sender, answers) = mpsc::channel(4);
        tokio::spawn(AppLogs::new(folders.clone(), sender).run(inbox));
        World { _dir: dir, folders, requests, answers }
    }

    impl World {
        fn ask(&self, query: agent::LogQuery) {
            self.requests.send(LogRequest::Query(Box::new(query))).unwrap();
        }

        async fn next(&mut self) -> agent::LogLines {
            tokio::time::timeout(Duration::from_secs(20), self.answers.recv()).await.unwrap().unwrap()
        }
    }

    fn texts(lines: &agent::LogLines) -> Vec<&str> {
        lines.lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[tokio::test]
    async fn a_log_query_returns_all_lines_and_an_invalid_one_an_error() {
        let mut world = world();
        written(&world.folders, "ins_1", "5 o hello\n6 e ERROR gone\n");
        world.ask(agent::LogQuery { level: "error".into(), ..query("q1") });
        let answer = world.next().await;
        assert_eq!((answer.query_id.as_str(), answer.done, answer.more), ("q1", true, false));
        assert_eq!(texts(&answer), ["ERROR gone"]);
        assert_eq!((answer.lines[0].level.as_str(), answer.lines[0].release_id.as_str()), ("error", "rel_1"));
        world.ask(agent::LogQuery { text: "(".into(), regex: true, ..query("q2") });
        let answer = world.next().await;
        assert!(answer.done && answer.failure.unwrap().code == "log.query_invalid");
        world.ask(agent::LogQuery { app_id: "../x".into(), ..query("q3") });
        assert_eq!(world.next().await.failure.unwrap().code, "log.query_invalid");
        let long = format!("7 o {}\n", "y".repeat(4000));
        written(&world.folders, "ins_2", &long.repeat(200));
        world.ask(query("q4"));
        let (first, mut count) = (world.next().await, 0);
        assert!(!first.done && first.lines.len() < 200);
        count += first.lines.len();
        loop {
            let next = world.next().await;
            count += next.lines.len();
            if next.done {
                break;
            }
        }
        assert_eq!(count, 202);
    }

    #[tokio::test]
    async fn a_follower_receives_new_lines_until_it_is_cancelled() {
        let mut world = world();
        written(&world.folders, "ins_1", "5 o before\n");
        world.ask(agent::LogQuery { follow: true, ..query("q1") });
        let first = world.next().await;
        assert_eq!((texts(&first), first.done), (vec!["before"], false));
        written(&world.folders, "ins_1", "6 o after\n");
        assert_eq!(texts(&world.next().await), ["after"]);
        world.requests.send(LogRequest::CancelAll).unwrap();
        written(&world.folders, "ins_1", "7 o unheard\n");
        // Requests are served in order: any remaining line of the first query would arrive before this answer.
        world.ask(agent::LogQuery { text: "before".into(), ..query("q2") });
        let next = world.next().await;
        assert_eq!((next.query_id.as_str(), texts(&next)), ("q2", vec!["before"]));
    }

    #[tokio::test]
    async fn log_queries_beyond_the_limit_are_refused() {
        let mut world = world();
        written(&world.folders, "ins_1", "5 o x\n");
        for number in 0..OPEN_MAX {
            world.ask(agent::LogQuery { follow: true, ..query(&format!("q{number}")) });
        }
        for _ in 0..OPEN_MAX {
            assert!(world.next().await.failure.is_none());
        }
        world.ask(query("last"));
        let answer = world.next().await;
        assert_eq!((answer.query_id.as_str(), answer.failure.unwrap().code.as_str()), ("last", "log.busy"));
    }
}
