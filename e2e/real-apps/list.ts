// The list of real apps: starter templates of Render, Railway and Heroku, templates of frameworks, and well-known apps.
import { COMPILED } from './list/compiled.ts';
import { FAILING } from './list/failing.ts';
import { NODE } from './list/node.ts';
import { PYTHON } from './list/python.ts';
import { SITES } from './list/sites.ts';
import type { RealApp } from './real-app.ts';

export const REAL_APPS: readonly RealApp[] = [...NODE, ...SITES, ...PYTHON, ...COMPILED, ...FAILING];
