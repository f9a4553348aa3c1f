import { expect, test } from 'vitest';
import { popoverPosition } from './popover-position.ts';

const viewport = { width: 400, height: 300 };
const floating = { width: 160, height: 100 };

test('a popover opens below its anchor, aligned to the given side', () => {
  const anchor = { left: 100, top: 20, width: 60, height: 30 };
  expect(popoverPosition(anchor, floating, viewport, 'start')).toEqual({ left: 100, top: 54 });
  expect(popoverPosition(anchor, floating, viewport, 'center')).toEqual({ left: 50, top: 54 });
});

test('a popover flips above when there is no room below', () => {
  expect(popoverPosition({ left: 100, top: 250, width: 60, height: 30 }, floating, viewport, 'start').top).toBe(146);
});

test('a popover stays inside the viewport at both sides', () => {
  expect(popoverPosition({ left: 10, top: 0, width: 30, height: 30 }, floating, viewport, 'end').left).toBe(8);
  expect(popoverPosition({ left: 380, top: 0, width: 15, height: 30 }, floating, viewport, 'start').left).toBe(232);
});

test('without room on either side a popover opens below, where a page can scroll', () => {
  const tall = { width: 100, height: 290 };
  expect(popoverPosition({ left: 0, top: 100, width: 20, height: 20 }, tall, viewport, 'start').top).toBe(124);
});
