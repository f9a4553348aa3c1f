//! Path rewrite over real sockets.

use fairlead_model::RoutePolicy;
use fairlead_wire::local::ProxyRoute;

use crate::encoded;
use crate::support::app::App;
use crate::support::client::{self, get};
use crate::support::{Proxy, quick, upstream};

#[tokio::test]
async fn the_app_gets_another_path_in_place_of_the_prefix_of_the_route() {
    let app = App::echo().await;
    let mut proxy = Proxy::bare(quick()).await;
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    snapshot.traffic_is_json = true;
    let policy = |to: &str| encoded(&RoutePolicy { rewrite_prefix: to.into(), ..RoutePolicy::default() });
    snapshot.routes[0].policy = policy("/site/");
    let api = ProxyRoute { path_prefix: "/api".into(), policy: policy("/v1"), ..snapshot.routes[0].clone() };
    snapshot.routes.push(api);
    proxy.apply(snapshot).await.unwrap();
    let mut client = client::tls(&proxy).await;
    for (path, at_app, prefix) in [
        ("/api/x?y", "GET /v1/x?y HTTP/1.1", Some("/api")),
        ("/api", "GET /v1 HTTP/1.1", Some("/api")),
        ("/apix", "GET /site/apix HTTP/1.1", None),
    ] {
        let response = client.ask(&get(path)).await;
        let head = response.text();
        assert_eq!(head.lines().next(), Some(at_app));
        assert_eq!(crate::support::app::header(head, "x-forwarded-prefix"), prefix);
    }
    // The app would resolve these to a path outside of the replacement.
    for path in ["/../internal/x", "/%2e%2e/internal/x", "/api/../v2", "/api/..;/v2"] {
        assert_eq!(client.ask(&get(path)).await.status, 400, "{path}");
    }
}
