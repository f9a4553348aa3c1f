// Words that a public configuration may contain: directives and values of our own configurations of proxies in
// agents/crates/lab/peers and e2e/perf/peers. Names of people, hosts and folders are not among them.
const TEXT = `
access access_log address admin alpn alpn_protocols always app apps auto_https backend backlog bench bind body
both burst by-thread certFile certificate-file certificate_chain certificates chain checkNewVersion
Ciphersuites circuit_breakers client client_body_temp_path client_burst client_in_flight client_max_body_size
client_requests_per_second cluster cluster_name clusters codec_type com common_tls_context compress
compression connect connect_timeout Connection connections_per_client cores crt curvePreferences curves daemon
default default_backend default_type defaults domains downstream_socket_config downstream_tls_context
DownstreamTlsContext ecdh_curves endpoint endpoints entryPoints envoy ERROR error error_log events extensions explicit_http_config
false fastcgi fastcgi_temp_path file file_system filename filter_chains filters forwardfor frontend global
googleapis grpc grpc_pass grpc_set_header gzip gzip_comp_level h1 h2 h2c h3 hdr header_up hello HOST Host host hosts http
http-keep-alive http-request
http-reuse http1-request-timeout http2 http2-idle-timeout http2_max_concurrent_streams http2_protocol_options
HTTP3 http3 http3_max_concurrent_streams http3_protocol_options http_connection_manager http_filters http_port
HttpConnectionManager HttpProtocolOptions https https_port id idleTimeout iif import in_flight instances keepalive
keepalive_idle_conns_per_host keepalive_requests keepalive_timeout key key-file keyFile lb_endpoints leaf
leaf-key level limits listen listeners load_assignment loadBalancer localhost location log match
max-connections max_concurrent_streams max_connections max_pending_requests max_requests maxconn
maxIdleConnsPerHost metrics minimum-version minVersion mode multi_accept name nbthread network neverbleed
nginx node num-threads OFF off ON on option options path paths pem persist_config pid plain policy
pool-max-conn port port_value prefer_gro prefix preserve-host private_key proto protocol protocols providers proxy
proxy_http_version proxy_max_temp_file_size proxy_pass proxy_request_buffering proxy_set_header
proxy_temp_path queue_length_max queue_timeout_ms quic quic_gso quic_options QuicDownstreamTransport
readTimeout remote_addr req request request_id requests_per_second respondingTimeouts return reuseport reverse
reverse_proxy route route_config Router router routers routes rule run scgi scgi_temp_path scheme
sendAnonymousUsage serve_plain_http server server_name servers serversTransport serversTransports service
services set-header settings shards socket_address ssl ssl-default-bind-ciphersuites ssl-default-bind-curves
ssl-default-bind-options ssl-min-ver ssl_certificate ssl_certificate_key ssl_conf_command ssl_ecdh_curve
ssl_fc ssl_protocols ssl_session_tickets stat_prefix STATIC static_resources storage tcp_backlog_size
tcp_nodelay text thresholds timeout tls tls1 TLS_AES_128_GCM_SHA256 tls_certificates
tls_minimum_protocol_version tls_params TLSv1 TLSv1_3 traefik-routes traffic transport transport_socket
transport_sockets true type typed_config typed_extension_protocol_options UDP udp_listener_config unique-id-format unique-id-header upgrade
Upgrade upgrade_configs upgrade_type http_upgrade websocket use_backend interactive path_beg http-no-delay probe upstream
upstream_protocol upstreams url use_remote_address uuid uwsgi uwsgi_temp_path v3 versions VersionTLS13 virtual_hosts watch web
worker_connections worker_processes worker_rlimit_nofile world X-Forwarded-For X-Forwarded-Host
X-Forwarded-Proto X-Request-ID X25519 x25519 yaml
adaptive_admission backend_body_idle_timeout_ms backend_body_total_timeout_ms backend_timeout_ms
backend_total_request_timeout_ms backends brownout cert default_cap deploy enabled global_cap
global_inflight_limit h2_pool_max_idle_per_backend health-check-path http-port https-port kamal-proxy
new_connections_burst new_connections_per_sec path_prefix per_backend_inflight_limit per_upstream_inflight_limit
performance privileges resilience route_queue security target tls-certificate-path tls-private-key-path
tls-redirect version worker_threads client_body_idle_timeout_ms control_plane_threads quic_max_idle_timeout_ms
control_api auth_token observability required
autocert cert_path disable healthcheck include key_path local provider yml
`;

export const publicWords: ReadonlySet<string> = new Set(TEXT.trim().split(/\s+/));
