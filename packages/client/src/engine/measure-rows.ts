import { measureAll, type SizeAndChecksum } from '../pull/fold.ts';
import type { Replica } from '../replica/replica.ts';

/** Measures stored objects, in memory or on the disk, in steps. Null: they changed meanwhile, as `isSame` says. */
export async function measureRows(
  { reader, keeper: { disk } }: Replica,
  rows: string,
  pause: () => Promise<void>,
  isSame: () => boolean = () => true,
): Promise<SizeAndChecksum | null> {
  if (disk === undefined || !reader.isOnDisk(rows)) return measureAll(reader, rows, pause, isSame);
  const measured = await disk.measure(rows);
  return isSame() ? measured : null;
}
