export { appTraffic } from './app-traffic.ts';
export { hashPassword } from './hash-password.ts';
export { withNoindex } from './noindex.ts';
export { isPlainProxy, proxySettings } from './proxy-settings.ts';
export { routePolicy } from './route-policy.ts';
export * from './schema.ts';
