// Tools of tests. Nothing of the product may import this package outside of tests.
export { startDnsServer, type TestDnsRecord, type TestDnsServer } from './dns-server.ts';
export { createFakeAgent, type FakeAgent, type FakeAgentOptions, type OpenFakeLink } from './fake-agent.ts';
export { type FakeLink, type FakeLinkOptions, LinkEnded } from './fake-link.ts';
export { createFakeGithub, type FakeGithub } from './github/fake-github.ts';
export { exampleOf } from './github/openapi.ts';
export type { FakeRepository } from './github/state.ts';
export { signWebhook, webhookExample } from './github/webhook.ts';
