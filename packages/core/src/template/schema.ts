// Schema of a template's id.
import { z } from 'zod';
import { templates } from './rules.ts';

export const templateIdSchema = z.enum(templates.map(({ id }) => id));
