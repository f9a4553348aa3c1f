'use client';
// A link that reads its page when a hand comes near it, and not before: a rail of links must not ask the server for seven
// pages that nobody opens.
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
