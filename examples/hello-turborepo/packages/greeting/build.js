// Stands for a compiler: the web app can only start when this package was built before.
import { cpSync } from 'node:fs';

cpSync('greeting.js', 'dist/greeting.js');
