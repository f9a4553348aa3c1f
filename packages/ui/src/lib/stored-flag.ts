'use client';
// Preference of this browser that is on or off, kept in its local storage.
import { useEffect, useState } from 'react';

export function useStoredFlag(key: string, initial: boolean): [boolean, (value: boolean) => void] {
  const [value, setValue] = useState(initial);
  // After the first render: the server does not know it.
  useEffect(() => {
    const stored = localStorage.getItem(key);
    if (stored !== null) setValue(stored === '1');
  }, [key]);
  return [
    value,
    (next) => {
      setValue(next);
      localStorage.setItem(key, next ? '1' : '0');
    },
  ];
}
