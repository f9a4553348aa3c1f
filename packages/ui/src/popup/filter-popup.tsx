'use client';
// List box of a filter, on Base UI: a select, or a combobox with a search field for long lists.
import { Combobox } from '@base-ui/react/combobox';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { Select } from '@base-ui/react/select';
import { useRef, useState } from 'react';
import type { FilterMenuProps, FilterOption } from '../filter-menu.tsx';
import { cn } from '../lib/class-names.ts';
import type { PopupHandle } from '../lib/use-popup.ts';
import { finalFocusOf, listKeys, portalProps, positionerProps, SURFACE, useRootProps } from './floating.tsx';

export interface FilterPopupProps extends FilterMenuProps {
  readonly handle: PopupHandle;
}

/** Shorter lists are searched by typing the first letters. */
const SEARCH_FROM = 9;

const POPUP = cn(
  SURFACE,
  'max-h-[min(70dvh,26rem,var(--available-height))] min-w-[max(12rem,var(--anchor-width))] max-w-[min(20rem,calc(100vw-1rem))]',
);
const ITEM =
  'flex min-h-8 cursor-pointer items-center gap-2.5 rounded-control px-2.5 py-1 outline-none data-highlighted:bg-hover';

export function FilterPopup(props: FilterPopupProps) {
  const isSearched = props.onSearch !== undefined || props.options.length >= SEARCH_FROM;
  // The page's policy allows no style elements. Base UI would add one that only hides a scrollbar.
  return (
    <CSPProvider disableStyleElements>
      {isSearched ? <SearchedList {...props} /> : <ShortList {...props} />}
    </CSPProvider>
  );
}

function ShortList({ handle, label, all, value, options, onValueChange }: FilterPopupProps) {
  const root = useRootProps(handle);
  return (
    <Select.Root
      {...root}
      modal={false}
      value={value}
      onValueChange={(chosen) => {
        if (chosen !== null) onValueChange(chosen);
      }}
    >
      <Select.Portal {...portalProps(handle)}>
        <Select.Positioner {...positionerProps(handle, 'start')} alignItemWithTrigger={false}>
          <Select.Popup finalFocus={finalFocusOf(handle)} onKeyDown={listKeys(handle)} className={POPUP}>
            <Select.List id={handle.id} aria-label={label} tabIndex={-1} className="outline-none">
              {[{ value: '', label: all }, ...options].map((option) => (
                <Select.Item key={option.value} value={option.value} label={option.label} className={ITEM}>
                  <OptionText option={option} isChosen={option.value === value} />
                </Select.Item>
              ))}
            </Select.List>
          </Select.Popup>
        </Select.Positioner>
      </Select.Portal>
    </Select.Root>
  );
}

function SearchedList(props: FilterPopupProps) {
  const { handle, label, all, value, onValueChange, onSearch } = props;
  const root = useRootProps(handle);
  const [typed, setTyped] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const wanted = typed.trim().toLowerCase();
  const found =
    onSearch === undefined
      ? props.options.filter((option) => option.label.toLowerCase().includes(wanted))
      : props.options;
  const options: readonly FilterOption[] = wanted === '' ? [{ value: '', label: all }, ...found] : found;
  return (
    <Combobox.Root
      {...root}
      onOpenChangeComplete={(isOpen) => {
        if (!isOpen) setTyped('');
      }}
      items={options}
      filteredItems={options}
      autoHighlight
      value={options.find((option) => option.value === value) ?? null}
      isItemEqualToValue={(left, right) => left.value === right.value}
      onValueChange={(chosen) => {
        if (chosen !== null) onValueChange(chosen.value);
      }}
      inputValue={typed}
      onInputValueChange={(text, { reason }) => {
        if (reason !== 'input-change') return;
        setTyped(text);
        onSearch?.(text.trim());
      }}
    >
      <Combobox.Portal {...portalProps(handle)}>
        <Combobox.Positioner {...positionerProps(handle, 'start')}>
          <Combobox.Popup
            role="group"
            initialFocus={field}
            finalFocus={finalFocusOf(handle)}
            onKeyDown={listKeys(handle)}
            className={POPUP}
          >
            <Combobox.Input
              ref={field}
              aria-label={`Search ${label.toLowerCase()}`}
              autoComplete="off"
              spellCheck={false}
              placeholder="Search"
              className="sticky top-0 z-10 mb-1 h-8 w-full rounded-control border border-line-control bg-field px-2.5 text-ink placeholder:text-ink-faint max-sm:text-lg"
            />
            <Combobox.List id={handle.id} aria-label={label} className="outline-none">
              {(option: FilterOption) => (
                <Combobox.Item key={option.value} value={option} className={ITEM}>
                  <OptionText option={option} isChosen={option.value === value} />
                </Combobox.Item>
              )}
            </Combobox.List>
            <Combobox.Empty>
              <p className="px-2.5 py-2 text-ink-faint text-sm">No results</p>
            </Combobox.Empty>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  );
}

function OptionText({ option, isChosen }: { readonly option: FilterOption; readonly isChosen: boolean }) {
  return (
    <>
      <span className="min-w-0 flex-1 truncate">
        {option.label}
        {option.hint === undefined ? null : <span className="ml-2 text-ink-faint text-sm">{option.hint}</span>}
      </span>
      <span aria-hidden="true" className="w-3">
        {isChosen ? '✓' : ''}
      </span>
    </>
  );
}
