import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { client } from '../api/client.ts';
import { Loaded } from '../components/loaded.tsx';
import { WaitingFiles } from './file-table.tsx';

const REFRESH_MS = 10_000;

/** The files that are still on a device alone, those that wait longest first. */
export function DeviceFiles({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['devices', id, 'files'],
    queryFn: () => client.clients.files(id),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Loaded query={query}>
      {({ files, is_whole }) =>
        files.length === 0 ? (
          <Text size="sm" c="dimmed" className="card">
            No file waits: all bytes that objects of this device refer to have arrived.
          </Text>
        ) : (
          <>
            <WaitingFiles files={files} isOfOneDevice />
            {!is_whole && (
              <Text size="sm" c="dimmed">
                The {files.length} that wait longest are listed.
              </Text>
            )}
          </>
        )
      }
    </Loaded>
  );
}
