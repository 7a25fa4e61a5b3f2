import { useMutation, useQuery } from '@tidemark/react';
import { FlatList, Pressable, Text, View } from 'react-native';
import type { WorkOrder } from './types';
import { Action, styles } from './ui';

export function Orders({ onOpen }: { readonly onOpen: (id: string) => void }) {
  const orders = useQuery<WorkOrder>('WorkOrder', { orderBy: [{ status: 'desc' }, 'due_on'] });
  const add = useMutation((device) => device.source<Partial<WorkOrder>>('WorkOrder').create({ title: 'New order' }));
  return (
    <>
      <FlatList
        data={orders}
        keyExtractor={({ id }) => id}
        renderItem={({ item: { id, attributes, isPending } }) => (
          <Pressable style={styles.card} accessibilityRole="button" onPress={() => onOpen(id)}>
            <Text style={styles.title}>{attributes.title}</Text>
            <Text>{attributes.customer ?? 'no customer'}</Text>
            <View style={styles.row}>
              <Text>
                {attributes.status ?? 'open'} {attributes.due_on}
              </Text>
              {isPending && <Text style={styles.waiting}>not sent</Text>}
            </View>
          </Pressable>
        )}
      />
      <Action label="New order" onPress={() => add.mutate()} />
    </>
  );
}
