import type { PartialError } from '@tidemark/protocol';
import type { Reader } from '../state/local-state.ts';
import type { NewUpload } from '../state/rows.ts';
import { APP_TOO_OLD } from '../uploads/settle-outcome.ts';
import type { DeviceData } from './device-data.ts';
import { transactIn, type WorkScope } from './work-scope.ts';

/** Sends held changes to sources that take them again. Returns true if there are any. */
export async function releaseHeld(
  { replica }: DeviceData,
  troubles: ReadonlyMap<string, PartialError>,
  scope: WorkScope,
): Promise<boolean> {
  const released = (reader: Reader) =>
    heldIn(reader).filter(([, { source }]) => troubles.get(source)?.code !== APP_TOO_OLD);
  if (released(replica.reader).length === 0) return false;
  await transactIn(replica, scope, (tx) => {
    for (const [opId, upload] of released(tx)) tx.put('uploads', ['', opId], { ...upload, state: 'waiting' });
  });
  return true;
}

function heldIn(reader: Reader): readonly NewUpload[] {
  return [...reader.entries('uploads', '')].filter(([, { state }]) => state === 'held');
}
