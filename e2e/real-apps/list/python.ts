// Apps in Python.
import type { LivingApp } from '../real-app.ts';

export const PYTHON: readonly LivingApp[] = [
  {
    repository: 'render-examples/flask-hello-world',
    commit: 'facfc73c44b35d00bb1f72e8986f0ea47cab0755',
    first: { path: '/', contains: 'Hello, World!' },
    second: [{ path: '/no-such-page', status: 404, contains: 'Not Found' }],
  },
  {
    repository: 'railwayapp-templates/flask',
    commit: '4c195389954ae2ee27f0c1b249a11e91e5a4e398',
    first: { path: '/', contains: 'Choo Choo' },
    second: [{ path: '/no-such-page', status: 404, contains: 'Not Found' }],
  },
  {
    repository: 'digitalocean/sample-flask',
    commit: '7d0906df0e7189c96cfc7f5fabc4d47bbacf5617',
    first: { path: '/', contains: 'Your New Flask App' },
    second: [{ path: '/no-such-page', status: 404, contains: 'Not Found' }],
  },
  {
    repository: 'Azure-Samples/msdocs-python-flask-webapp-quickstart',
    commit: '5bfb67bffda1a5083e33fec45861de6b55f74e57',
    first: { path: '/', contains: 'Welcome to Azure' },
    second: [
      {
        path: '/hello',
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'name=Ada',
        contains: 'Hello Ada',
      },
      { path: '/static/bootstrap/css/bootstrap.min.css', contentType: 'text/css' },
    ],
  },
  {
    repository: 'render-examples/fastapi',
    commit: 'f829276c68503f7afae195c3e3f778f085242cb0',
    first: { path: '/', contains: 'Hello World' },
    second: [{ path: '/items/5?q=rope', contains: '"q":"rope"' }],
  },
  {
    repository: 'render-examples/fastapi-uv',
    commit: '557ac479b6f9cb680d3803d3372fe321327f8fa9',
    first: { path: '/', contains: 'Hello World' },
    second: [{ path: '/?name=Ada', contains: 'Hello Ada' }],
  },
  {
    repository: 'fastapi/full-stack-fastapi-template',
    commit: '68adb40d37425f6f8668ec7e5a054500d045e43e',
    rootFolder: 'backend',
    first: { path: '/api/v1/utils/health-check/', contains: 'true' },
    second: [{ path: '/api/v1/openapi.json', contentType: 'application/json' }],
  },
  {
    repository: 'heroku/python-getting-started',
    commit: 'f7c8d9929a782e90bc0bb9320f2cb43a3d62958d',
    first: { path: '/', contains: 'Getting Started with Python on Heroku' },
    second: [{ path: /\/static\/lang-logo[\w.]*\.png/, contentType: 'image/png' }],
  },
  {
    repository: 'streamlit/streamlit-example',
    commit: '8bd2197e4ba68dd68127a264dc6708f0a96f23c8',
    first: { path: '/', contains: 'Streamlit' },
    second: [{ path: '/_stcore/health', contains: 'ok' }],
  },
];
