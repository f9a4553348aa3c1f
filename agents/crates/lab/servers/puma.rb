# Puma in the benchmark lab: a process per core with up to 32 threads each, which bound the requests that wait at once.
# Placeholders between at signs come from the lab.
workers @WORKERS@
threads 4, 32
bind "tcp://127.0.0.1:@APP_PORT@?backlog=4096"
persistent_timeout 75
log_requests false
silence_single_worker_warning
preload_app!

body = "x" * @RESPONSE_BYTES@
headers = { "content-type" => "text/plain", "content-length" => body.bytesize.to_s }
delay = @RESPONSE_DELAY_MS@ / 1000.0

app do |_env|
  sleep delay if delay.positive?
  [200, headers.dup, [body]]
end
