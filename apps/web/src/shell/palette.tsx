'use client';
// Command palette. The first level opens pages; actions of an app are on the second, and side effects ask first.
import { CommandDialog, type CommandRow } from '@fairlead/ui/command';
import { Kbd } from '@fairlead/ui/kbd';
import { rankCommands, type Searchable } from '@fairlead/ui/lib/command-score';
import { type ReactNode, useState } from 'react';
import type { AppSummary } from '../api/types.ts';
import { useGuardedPush } from '../common/form/unsaved-changes.tsx';
import { useSignOut } from '../common/identity/use-sign-out.ts';
import { useMe } from '../common/organization/me.tsx';
import type { NavItem } from './navigation.ts';
import { type AppVerb, appVerbs, type Confirmation, useAppVerbs } from './palette/app-verbs.ts';
import { paletteIcons } from './palette/icons.tsx';
import { appPages, NAV_KEYWORDS, palettePages } from './palette/pages.ts';
import { type PaletteResults, usePaletteResults } from './palette/use-palette-results.ts';
import { useThemeSwitch } from './palette/use-theme-switch.ts';

export interface PaletteProps {
  readonly open: boolean;
  readonly items: readonly NavItem[];
  readonly onClose: () => void;
  readonly onHelp: () => void;
}

interface PaletteCommand extends CommandRow, Searchable {
  readonly run: () => void;
}

type Level =
  | { readonly kind: 'root' }
  | { readonly kind: 'app'; readonly app: AppSummary }
  /** Chooses the app for a verb. */
  | { readonly kind: 'pick'; readonly verb: AppVerb }
  | { readonly kind: 'confirm'; readonly confirmation: Confirmation };

const ROOT: Level = { kind: 'root' };
const MATCHES_MAX = 30;

export function Palette({ open, items, onClose, onHelp }: PaletteProps) {
  const me = useMe();
  const { paths } = me;
  const navigate = useGuardedPush();
  const signOut = useSignOut();
  const theme = useThemeSwitch();
  const verbs = useAppVerbs();
  const [query, setQuery] = useState('');
  const [levels, setLevels] = useState<readonly Level[]>([ROOT]);
  const level = levels.at(-1) ?? ROOT;
  const results = usePaletteResults(query, open && level.kind !== 'confirm' && level.kind !== 'app');

  const close = () => {
    setQuery('');
    setLevels([ROOT]);
    onClose();
  };
  const enter = (next: Level) => () => {
    setQuery('');
    setLevels((before) => [...before, next]);
  };
  const back = () => {
    setQuery('');
    setLevels((before) => (before.length > 1 ? before.slice(0, -1) : before));
  };
  const go = (href: string) => () => {
    close();
    navigate(href);
  };
  const run = (what: () => void) => () => {
    close();
    what();
  };

  const groups =
    level.kind === 'root'
      ? rootGroups()
      : [{ heading: titleOf(level) ?? '', rows: rankCommands(commandsOf(level), query) }].filter(
          ({ rows }) => rows.length > 0,
        );
  const rows: readonly PaletteCommand[] = groups.flatMap((group) => group.rows);
  const title = titleOf(level);
  return (
    <CommandDialog
      open={open}
      onClose={close}
      query={query}
      onQueryChange={setQuery}
      placeholder={
        level.kind === 'root' ? 'Search or run a command…' : level.kind === 'pick' ? 'Choose an app…' : 'Filter…'
      }
      groups={groups}
      onSelect={(id) => rows.find((row) => row.id === id)?.run()}
      level={title === null ? null : { title, onBack: back }}
      pending={results.pending}
    />
  );

  function commandsOf(inner: Exclude<Level, { readonly kind: 'root' }>): PaletteCommand[] {
    if (inner.kind === 'pick') {
      return results.apps
        .filter((app) => inner.verb.isOffered(app, me))
        .map((app) => ({ ...appRow(app), run: () => runVerb(inner.verb, app) }));
    }
    if (inner.kind === 'confirm') {
      const { confirmation } = inner;
      return [
        { id: 'confirm', title: confirmation.action, icon: paletteIcons.action, run: run(confirmation.run) },
        { id: 'cancel', title: 'Cancel', icon: paletteIcons.back, run: back },
      ];
    }
    const { app } = inner;
    return [
      ...appPages(paths, app).map(({ id, title: name, keywords, href }) => ({
        id,
        title: name,
        keywords,
        icon: paletteIcons.page,
        run: go(href),
      })),
      ...appVerbs
        .filter((verb) => verb.page === undefined && verb.isOffered(app, me))
        .map((verb) => ({
          id: verb.id,
          title: `${verb.title}…`,
          icon: paletteIcons.action,
          isAction: true,
          run: () => runVerb(verb, app),
        })),
    ];
  }

  function runVerb(verb: AppVerb, app: AppSummary): void {
    if (verb.page !== undefined) {
      const { href } = appPages(paths, app).find(({ id }) => id === verb.page) ?? { href: paths.app(app.slug) };
      go(href)();
    } else enter({ kind: 'confirm', confirmation: verbs.confirm(verb, app) })();
  }

  function appRow(app: AppSummary): Omit<PaletteCommand, 'run'> {
    return {
      id: `app-${app.id}`,
      title: app.name,
      keywords: [app.slug, app.id, ...app.hosts],
      icon: paletteIcons.app,
      hint: app.environmentName,
    };
  }

  function rootGroups(): { heading: string; rows: PaletteCommand[] }[] {
    const nav = items.map((item) => ({
      id: `nav-${item.key}`,
      title: item.title,
      keywords: NAV_KEYWORDS[item.title] ?? [],
      icon: <item.icon size={15} />,
      hint: keysOf(item),
      run: go(item.href),
    }));
    const apps = results.apps.map((app) => ({ ...appRow(app), run: enter({ kind: 'app', app }) }));
    const actions = rootActions();
    if (query.trim() === '') {
      return [
        { heading: 'Go to', rows: nav },
        { heading: 'Apps', rows: apps },
        { heading: 'Actions', rows: actions },
      ].filter(({ rows }) => rows.length > 0);
    }
    const pages = palettePages(paths, me).map((page) => ({
      id: `page-${page.href}-${page.title.replaceAll(' ', '-')}`,
      title: page.title,
      keywords: page.keywords,
      icon: paletteIcons.page,
      hint: page.within,
      run: go(page.href),
    }));
    const all = [...nav, ...apps, ...foundPages(results, go), ...pages, ...actions, ...namedActions()];
    const matches = rankCommands<PaletteCommand>(all, query).slice(0, MATCHES_MAX);
    return matches.length === 0 ? [] : [{ heading: 'Results', rows: matches }];
  }

  /** Actions of an app that the search names together with it. They open the question of the second level. */
  function namedActions(): PaletteCommand[] {
    return results.appsOfVerb.flatMap((app) =>
      appVerbs
        .filter((verb) => verb.isOffered(app, me))
        .map((verb) => ({
          id: `verb-${verb.id}-${app.id}`,
          title: `${verb.title} ${app.name}${verb.page === undefined ? '…' : ''}`,
          keywords: verb.keywords.map((keyword) => `${keyword} ${app.name}`),
          icon: paletteIcons.action,
          hint: app.environmentName,
          isAction: true,
          run: () => runVerb(verb, app),
        })),
    );
  }

  function rootActions(): PaletteCommand[] {
    return [
      ...appVerbs
        .filter((verb) => verb.needs === undefined || me.canAnywhere(verb.needs))
        .map((verb) => ({
          id: `verb-${verb.id}`,
          title: `${verb.ofAnyApp}…`,
          keywords: verb.keywords,
          icon: paletteIcons.action,
          isAction: true,
          run: enter({ kind: 'pick', verb }),
        })),
      {
        id: 'theme',
        title: theme.title,
        keywords: ['appearance', 'dark mode', 'light mode'],
        icon: paletteIcons.theme,
        isAction: true,
        run: run(theme.toggle),
      },
      {
        id: 'shortcuts',
        title: 'Keyboard shortcuts',
        keywords: ['help', 'keys'],
        icon: paletteIcons.keyboard,
        isAction: true,
        run: run(onHelp),
      },
      {
        id: 'sign-out',
        title: 'Sign out…',
        keywords: ['log out', 'logout'],
        icon: paletteIcons.signOut,
        isAction: true,
        run: enter({
          kind: 'confirm',
          confirmation: { title: 'Sign out', action: 'Sign out', run: () => void signOut() },
        }),
      },
    ];
  }
}

/** Pages of what the API found: app pages, servers, domains, deployments. */
function foundPages(results: PaletteResults, go: (href: string) => () => void): PaletteCommand[] {
  return results.pages.map(({ id, title, keywords, href, hint }) => ({
    id,
    title,
    keywords,
    hint,
    icon: paletteIcons[id.startsWith('server-') ? 'server' : id.startsWith('domain-') ? 'domain' : 'page'],
    run: go(href),
  }));
}

function titleOf(level: Level): string | null {
  switch (level.kind) {
    case 'root':
      return null;
    case 'app':
      return level.app.name;
    case 'pick':
      return level.verb.ofAnyApp;
    case 'confirm':
      return level.confirmation.title;
  }
}

function keysOf({ key }: NavItem): ReactNode {
  return (
    <>
      <Kbd>g</Kbd>
      <Kbd>{key}</Kbd>
    </>
  );
}
