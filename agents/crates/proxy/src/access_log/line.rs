//! Formats a record as one line: a JSON object or the "combined" format. Invariant: a record is always one line,
//! whatever bytes a client sent.

use std::io::Write;

use fairlead_model::LogFormat;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::AccessLogRecord;

pub(super) fn append(record: &AccessLogRecord<'_>, format: LogFormat, out: &mut Vec<u8>) {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(record.unix_ms) * 1_000_000);
    let at = at.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let written = match format {
        LogFormat::Json => json(record, at, out),
        LogFormat::Combined => combined(record, at, out),
    };
    if let Err(error) = written {
        tracing::debug!(%error, "a line of the access log can't be made");
    }
    out.push(b'\n');
}

fn json(record: &AccessLogRecord<'_>, at: OffsetDateTime, out: &mut Vec<u8>) -> std::io::Result<()> {
    let at = at.format(&Rfc3339).map_err(std::io::Error::other)?;
    write!(out, "{{\"time\":\"{at}\",\"client\":\"{}\"", record.client)?;
    for (name, text) in [
        ("method", record.method),
        ("host", record.host),
        ("target", record.target),
        ("protocol", record.version),
        ("user_agent", record.user_agent),
        ("referer", record.referer),
        ("request_id", record.request_id),
        ("app", record.app),
        ("instance", record.instance),
    ] {
        if !text.is_empty() {
            write!(out, ",\"{name}\":")?;
            serde_json::to_writer(&mut *out, &String::from_utf8_lossy(text))?;
        }
    }
    write!(
        out,
        ",\"secure\":{},\"status\":{},\"bytes_received\":{},\"bytes_sent\":{},\"duration_ms\":{}.{:03}}}",
        record.secure,
        record.status,
        record.bytes_received,
        record.bytes_sent,
        record.duration_us / 1000,
        record.duration_us % 1000,
    )
}

fn combined(record: &AccessLogRecord<'_>, at: OffsetDateTime, out: &mut Vec<u8>) -> std::io::Result<()> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS[usize::from(u8::from(at.month())) - 1];
    let (day, year) = (at.day(), at.year());
    let (hour, minute, second) = at.time().as_hms();
    write!(out, "{} - - [{day:02}/{month}/{year}:{hour:02}:{minute:02}:{second:02} +0000] \"", record.client)?;
    for (text, end) in [(record.method, " "), (record.target, " "), (record.version, "\" ")] {
        escaped(text, out)?;
        out.extend_from_slice(end.as_bytes());
    }
    write!(out, "{} {}", record.status, record.bytes_sent)?;
    for text in [record.referer, record.user_agent] {
        out.extend_from_slice(b" \"");
        escaped(if text.is_empty() { b"-" } else { text }, out)?;
        out.push(b'"');
    }
    Ok(())
}

/// Escapes bytes that could end the quotes or the line, as Apache and nginx do.
fn escaped(text: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    for byte in text {
        match byte {
            b'"' | b'\\' | 0..=0x1f | 0x7f.. => write!(out, "\\x{byte:02X}")?,
            _ => out.push(*byte),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    fn line(format: LogFormat) -> String {
        let mut out = Vec::new();
        append(&record(), format, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_lines_are_json_whatever_a_client_sent() {
        let line = line(LogFormat::Json);
        assert_eq!(line.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["time"], "2026-11-20T12:00:00.123Z");
        assert_eq!(value["target"], "/a?b=\"c\"");
        assert_eq!(value["user_agent"], "curl/8 \\ \u{fffd}\n");
        assert_eq!((&value["status"], &value["duration_ms"]), (&200.into(), &1.5.into()));
        assert!(value.get("referer").is_none(), "what is not there is left out");
    }

    #[test]
    fn the_combined_format_is_what_log_readers_know() {
        assert_eq!(
            line(LogFormat::Combined),
            "192.0.2.7 - - [20/Nov/2026:12:00:00 +0000] \"GET /a?b=\\x22c\\x22 HTTP/1.1\" 200 1234 \"-\" \"curl/8 \\x5C \\xFF\\x0A\"\n"
        );
    }
}
