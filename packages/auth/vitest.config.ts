import { fileURLToPath } from 'node:url';
import { vitestConfig } from '@fairlead/config/vitest';

export default vitestConfig({ globalSetup: [fileURLToPath(import.meta.resolve('@fairlead/db/testing/global-setup'))] });
