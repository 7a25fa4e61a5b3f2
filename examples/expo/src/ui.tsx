import { Pressable, StyleSheet, Text } from 'react-native';

interface ActionProps {
  readonly label: string;
  readonly onPress: () => void;
  readonly isChosen?: boolean;
  readonly isDisabled?: boolean;
}

export function Action({ label, onPress, isChosen = false, isDisabled = false }: ActionProps) {
  return (
    <Pressable
      style={[styles.action, isChosen && styles.chosen]}
      accessibilityRole="button"
      accessibilityState={{ selected: isChosen, disabled: isDisabled }}
      disabled={isDisabled}
      onPress={onPress}
    >
      <Text style={styles.actionText}>{label}</Text>
    </Pressable>
  );
}

export const styles = StyleSheet.create({
  screen: { flex: 1, backgroundColor: '#ffffff' },
  content: { flex: 1, padding: 12 },
  row: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', justifyContent: 'space-between', gap: 8 },
  line: { paddingVertical: 6, flexShrink: 1 },
  title: { fontWeight: '600', fontSize: 16 },
  card: { paddingVertical: 10, borderBottomWidth: 1, borderBottomColor: '#d5dae1' },
  input: { borderWidth: 1, borderColor: '#7a8594', borderRadius: 6, padding: 10, marginVertical: 6 },
  // 44 points are what a finger needs.
  action: { minHeight: 44, paddingHorizontal: 14, justifyContent: 'center', alignItems: 'center' },
  actionText: { color: '#0b5cad', fontWeight: '600' },
  chosen: { borderTopWidth: 3, borderTopColor: '#0b5cad' },
  waiting: { color: '#8a4b00' },
  alert: { color: '#b00020', padding: 12 },
  problem: { margin: 12, padding: 12, backgroundColor: '#fff4e0', borderRadius: 6 },
  photos: { flexDirection: 'row', flexWrap: 'wrap', gap: 8 },
  photo: { width: 96, height: 96 },
});
