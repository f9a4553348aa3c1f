// Converts a server's proxy settings to the agent's message. Pure.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { LogFormat, type ProxySettings as Message, ProxySettingsSchema } from '@fairlead/contract/traffic';
import { type ProxySettings, proxySettingsSchema } from './schema.ts';

const plain = JSON.stringify(proxySettingsSchema.parse({}));

const formats = { json: LogFormat.JSON, combined: LogFormat.COMBINED } as const;

/** True for nothing but defaults, which every agent applies without a message. */
export function isPlainProxy(settings: ProxySettings): boolean {
  return JSON.stringify(proxySettingsSchema.parse(settings)) === plain;
}

/** Null for the defaults, which every agent applies without a message. */
export function proxySettings(settings: ProxySettings): Message | null {
  if (isPlainProxy(settings)) return null;
  const { accessLog, ...rest } = settings;
  return create(ProxySettingsSchema, {
    ...rest,
    accessLog: {
      enabled: accessLog.enabled,
      format: formats[accessLog.format],
      samplePermille: accessLog.samplePermille,
      fileBytesMax: BigInt(accessLog.fileBytesMax),
      filesMax: accessLog.filesMax,
    },
  } satisfies MessageInitShape<typeof ProxySettingsSchema>);
}
