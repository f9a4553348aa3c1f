'use client';
// Link that prefetches its page on hover or focus only: a list of links must not request pages that are never opened.
import NextLink, { useLinkStatus } from 'next/link';
import { useRouter } from 'next/navigation';
import type { ComponentProps } from 'react';
import { useNavigationReport } from './navigation-progress.ts';

export interface HoverLinkProps extends Omit<ComponentProps<typeof NextLink>, 'href' | 'prefetch'> {
  readonly href: string;
}

export function HoverLink({ href, children, ...rest }: HoverLinkProps) {
  const router = useRouter();
  const prefetch = () => router.prefetch(href);
  return (
    <NextLink {...rest} href={href} prefetch={false} onPointerEnter={prefetch} onFocus={prefetch}>
      {children}
      <LinkProgress />
    </NextLink>
  );
}

function LinkProgress() {
  useNavigationReport(useLinkStatus().pending);
  return null;
}
