// Apps in Go and Rust.
import type { LivingApp } from '../real-app.ts';

export const COMPILED: readonly LivingApp[] = [
  {
    repository: 'railwayapp-templates/gin',
    commit: '634dcb9a1947eaa6c0ac137599c71de54014c3a3',
    first: { path: '/', contains: 'Hello world!' },
    second: [{ path: '/no-such-page', status: 404, contains: '404 page not found' }],
  },
  {
    repository: 'railwayapp-templates/go-mux',
    commit: '2bab6781ceaa7474e0f96b355a04f0b20aa3114a',
    first: { path: '/', contains: 'Welcome to Gorilla Mux on Railway!' },
    second: [{ path: '/health' }],
  },
  {
    repository: 'digitalocean/sample-golang',
    commit: '1e058723dcf495309a63939d7ad0bb6a30532a33',
    first: { path: '/', contains: "Hello! you've requested /" },
    second: [{ path: '/status?code=201', status: 201 }],
  },
  {
    repository: 'render-examples/go-gin-web-server',
    commit: '1e659804e4f018166ffd70adc7581c171ee9c70f',
    first: { path: '/room/hn', contains: 'Server-Sent Events' },
    second: [{ path: '/static/realtime.js', contentType: 'text/javascript' }],
  },
  {
    repository: 'heroku/go-getting-started',
    commit: '3e3b414d3d269c6cdb7c46b5c2879c8f71ffa409',
    first: { path: '/', contains: 'Getting Started with Go on Heroku' },
    second: [{ path: '/static/lang-logo.png', contentType: 'image/png' }],
  },
  {
    repository: 'mccutchen/go-httpbin',
    commit: '697b6e3b326edfd8915a3b1c36c4a43f367ea3ac',
    first: { path: '/', contains: 'go-httpbin' },
    second: [
      { path: '/post', method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'rope', contains: 'rope' },
    ],
  },
  {
    repository: 'traefik/whoami',
    commit: '8951300b46f13ce678dbed8a692ef2ccecf0eec4',
    first: { path: '/', contains: 'Hostname:' },
    second: [{ path: '/api', contains: '"hostname"' }],
  },
  {
    repository: 'stefanprodan/podinfo',
    commit: 'eec06d1ea459af4cb4e10e806f8be7c7bd58b361',
    first: { path: '/', contains: 'podinfo' },
    second: [{ path: '/healthz', contains: 'OK' }],
  },
  {
    repository: 'gofiber/recipes',
    commit: '050ec920c7ea104a527a74cdb49a0fb6f252082d',
    rootFolder: 'hello-world',
    first: { path: '/', contains: 'Hello, World' },
    second: [{ path: '/no-such-page', status: 404 }],
  },
  {
    repository: 'labstack/echox',
    commit: 'f938a8c5e04e1fb17993c0b97b4aab418cfc7095',
    rootFolder: 'cookbook/hello-world',
    first: { path: '/', contains: 'Hello, World!' },
    second: [{ path: '/no-such-page', status: 404, contains: 'Not Found' }],
  },
  {
    repository: 'railwayapp-templates/monorepo-example',
    commit: 'e999b1fde8a50c44b1056cf77bce2c64d421cf65',
    rootFolder: 'backend',
    settings: { variables: { ALLOWED_ORIGINS: { value: 'https://example.com', scope: 'both' } } },
    first: { path: '/health' },
    second: [{ path: '/no-such-page', status: 404, contains: '404 page not found' }],
  },
  {
    repository: 'railwayapp-templates/rust-starter',
    commit: 'e05e82f1f2476be7562b801516e97a57a4839275',
    first: { path: '/', contains: 'Hello' },
    second: [{ path: '/complex' }],
  },
  {
    repository: 'railwayapp-templates/rocket',
    commit: '17a3a5b8716e0b8e98884c5c498e6bd6f84625b9',
    first: { path: '/', contains: 'Hello, from Rocket!' },
    second: [{ path: '/no-such-page', status: 404, contains: '404' }],
  },
  {
    repository: 'render-examples/rocket-rust-hello-world',
    commit: 'e230b997c771c64480afe3067cc7bb111d5616f3',
    first: { path: '/hello/world', contains: 'Hello, world!' },
    second: [{ path: '/wave/Ada/36', contains: '36 year old named Ada' }],
  },
  {
    repository: 'rwf2/Rocket',
    commit: '3a54d079aef060a8f732bd04ea54b0581a604087',
    rootFolder: 'examples/hello',
    first: { path: '/hello/world', contains: 'Hello, world!' },
    second: [{ path: '/wave/Ada/36', contains: '36 year old named Ada' }],
  },
  {
    repository: 'tokio-rs/axum',
    commit: '3d78036dcac289d6c1d54934708acb6a5bd73686',
    rootFolder: 'examples/hello-world',
    first: { path: '/', contains: 'Hello, World!' },
    second: [{ path: '/no-such-page', status: 404 }],
  },
  {
    repository: 'tokio-rs/axum',
    commit: '3d78036dcac289d6c1d54934708acb6a5bd73686',
    rootFolder: 'examples/todos',
    // Repeats the request after the write.
    first: { path: '/todos', contentType: 'application/json' },
    second: [
      {
        path: '/todos',
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"text":"rope"}',
        status: 201,
        contains: '"text":"rope"',
      },
      { path: '/todos', contains: '"text":"rope"' },
    ],
  },
  {
    repository: 'actix/examples',
    commit: 'afb8bfa56f6e12e29c4f0c3f9467cf92805f6202',
    rootFolder: 'basics/hello-world',
    first: { path: '/', contains: 'Hello world!' },
    second: [{ path: '/no-such-page', status: 404 }],
  },
];
