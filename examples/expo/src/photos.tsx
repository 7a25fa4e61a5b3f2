import type { FileState, FileValue } from '@tidemark/client';
import { useFile, useMutation, useQuery, useSyncStatus } from '@tidemark/react';
import { File } from 'expo-file-system';
import { launchCameraAsync, requestCameraPermissionsAsync } from 'expo-image-picker';
import { Image, Text, View } from 'react-native';
import type { Photo } from './types';
import { Action, styles } from './ui';

/** The photos of a work order. A new one shows at once, also without a network. */
export function Photos({ orderId }: { readonly orderId: string }) {
  const { userId } = useSyncStatus();
  const photos = useQuery<Photo>('Photo', { where: { work_order_id: orderId }, orderBy: 'taken_at' });
  const take = useMutation(async (device) => {
    const { granted } = await requestCameraPermissionsAsync();
    if (!granted) throw new Error('The settings of the phone do not let this app use the camera.');
    const { assets } = await launchCameraAsync({ mediaTypes: 'images', quality: 0.8 });
    for (const { uri, mimeType = 'image/jpeg' } of assets ?? []) {
      const photo = await device.files.add(await new File(uri).bytes(), { type: mimeType });
      const taken_at = new Date().toISOString();
      const attributes = { work_order_id: orderId, photo, taken_by: userId ?? '', taken_at };
      await device.source<Photo>('Photo').create(attributes);
    }
  });
  return (
    <View>
      <View style={styles.photos}>
        {photos.map(({ id, attributes: { photo, taken_by } }) => (
          <Picture key={id} file={photo} label={`Photo by ${taken_by}`} />
        ))}
      </View>
      <Action label="Take a photo" isDisabled={take.isPending} onPress={() => take.mutate()} />
      {take.error !== null && <Text style={styles.alert}>{take.error.message}</Text>}
    </View>
  );
}

function Picture({ file, label }: { readonly file: FileValue; readonly label: string }) {
  const { url, state } = useFile(file);
  return (
    <View style={styles.photo}>
      {url !== null && <Image style={styles.photo} source={{ uri: url }} accessibilityLabel={label} />}
      <Text style={styles.waiting}>{stateText(state)}</Text>
    </View>
  );
}

function stateText(state: FileState): string {
  switch (state.status) {
    case 'uploaded':
      return '';
    case 'local':
      return 'not sent';
    case 'missing':
      return 'still on another phone';
    case 'failed':
      return state.error.detail;
    default:
      return `${state.status} ${Math.round(100 * state.part)} %`;
  }
}
