export { type TemplateId, templateFolder, templates } from './rules.ts';
