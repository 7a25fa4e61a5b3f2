import type { UploadProblem } from '@tidemark/client';
import { useMutation, useObject, useProblems } from '@tidemark/react';
import { useEffect } from 'react';
import { useTour } from './tour.tsx';
import type { WorkOrder } from './types.ts';

/** Changes of this device that the server did not take. The app shows them until the user has decided. */
export function Problems() {
  const problems = useProblems();
  return problems.map((problem) =>
    isNotesConflict(problem) ? (
      <NotesConflict key={problem.opId} problem={problem} />
    ) : (
      <Refused key={problem.opId} problem={problem} />
    ),
  );
}

function isNotesConflict({ status, attributes, current }: UploadProblem): boolean {
  return status === 'conflict' && typeof attributes?.notes === 'string' && typeof current?.notes === 'string';
}

/** Two people wrote different notes. Both versions are here; which one counts is for a person to say. */
function NotesConflict({ problem }: { readonly problem: UploadProblem }) {
  const { opId, id, attributes, current } = problem;
  const order = useObject<WorkOrder>('WorkOrder', id);
  const [mine, theirs] = [String(attributes?.notes), String(order?.attributes.notes ?? current?.notes)];
  const { mark } = useTour();
  useEffect(() => mark('conflict'), [mark]);
  const keepMine = useMutation((device) => device.problems.retry(opId));
  const takeTheirs = useMutation((device) => device.problems.dismiss(opId));
  const keepBoth = useMutation((device) => device.problems.resolve(opId, { notes: `${theirs}\n${mine}`.trim() }));
  const choose = ({ mutate }: { readonly mutate: () => void }) => {
    mark('resolve');
    mutate();
  };
  return (
    <section className="problem conflict" aria-label="Conflict">
      <h3>Conflict</h3>
      <p>
        Somebody else changed the notes of <strong>{order?.attributes.title ?? `work order ${id}`}</strong> meanwhile.
      </p>
      <dl>
        <dt>Written here</dt>
        <dd>{mine || '(empty)'}</dd>
        <dt>Written elsewhere</dt>
        <dd>{theirs || '(empty)'}</dd>
      </dl>
      <div className="buttons">
        <button type="button" className="primary" onClick={() => choose(keepBoth)}>
          Keep both
        </button>
        <button type="button" onClick={() => choose(keepMine)}>
          Keep mine
        </button>
        <button type="button" onClick={() => choose(takeTheirs)}>
          Take theirs
        </button>
      </div>
    </section>
  );
}

/** The backend said no, with its reason. The change was taken back on this device. */
function Refused({ problem }: { readonly problem: UploadProblem }) {
  const { opId, status, error } = problem;
  const dismiss = useMutation((device) => device.problems.dismiss(opId));
  return (
    <section className="problem refused" aria-label={status === 'conflict' ? 'Conflict' : 'Refused'}>
      <h3>{status === 'conflict' ? 'Conflict' : 'The backend refused a change'}</h3>
      <p className="reason">{error.detail}</p>
      <div className="buttons">
        <button type="button" onClick={() => dismiss.mutate()}>
          OK
        </button>
      </div>
    </section>
  );
}
