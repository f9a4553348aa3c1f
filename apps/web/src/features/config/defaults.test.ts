import { settingsSchema } from '@fairlead/core/config/schema';
import { expect, test } from 'vitest';
import {
  autoscalingDefaults,
  defaults,
  ejectionDefaults,
  healthCheckDefaults,
  hookTimeoutMs,
  trafficDefaults,
} from './defaults.ts';

test('placeholders show the defaults of the schema', () => {
  const settings = settingsSchema.parse({
    autoscaling: { instancesMin: 0, instancesMax: 1 },
    traffic: { healthCheck: {} },
    releaseCommand: { command: ['true'] },
  });
  expect(settings).toMatchObject(defaults);
  expect(settings.traffic).toMatchObject(trafficDefaults);
  expect(settings.traffic.outlierEjection).toEqual(ejectionDefaults);
  expect(settings.traffic.healthCheck).toEqual(healthCheckDefaults);
  expect(settings.autoscaling).toMatchObject(autoscalingDefaults);
  expect(settings.releaseCommand?.timeoutMs).toBe(hookTimeoutMs);
});
