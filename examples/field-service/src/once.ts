import type { UploadCall } from '@tidemark/backend';
import type { Database } from './database.ts';

/**
 * Makes a change that a device asked for exactly once, however often Tidemark has to ask: the change and the memory of
 * it are one transaction. What is thrown undoes both, so a change that was refused or failed leaves no trace.
 */
export function once<T>(database: Database, { user_id, op_id }: UploadCall, change: () => T): T {
  const key = [user_id ?? '', op_id] as const;
  return database.transaction(() => {
    const before = database.get('SELECT answer FROM operations WHERE technician = ? AND op_id = ?', ...key);
    if (before !== null) return JSON.parse(String(before.answer)) as T;
    const answer = change();
    database.run('INSERT INTO operations VALUES (?, ?, ?)', ...key, JSON.stringify(answer ?? null));
    return answer;
  });
}
