// Public exports of the table of settings. load-settings.ts is apart, because it reads files.
export {
  type BuildSlots,
  buildSlots,
  defaultOf,
  type Environment,
  freeBytesMin,
  type Given,
  type PoolSizes,
  poolSizes,
  readEnvironment,
  releaseKeys,
  variablesFor,
} from './environment.ts';
export { PORTS, type PortName, type PortOption, SETTING_OPTIONS } from './flags.mjs';
export { isLocalUrl, type Schedule } from './forms.ts';
export { type SettingName, settingNames, type VariableName } from './table.ts';
