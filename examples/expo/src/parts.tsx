import { useCount, useQuery } from '@tidemark/react';
import { useState } from 'react';
import { FlatList, Text, TextInput, View } from 'react-native';
import type { Part } from './types';
import { styles } from './ui';

const ROWS_AT_ONCE = 50;

/** The price list, however long it is: a query returns what is shown, and some more when the end is near. */
export function Parts() {
  const [text, setText] = useState('');
  const [limit, setLimit] = useState(ROWS_AT_ONCE);
  const where = text === '' ? {} : { name: { prefix: text } };
  const parts = useQuery<Part>('Part', { where, orderBy: 'name', limit });
  const found = useCount<Part>('Part', { where });
  const search = (value: string) => {
    setText(value);
    setLimit(ROWS_AT_ONCE);
  };
  return (
    <>
      <TextInput
        style={styles.input}
        value={text}
        onChangeText={search}
        accessibilityLabel="Begin of a name"
        placeholder="Begin of a name"
      />
      <Text style={styles.line}>{found} parts</Text>
      <FlatList
        data={parts}
        keyExtractor={({ id }) => id}
        onEndReached={() => parts.length === limit && setLimit(limit + ROWS_AT_ONCE)}
        renderItem={({ item: { attributes } }) => (
          <View style={styles.card}>
            <Text style={styles.title}>{attributes.name}</Text>
            <Text>
              {(attributes.price_cents / 100).toFixed(2)} € per {attributes.unit}, {attributes.stock} in stock
            </Text>
          </View>
        )}
      />
    </>
  );
}
