import type { DeviceTidemark } from '@tidemark/core/ports';
import { storeEpochs } from './meta.ts';
import type { PartitionRow } from './partitions.ts';
import type { Tables } from './tables.ts';

// There is a tidemark for each device and partition it has data from, so its row and the key of its index are short
// (docs/decisions/0084): seq.base.start.seen.epoch, with numbers in base 36 and nothing for null. What was sent and is not
// confirmed follows the start behind a ~, because few tidemarks have it, and none for long.

/** A tidemark as it is stored, with a name instead of the epoch. */
export interface TidemarkRow extends Omit<DeviceTidemark, 'epoch'> {
  readonly epochName: string;
}

/** What the tidemarks of a partition depend on. It never changes. */
export type NumberedPartition = Pick<PartitionRow, 'number' | 'epochSuffix'>;

/** The name of any epoch that is not the partition's own begins with this, and then has the epoch. */
const FOREIGN = '=';

/**
 * Returns the name of an epoch in a partition. The epoch of a partition is one of the store's and a suffix that never
 * changes, so its name is the number of the store's epoch.
 */
export function epochName(tables: Tables, { epochSuffix }: NumberedPartition, epoch: string): string {
  const prefix = epoch.endsWith(epochSuffix) ? epoch.slice(0, epoch.length - epochSuffix.length) : null;
  const number = prefix === null ? -1 : storeEpochs(tables).indexOf(prefix);
  return number === -1 ? FOREIGN + epoch : number.toString(36);
}

function epochOf(tables: Tables, { epochSuffix }: NumberedPartition, name: string): string {
  if (name.startsWith(FOREIGN)) return name.slice(FOREIGN.length);
  return (storeEpochs(tables)[Number.parseInt(name, 36)] ?? '') + epochSuffix;
}

export function tidemarkRow(tables: Tables, partition: NumberedPartition, mark: DeviceTidemark): TidemarkRow {
  const { epoch, ...row } = mark;
  return { ...row, epochName: epochName(tables, partition, epoch) };
}

export function tidemarkOf(tables: Tables, partition: NumberedPartition, row: TidemarkRow): DeviceTidemark {
  const { epochName: name, ...mark } = row;
  return { ...mark, epoch: epochOf(tables, partition, name) };
}

export function encodeRow({ epochName: name, seq, base, start, sent, seenAtMs }: TidemarkRow): string {
  const started = toBase36(start) + (sent === undefined ? '' : `~${toBase36(sent)}`);
  return [toBase36(seq), toBase36(base), started, toBase36(seenAtMs), name].join('.');
}

export function decodeRow(client: string, text: string): TidemarkRow {
  const [seq = '', base = '', started = '', seen = '', ...name] = text.split('.');
  const [start = '', sent] = started.split('~');
  return {
    client,
    epochName: name.join('.'),
    seq: fromBase36(seq) ?? 0,
    base: fromBase36(base),
    start: fromBase36(start),
    ...(sent === undefined ? {} : { sent: fromBase36(sent) ?? 0 }),
    seenAtMs: fromBase36(seen) ?? 0,
  };
}

function toBase36(value: number | null): string {
  return value === null ? '' : value.toString(36);
}

function fromBase36(text: string): number | null {
  return text === '' ? null : Number.parseInt(text, 36);
}
