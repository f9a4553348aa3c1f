// Settings of this process, read on first use, because `next build` must not need them.
import type { DashboardAddresses } from '@fairlead/core/dashboard-domain';
import { readEnv, trustedOrigins, type WebEnv } from './env.ts';

let env: WebEnv | undefined;
let origins: string[] | undefined;

// Next loads this module once for the proxy, once for pages and once for route handlers; they share the addresses.
const holder: { fairleadAddresses?: DashboardAddresses } = globalThis as object;

export function webEnv(): WebEnv {
  env ??= readEnv(process.env);
  return env;
}

/** Sets the addresses at the start of this process. They change with the dashboard's domains. */
export function setAddresses(addresses: DashboardAddresses): void {
  holder.fairleadAddresses = addresses;
}

/** Returns every origin with pages that may make changes. */
export function ownOrigins(): readonly string[] {
  origins ??= trustedOrigins(webEnv());
  return [...origins, ...domainOrigins()];
}

/** Returns the origins of the dashboard's domains that have answered, the newest first. */
export function domainOrigins(): readonly string[] {
  return holder.fairleadAddresses?.domainOrigins ?? [];
}

/** Returns the URL of the domain that links lead to, without a slash at its end; null: they lead to the settings' public URL. */
export function currentDomain(): string | null {
  return domainOrigins()[0] ?? null;
}

/** Returns the address for links, without a slash at its end. */
export function publicUrl(): string {
  return currentDomain() ?? webEnv().FAIRLEAD_PUBLIC_URL;
}
