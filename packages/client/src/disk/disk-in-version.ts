import type { DiskPart, StoredObject } from '../ports/local-store.ts';
import type { Attributes } from '../state/rows.ts';

/** What queries need of a disk. */
export type ObjectsOnDisk = Pick<DiskPart, 'read' | 'scan' | 'count'>;

/** A disk whose objects of one source are translated as they are read. Others, and which groups have the objects, are as they are. */
export function inVersionOfApp(
  disk: ObjectsOnDisk,
  source: string,
  translate: (attributes: Attributes) => Attributes,
): ObjectsOnDisk {
  const translated = <V>(value: V): V => (value === undefined ? value : (translate(value as Attributes) as V));
  return {
    count: (...args) => disk.count(...args),
    read: async (keys) => {
      const values = await disk.read(keys);
      return values.map((value, at) => (keys[at]?.[0] === source ? translated(value) : value));
    },
    scan: async (scan) => {
      const page = await disk.scan(scan);
      return scan.first === source ? page.map(([id, value]): StoredObject => [id, translated(value)]) : page;
    },
  };
}
