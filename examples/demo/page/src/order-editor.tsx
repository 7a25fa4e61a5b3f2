import type { SyncedObject } from '@tidemark/client';
import { useMutation } from '@tidemark/react';
import type { Seat } from './devices.ts';
import { PartsUsed } from './parts-used.tsx';
import { Photos } from './photos.tsx';
import { PingButton } from './ping-button.tsx';
import { useTour } from './tour.tsx';
import { CREWS, PRIORITY_NAMES, STATUS_NAMES, type WorkOrder } from './types.ts';

interface OrderEditorProps {
  readonly seat: Seat;
  readonly order: SyncedObject<WorkOrder>;
}

/**
 * Changes a work order. Every keystroke is a change: it shows at once, is stored on the device, and goes to the server when
 * there is one. Changes of one object that wait are sent as one.
 */
export function OrderEditor({ seat, order: { id, attributes } }: OrderEditorProps) {
  const { mark } = useTour();
  const { mutate: change } = useMutation((device, changes: Partial<WorkOrder>) => {
    if (!device.status.getSnapshot().isOnline) mark('edit');
    return device.source<WorkOrder>('WorkOrder').update(id, changes);
  });
  const { notes = '', status = 'open', priority = 'normal', hours = 0, technician } = attributes;
  return (
    <div className="editor">
      {seat.isDispatcher ? (
        <div className="row">
          <Choice label="Crew" names={CREWS} value={technician} onChoose={(crew) => change({ technician: crew })} />
          <Choice
            label="Priority"
            names={PRIORITY_NAMES}
            value={priority}
            onChoose={(name) => change({ priority: name as WorkOrder['priority'] })}
          />
        </div>
      ) : (
        <div className="row">
          <Choice
            label="Status"
            names={STATUS_NAMES}
            value={status}
            onChoose={(name) => change({ status: name as WorkOrder['status'] })}
          />
          <Hours value={hours} onChange={(value) => change({ hours: value })} />
        </div>
      )}
      <label className="field">
        <span>Notes</span>
        <textarea
          rows={3}
          value={notes}
          placeholder="Type here: it arrives elsewhere as you type."
          onChange={(event) => change({ notes: event.target.value })}
        />
      </label>
      <Photos seat={seat} orderId={id} title={attributes.title} />
      <PartsUsed orderId={id} canBook={!seat.isDispatcher} />
      {seat.isDispatcher && technician !== undefined && <PingButton crew={technician} title={attributes.title} />}
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly names: Readonly<Record<string, string>>;
  readonly value: string;
  readonly onChoose: (name: string) => void;
}

function Choice({ label, names, value, onChoose }: ChoiceProps) {
  return (
    <fieldset className="choice">
      <legend>{label}</legend>
      {Object.entries(names).map(([name, text]) => (
        <button key={name} type="button" aria-pressed={name === value} onClick={() => onChoose(name)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}

function Hours({ value, onChange }: { readonly value: number; readonly onChange: (value: number) => void }) {
  return (
    <fieldset className="hours">
      <legend>Hours</legend>
      <button type="button" aria-label="Half an hour less" disabled={value <= 0} onClick={() => onChange(value - 0.5)}>
        −
      </button>
      <output>{value.toFixed(1)}</output>
      <button type="button" aria-label="Half an hour more" onClick={() => onChange(value + 0.5)}>
        +
      </button>
    </fieldset>
  );
}
