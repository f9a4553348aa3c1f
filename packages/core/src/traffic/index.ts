// The door to what the proxy does to requests.
export { hashPassword } from './hash-password.ts';
export { routePolicy } from './route-policy.ts';
export * from './schema.ts';
