'use client';
// Link that prefetches its page on hover or focus only: a list of links must not request pages that are never opened.
import NextLink from 'next/link';
import { useRouter } from 'next/navigation';
import type { ComponentProps } from 'react';

export interface HoverLinkProps extends Omit<ComponentProps<typeof NextLink>, 'href' | 'prefetch'> {
  readonly href: string;
}

export function HoverLink({ href, ...rest }: HoverLinkProps) {
  const router = useRouter();
  const prefetch = () => router.prefetch(href);
  return <NextLink {...rest} href={href} prefetch={false} onPointerEnter={prefetch} onFocus={prefetch} />;
}
