import type { PendingUpload } from '@tidemark/client';
import { useObject, useUploads } from '@tidemark/react';
import type { PartUse, WorkOrder } from './types.ts';

const SHOWN_MAX = 4;
const STATES = { waiting: 'waits', sending: 'being sent', queued: 'at the server' } as const;

/** The changes made here that the server has not confirmed. They are in the device's database and survive a reload. */
export function PendingChanges() {
  const uploads = useUploads();
  if (uploads.length === 0) return null;
  return (
    <section className="pending" aria-label="Pending changes">
      <ul>
        {uploads.slice(0, SHOWN_MAX).map((upload) => (
          <li key={upload.opId}>
            <span className="pending-text">
              <ChangeText upload={upload} />
            </span>
            <span className={`chip ${upload.state}`}>{STATES[upload.state]}</span>
          </li>
        ))}
      </ul>
      {uploads.length > SHOWN_MAX && <p>{`and ${uploads.length - SHOWN_MAX} more`}</p>}
    </section>
  );
}

function ChangeText({ upload }: { readonly upload: PendingUpload }) {
  const { source, op, id, attributes } = upload;
  const use = attributes as Partial<PartUse> | null;
  const order = useObject<WorkOrder>('WorkOrder', source === 'WorkOrder' ? id : (use?.work_order_id ?? ''));
  const title = order?.attributes.title ?? `work order ${id}`;
  if (source === 'PartUse') return `${use?.quantity ?? ''} × ${use?.part_id ?? 'part'} for “${title}”`;
  if (source === 'Photo') return `A photo of “${title}”`;
  if (op === 'create') return `New: “${title}”`;
  if (op === 'delete') return `Deleted: ${title}`;
  return `${Object.keys(attributes ?? {}).join(', ')} of “${title}”`;
}
