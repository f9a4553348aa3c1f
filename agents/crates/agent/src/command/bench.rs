//! `bench`: runs a plan document, or measures a campaign and prints each row as it is done, for people and for `e2e/perf`.

mod plan;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use fairlead_base::shutdown;
use fairlead_bench::{BenchError, Campaign, CampaignRow, run_campaign};

use super::{CommandResult, block_on};
use crate::cli::BenchArgs;

pub(crate) fn bench(args: BenchArgs) -> CommandResult {
    match (&args.file, &args.campaign) {
        (Some(file), _) => plan::bench_plan(file, &args),
        (None, Some(campaign)) => bench_campaign(campaign, args.json),
        (None, None) => Err("name a plan".into()),
    }
}

fn bench_campaign(file: &Path, json: bool) -> CommandResult {
    let named = |reason: String| format!("{}: {reason}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| named(error.to_string()))?;
    let campaign: Campaign = serde_json::from_str(&text).map_err(|error| named(error.to_string()))?;
    if !json {
        println!("{HEADINGS}");
    }
    block_on(measure(&campaign, if json { print_json } else { print_line }))??;
    Ok(ExitCode::SUCCESS)
}

async fn measure(campaign: &Campaign, print: fn(&CampaignRow) -> io::Result<()>) -> Result<(), BenchError> {
    let cancel = shutdown::on_signal().map_err(|error| BenchError::Generator(error.to_string()))?;
    let mut printed = Ok(());
    let measured = run_campaign(campaign, cancel.clone(), |row| {
        if let Err(error) = print(row) {
            // The output is closed: further measurements would only load the machine.
            printed = Err(error);
            cancel.cancel();
        }
    })
    .await;
    printed.map_err(|error| BenchError::Generator(format!("its rows can't be printed: {error}")))?;
    measured.map(drop)
}

fn print_json(row: &CampaignRow) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, row)?;
    writeln!(out)
}

const HEADINGS: &str = "contender             clients  round   requests/s    p50 ms    p99 ms    errors  CPU µs/req   memory MB  generator";

fn print_line(row: &CampaignRow) -> io::Result<()> {
    let milliseconds = |us: Option<u64>| us.map_or_else(|| "-".into(), |us| format!("{:.2}", us as f64 / 1000.0));
    writeln!(
        io::stdout().lock(),
        "{:<20}  {:>7}  {:>5}  {:>11.0}  {:>8}  {:>8}  {:>8}  {:>10}  {:>10.1}  {:>7.0} %{}",
        row.name,
        row.concurrency,
        row.round + 1,
        row.requests_per_second,
        milliseconds(row.p50_us),
        milliseconds(row.p99_us),
        row.errors,
        row.cpu_us_per_request.map_or_else(|| "-".into(), |us| format!("{us:.1}")),
        row.memory_bytes as f64 / 1e6,
        row.generator_cpu_share * 100.0,
        if row.generator_saturated { "  generator saturated" } else { "" },
    )
}
