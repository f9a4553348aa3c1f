// Tools of tests. Nothing of the product may import this package outside of tests.
export { createFakeAgent, type FakeAgent, type FakeAgentOptions, type OpenFakeLink } from './fake-agent.ts';
export { type FakeLink, type FakeLinkOptions, LinkEnded } from './fake-link.ts';
