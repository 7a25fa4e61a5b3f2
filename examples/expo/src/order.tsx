import { useMutation, useObject, useQuery } from '@tidemark/react';
import { useState } from 'react';
import { ScrollView, Text, TextInput, View } from 'react-native';
import { Photos } from './photos';
import type { Part, PartUse, WorkOrder } from './types';
import { Action, styles } from './ui';

const NEXT = { open: 'in_progress', in_progress: 'done' } as const;

export function OrderScreen({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const order = useObject<WorkOrder>('WorkOrder', id);
  const change = useMutation((device, changes: Partial<WorkOrder>) =>
    device.source<WorkOrder>('WorkOrder').update(id, changes),
  );
  if (order === undefined) {
    return (
      <View>
        <Text style={styles.line}>This order is no longer yours.</Text>
        <Action label="Back" onPress={onClose} />
      </View>
    );
  }
  const { title, customer, address, status = 'open', notes = '' } = order.attributes;
  return (
    <ScrollView>
      <Action label="Back" onPress={onClose} />
      <Text style={styles.title}>{title}</Text>
      <Text>
        {customer} {address}
      </Text>
      {status === 'done' ? (
        <Text style={styles.line}>done</Text>
      ) : (
        <Action label={`Mark as ${NEXT[status]}`} onPress={() => change.mutate({ status: NEXT[status] })} />
      )}
      <Notes notes={notes} onChange={(text) => change.mutate({ notes: text })} />
      {change.error !== null && <Text style={styles.alert}>{change.error.message}</Text>}
      <UsedParts orderId={id} />
      <Photos orderId={id} />
    </ScrollView>
  );
}

/** Stores every letter at once, so that nothing is lost; the SDK sends what piles up meanwhile as one change. */
function Notes({ notes, onChange }: { readonly notes: string; readonly onChange: (text: string) => void }) {
  // Null while nobody writes here. Then what others write shows; it does not replace what is being written.
  const [text, setText] = useState<string | null>(null);
  const write = (value: string) => {
    setText(value);
    onChange(value);
  };
  return (
    <TextInput
      style={styles.input}
      value={text ?? notes}
      onChangeText={write}
      onBlur={() => setText(null)}
      accessibilityLabel="Notes"
      placeholder="Notes"
      multiline
    />
  );
}

function UsedParts({ orderId }: { readonly orderId: string }) {
  const uses = useQuery<PartUse>('PartUse', { where: { work_order_id: orderId } });
  return uses.map(({ id, attributes: { part_id, quantity }, isPending }) => (
    <UsedPart key={id} partId={part_id} text={`${quantity} ×`} isPending={isPending} />
  ));
}

interface UsedPartProps {
  readonly partId: string;
  readonly text: string;
  readonly isPending: boolean;
}

function UsedPart({ partId, text, isPending }: UsedPartProps) {
  const part = useObject<Part>('Part', partId);
  return (
    <View style={styles.row}>
      <Text style={styles.line}>
        {text} {part?.attributes.name ?? partId}
      </Text>
      {isPending && <Text style={styles.waiting}>not sent</Text>}
    </View>
  );
}
