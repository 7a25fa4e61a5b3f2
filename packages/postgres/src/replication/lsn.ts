import type { Lsn } from './message.ts';

/** Reads a position as Postgres writes it: `16/B374D848`. */
export function parseLsn(text: string): Lsn {
  const match = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text);
  if (match === null) throw new Error(`"${text}" is not a position in the write-ahead log, such as 16/B374D848`);
  return (BigInt(`0x${match[1]}`) << 32n) | BigInt(`0x${match[2]}`);
}

export function formatLsn(lsn: Lsn): string {
  const half = (part: bigint) => part.toString(16).toUpperCase();
  return `${half(lsn >> 32n)}/${half(lsn & 0xffff_ffffn)}`;
}
