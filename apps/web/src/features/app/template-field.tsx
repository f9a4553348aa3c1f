'use client';
// Choice of a template as tiles. A template that no server here can run is shown with the reason.
import { type Template, templates } from '@fairlead/core/template/rules';
import { useId } from 'react';
import { ChoiceTile } from './choice-tile.tsx';

const NEEDS: Readonly<Record<Template['needs'], string>> = {
  nothing: 'no packages',
  npm: 'packages from npm',
  pypi: 'packages from PyPI',
  containers: 'needs Docker',
};

export interface TemplateFieldProps {
  readonly value: Template | null;
  readonly error: string | undefined;
  /** True if a server can run containers. */
  readonly hasContainers: boolean;
  readonly onValue: (template: Template) => void;
}

export function TemplateField({ value, error, hasContainers, onValue }: TemplateFieldProps) {
  const name = useId();
  const errorId = useId();
  return (
    <fieldset aria-describedby={errorId}>
      <legend className="mb-1.5 font-medium">Template</legend>
      <div className="grid grid-cols-2 gap-2 sm:grid-cols-3">
        {templates.map((template) => {
          const isRefused = template.needs === 'containers' && !hasContainers;
          return (
            <ChoiceTile
              key={template.id}
              name={name}
              title={template.title}
              checked={template.id === value?.id}
              disabled={isRefused}
              onCheck={() => onValue(template)}
            >
              {isRefused ? 'Needs Docker. No server here has it.' : template.detail}
              <span className="block pt-1 text-xs">
                {isRefused ? template.language : `${template.language}, ${NEEDS[template.needs]}`}
              </span>
            </ChoiceTile>
          );
        })}
      </div>
      <p id={errorId} aria-live="polite" className={error === undefined ? undefined : 'mt-1.5 text-bad-text text-sm'}>
        {error}
      </p>
    </fieldset>
  );
}
