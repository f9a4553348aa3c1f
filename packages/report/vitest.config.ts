import { vitestConfig } from '@fairlead/config/vitest';

export default vitestConfig({});
