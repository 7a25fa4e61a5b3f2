import type { UploadProblem } from '@tidemark/client';
import { useMutation, useObject, useProblems } from '@tidemark/react';
import { Text, View } from 'react-native';
import type { WorkOrder } from './types';
import { Action, styles } from './ui';

/** Changes of this phone that the server did not take. They stay until the user has decided. */
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

/** Two people wrote different notes, and a person says which ones count. */
function NotesConflict({ problem }: { readonly problem: UploadProblem }) {
  const { opId, id, attributes, current } = problem;
  const order = useObject<WorkOrder>('WorkOrder', id);
  const [mine, theirs] = [String(attributes?.notes), String(order?.attributes.notes ?? current?.notes)];
  const keepMine = useMutation((device) => device.problems.retry(opId));
  const takeTheirs = useMutation((device) => device.problems.dismiss(opId));
  const keepBoth = useMutation((device) => device.problems.resolve(opId, { notes: `${theirs}\n${mine}`.trim() }));
  return (
    <View style={styles.problem}>
      <Text style={styles.title}>Somebody else changed the notes of {order?.attributes.title ?? `order ${id}`}</Text>
      <Text>Yours: {mine || '(empty)'}</Text>
      <Text>Theirs: {theirs || '(empty)'}</Text>
      <View style={styles.row}>
        <Action label="Keep both" onPress={() => keepBoth.mutate()} />
        <Action label="Keep mine" onPress={() => keepMine.mutate()} />
        <Action label="Take theirs" onPress={() => takeTheirs.mutate()} />
      </View>
    </View>
  );
}

/** The backend said no, with its reason. The change was taken back on this phone. */
function Refused({ problem: { opId, error } }: { readonly problem: UploadProblem }) {
  const dismiss = useMutation((device) => device.problems.dismiss(opId));
  return (
    <View style={styles.problem}>
      <Text style={styles.title}>{error.detail}</Text>
      <Action label="OK" onPress={() => dismiss.mutate()} />
    </View>
  );
}
