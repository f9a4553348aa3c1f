// Settings of this process, read on first use, because `next build` must not need them.
import { readEnv, trustedOrigins, type WebEnv } from './env.ts';

let env: WebEnv | undefined;
let origins: string[] | undefined;

export function webEnv(): WebEnv {
  env ??= readEnv(process.env);
  return env;
}

export function ownOrigins(): string[] {
  origins ??= trustedOrigins(webEnv());
  return origins;
}
