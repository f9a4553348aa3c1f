// Types of flags.mjs.
export type PortName = 'web' | 'gateway' | 'source' | 'https' | 'http' | 'database';

export type PortVariable =
  | 'FAIRLEAD_WEB_PORT'
  | 'FAIRLEAD_GATEWAY_PORT'
  | 'FAIRLEAD_SOURCE_PORT'
  | 'FAIRLEAD_HTTPS_PORT'
  | 'FAIRLEAD_HTTP_PORT'
  | 'FAIRLEAD_DATABASE_PORT';

export interface PortOption {
  readonly name: PortName;
  readonly option: string;
  readonly variable: PortVariable;
  readonly default: number;
  readonly what: string;
}

export interface SettingOption {
  readonly option: string;
  /** Placeholder in the help text; absent if the option is a flag. */
  readonly value?: string;
  readonly variable: string;
  readonly what: string;
}

export const PORTS: readonly PortOption[];
export const SETTING_OPTIONS: readonly SettingOption[];
