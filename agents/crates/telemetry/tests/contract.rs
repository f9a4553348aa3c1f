//! Tests the histogram against the vectors of TypeScript: packages/contract/fixtures/histogram.json.
#![cfg(test)]

use fairlead_telemetry::{Histogram, bucket_index, bucket_lower_us, bucket_upper_us};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vectors {
    buckets: Vec<Bucket>,
    recorded: Recorded,
}

#[derive(Deserialize)]
struct Recorded {
    values: Vec<u64>,
    quantiles: Vec<Quantile>,
}

#[derive(Deserialize)]
struct Quantile {
    q: f64,
    us: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bucket {
    us: u64,
    index: u32,
    lower_us: u64,
    upper_us: u64,
}

fn vectors() -> Vectors {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/contract/fixtures/histogram.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn buckets_have_the_contracts_indexes_and_bounds() {
    for bucket in vectors().buckets {
        assert_eq!(bucket_index(bucket.us), bucket.index, "{} µs", bucket.us);
        assert_eq!(bucket_lower_us(bucket.index), bucket.lower_us);
        assert_eq!(bucket_upper_us(bucket.index), bucket.upper_us);
    }
}

#[test]
fn quantiles_are_the_contracts() {
    let recorded = vectors().recorded;
    let mut histogram = Histogram::new();
    recorded.values.iter().for_each(|value| histogram.record(*value));
    for quantile in recorded.quantiles {
        assert_eq!(histogram.quantile_us(quantile.q), Some(quantile.us), "q {}", quantile.q);
    }
}
