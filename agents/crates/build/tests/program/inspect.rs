//! The agent's `inspect` subcommand for the integration tests. A file `behaviour` of a source says what goes wrong.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, inspect, option, request, source] = arguments.as_slice() else { return ExitCode::FAILURE };
    if inspect != "inspect" || option != "--request" {
        return ExitCode::FAILURE;
    }
    match std::fs::read_to_string("behaviour").unwrap_or_default().as_str() {
        "crash" => std::process::abort(),
        "fail" => return ExitCode::from(3),
        "garbage" => println!("no plan at all"),
        "flood" => loop {
            if std::io::stdout().write_all(&[b' '; 4096]).is_err() {
                return ExitCode::FAILURE;
            }
        },
        "large" => println!("{}", " ".repeat(2 << 20)),
        "stall" => loop {
            std::thread::park();
        },
        "allocate" => {
            let mut kept = Vec::new();
            loop {
                kept.push(vec![1_u8; 16 << 20]);
                std::hint::black_box(&kept);
            }
        }
        "network" => {
            let devices = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
            eprintln!("{} devices", devices.lines().count().saturating_sub(2));
            return ExitCode::from(4);
        }
        _ => {
            let answer = serde_json::from_str(request)
                .and_then(|request: fairlead_inspect::OwnedPlanRequest| request.answer(source.into()));
            match answer {
                Ok(answer) => print!("{answer}"),
                Err(error) => {
                    eprintln!("{error}");
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    ExitCode::SUCCESS
}
