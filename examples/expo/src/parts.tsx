import { useCount, usePages } from '@tidemark/react';
import { useState } from 'react';
import { FlatList, Text, TextInput, View } from 'react-native';
import type { Part } from './types';
import { styles } from './ui';

const ROWS_OF_A_PAGE = 50;

/** The price list, however long it is: it is on the disk of the phone, and what is shown is read from there page by page. */
export function Parts() {
  const [text, setText] = useState('');
  const where = text === '' ? {} : { name: { prefix: text } };
  const { rows, hasMore, isLoading, more } = usePages<Part>('Part', { size: ROWS_OF_A_PAGE, where, orderBy: 'name' });
  const found = useCount<Part>('Part', { where });
  return (
    <>
      <TextInput
        style={styles.input}
        value={text}
        onChangeText={setText}
        accessibilityLabel="Begin of a name"
        placeholder="Begin of a name"
      />
      <Text style={styles.line}>{isLoading ? 'Reading …' : `${found} parts`}</Text>
      <FlatList
        data={rows}
        keyExtractor={({ id }) => id}
        onEndReached={() => hasMore && more()}
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
