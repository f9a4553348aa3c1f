//! Workload for counting the instructions of the hot path: parse a request, find its route, encode both heads. Run it
//! as `instructions ROUTES REQUESTS KIND` (KIND: `small` or `browser`) under valgrind, which counts `one_request`
//! (e2e/perf/instructions.ts).

use std::hint::black_box;
use std::mem::MaybeUninit;

use fairlead_route::{
    Client, DownstreamBody, HttpVersion, RequestEdit, RequestFacts, RequestIds, RequestLine, RequestTarget,
    ResponseFacts, RouteMatch, RouteTable, encode_request, encode_response,
};
use httparse::{Header, ParserConfig, Request, Response};

type Fault = Box<dyn std::error::Error + Send + Sync>;

const HOST: &str = "bench.localhost";
const SMALL: &str = "GET / HTTP/1.1\r\nHost: bench.localhost:4443\r\n\r\n";
const BROWSER: &str = "GET /orders/4711?tab=history HTTP/1.1\r\nHost: bench.localhost\r\nConnection: keep-alive\r\n\
    sec-ch-ua: \"Chromium\";v=\"140\", \"Not=A?Brand\";v=\"24\"\r\nsec-ch-ua-mobile: ?0\r\nsec-ch-ua-platform: \"Linux\"\r\n\
    Upgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
    Chrome/140.0.0.0 Safari/537.36\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8\r\n\
    Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\n\
    Referer: https://bench.localhost/orders\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB,en;q=0.9\r\n\
    Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n\r\n";
const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\n";

/// State of a proxy core that the workload needs.
struct Core {
    table: RouteTable<u32>,
    ids: RequestIds,
    client: Client,
    out: Vec<u8>,
}

fn main() -> Result<(), Fault> {
    let usage = "usage: instructions ROUTES REQUESTS small|browser";
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or(usage);
    let (routes, requests): (u32, u32) = (next()?.parse()?, next()?.parse()?);
    let request = match next()?.as_str() {
        "small" => SMALL,
        "browser" => BROWSER,
        _ => return Err(usage.into()),
    };
    let others: Vec<String> = (1..routes).map(|number| format!("other-{number}.localhost")).collect();
    let hosts = others.iter().map(String::as_str).chain([HOST]);
    let mut core = Core {
        table: RouteTable::build(hosts.zip(0u32..).map(|(host, target)| (host, "/", target)))?,
        ids: RequestIds::new(),
        client: Client::new("192.0.2.7".parse()?, true),
        out: Vec::with_capacity(4096),
    };
    let mut bytes = 0;
    for _ in 0..requests {
        bytes += one_request(&mut core, black_box(request.as_bytes()), black_box(ANSWER.as_bytes()))?;
    }
    println!("{bytes} bytes written");
    Ok(())
}

/// Measured function; returns the number of written bytes.
#[inline(never)]
fn one_request(core: &mut Core, request: &[u8], answer: &[u8]) -> Result<usize, Fault> {
    let mut slots = [const { MaybeUninit::<Header<'_>>::uninit() }; 100];
    let mut head = Request::new(&mut []);
    ParserConfig::default().parse_request_with_uninit_headers(&mut head, request, &mut slots)?;
    let (Some(method), Some(path)) = (head.method, head.path) else { return Err("no request line".into()) };
    let line = RequestLine {
        method: method.as_bytes(),
        target: RequestTarget::parse(method.as_bytes(), path.as_bytes())?,
        version: HttpVersion::Http11,
        authority: None,
        unsized_body: false,
    };
    let facts = RequestFacts::gather(&line, fields(head.headers))?;
    let folded = facts.authority.name();
    let name = facts.authority.plain_name().unwrap_or(folded.as_bytes());
    let RouteMatch::Found(_) = core.table.find(name, line.target.path()) else { return Err("no route".into()) };
    core.out.clear();
    let edit = RequestEdit::default();
    encode_request(&line, &facts, || fields(head.headers), &core.client, &core.ids.next(), &edit, &mut core.out);
    let sent_on = core.out.len();

    let mut slots = [const { MaybeUninit::<Header<'_>>::uninit() }; 100];
    let mut head = Response::new(&mut []);
    ParserConfig::default().parse_response_with_uninit_headers(&mut head, answer, &mut slots)?;
    let facts = ResponseFacts::gather(200, true, false, fields(head.headers))?;
    core.out.clear();
    let headers = fields(head.headers).filter(|(name, _)| facts.forwards(name));
    encode_response(200, b"OK", &facts, headers, DownstreamBody::Length(13), None, &mut core.out);
    Ok(sent_on + black_box(&core.out).len())
}

fn fields<'h, 'b>(headers: &'h [Header<'b>]) -> impl Iterator<Item = (&'b [u8], &'b [u8])> + use<'h, 'b> {
    headers.iter().map(|header| (header.name.as_bytes(), header.value.trim_ascii()))
}
