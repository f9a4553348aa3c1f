// Least and greatest values of numbers in traffic policy: of a route, an app and the proxy of a server.
// Invariant: the agent has the same bounds, because it refuses its whole state for one value outside of them. A test in
// agents/crates/model/src/traffic/tests.rs reads these lines.

export const trafficBounds = {
  'route.limits.client_requests_per_second': [0, 1_000_000],
  'route.limits.client_burst': [0, 1_000_000],
  'route.limits.client_in_flight': [0, 1_000_000],
  'route.limits.requests_per_second': [0, 1_000_000],
  'route.limits.burst': [0, 1_000_000],
  'route.limits.in_flight': [0, 1_000_000],
  'route.maintenance.retry_after_seconds': [0, 86_400],
  'route.request_body_bytes_max': [0, 1_125_899_906_842_624],
  'route.forward_auth.timeout_ms': [1, 60_000],
  'route.forward_auth.cache_seconds': [0, 300],
  'app.slow_start_ms': [0, 3_600_000],
  'app.connections_per_instance': [0, 10_000],
  'app.in_flight_per_instance': [0, 1_000_000],
  'app.in_flight_per_app': [0, 1_000_000],
  'app.queue_length_max': [0, 100_000],
  'app.queue_timeout_ms': [1, 3_600_000],
  'app.response_timeout_ms': [1, 86_400_000],
  'app.retry_budget_percent': [0, 100],
  'app.outlier_ejection.consecutive_failures': [0, 1_000_000],
  'app.outlier_ejection.ejection_time_ms': [100, 3_600_000],
  'app.outlier_ejection.ejected_percent_max': [0, 100],
  'app.health_check.healthy_threshold': [1, 100],
  'app.health_check.unhealthy_threshold': [1, 100],
  'proxy.connections_per_client': [0, 1_000_000],
  'proxy.access_log.sample_permille': [0, 1000],
  'proxy.access_log.file_bytes_max': [65_536, 17_179_869_184],
  'proxy.access_log.files_max': [1, 1000],
} as const satisfies Record<string, readonly [least: number, most: number]>;

export type TrafficBound = keyof typeof trafficBounds;
