// Schemas of the TLS settings of a host: lowest version, HSTS and client certificates.
import { z } from 'zod';

const yearSeconds = 31_536_000;
const clientAuthoritiesPemMax = 64 * 1024;

const hstsSchema = z
  .object({
    /** 0: browsers forget the rule. */
    maxAgeSeconds: z
      .number()
      .int()
      .min(0)
      .max(10 * yearSeconds, 'Enter at most ten years.'),
    includeSubdomains: z.boolean().default(false),
    /** Asks browser vendors to build the rule in. */
    preload: z.boolean().default(false),
  })
  .refine(
    ({ preload, includeSubdomains, maxAgeSeconds }) => !preload || (includeSubdomains && maxAgeSeconds >= yearSeconds),
    {
      path: ['preload'],
      message: 'Preloading needs subdomains and at least one year.',
    },
  );

const clientAuthSchema = z.object({
  /** `required`: a visitor without a valid certificate is refused. `optional`: the app decides. */
  mode: z.enum(['required', 'optional']),
  /** Authorities of client certificates in PEM. */
  caPem: z
    .string()
    .trim()
    .min(1, 'Paste at least one authority.')
    .max(clientAuthoritiesPemMax, 'Authorities have at most 64 KiB.'),
});

const hostPolicyShape = {
  minTlsVersion: z.enum(['1.2', '1.3']),
  hsts: hstsSchema.nullable(),
  clientAuth: clientAuthSchema.nullable(),
};

/** TLS settings of a host. Everything has a default: TLS 1.2, no HSTS, no client certificates. */
export const hostPolicySchema = z.object({
  minTlsVersion: hostPolicyShape.minTlsVersion.default('1.2'),
  hsts: hostPolicyShape.hsts.default(null),
  clientAuth: hostPolicyShape.clientAuth.default(null),
});
export type HostPolicySettings = z.infer<typeof hostPolicySchema>;

/** A field that is missing stays as it is. */
export const hostPolicyInputSchema = z.object(hostPolicyShape).partial();
export type HostPolicyInput = z.infer<typeof hostPolicyInputSchema>;
