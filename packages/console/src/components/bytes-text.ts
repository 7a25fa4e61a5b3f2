import { counted } from './counted.ts';

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;

/** Returns a number of bytes for people: 20.6 kB. */
export function bytesText(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1_000 ** power;
  return `${power === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${UNITS[power]}`;
}

const BINARY_UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Returns a limit as settings and documents say it: 10 GiB. None of its bytes is rounded away. */
export function limitText(bytes: number): string {
  const wholes = BINARY_UNITS.map((unit, index) => [bytes / 1_024 ** (index + 1), unit] as const);
  const whole = wholes.findLast(([count]) => count >= 1 && Number.isInteger(count));
  return whole === undefined ? counted(bytes, 'byte') : `${whole[0].toLocaleString('en')} ${whole[1]}`;
}
