'use client';
// Project filter of a page, in its URL.
import { useUrlFilter } from '../page/use-url-state.ts';
import { PROJECT_FILTER, projectInput } from './project-input.ts';

export function useProjectFilter() {
  const { value, set } = useUrlFilter(PROJECT_FILTER);
  return { input: projectInput(value), set };
}
