import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { CLIENT_NAMES_MAX } from '@tidemark/protocol';
import { client } from '../api/client.ts';
import { NameBatcher } from '../api/name-batcher.ts';
import { shownNameOf } from '../components/device-facts.ts';
import { NameLink } from '../components/name-link.tsx';

/** Names change rarely; a change by this page is seen at once. */
const FRESH_MS = 60_000;

const names = new NameBatcher(async (ids) => {
  const found = await client.clients.names(ids);
  return new Map(found.map((device) => [device.client_id, device]));
}, CLIENT_NAMES_MAX / 2);

interface DeviceLinkProps {
  readonly id: string;
  /** True: the id stands below the name. Otherwise it is only in the hint. */
  readonly hasId?: boolean;
}

/** A device by what people know it by. Until that is read, and for a device that is gone, it is the beginning of its id. */
export function DeviceLink({ id, hasId = false }: DeviceLinkProps) {
  const { data: device } = useQuery({
    queryKey: ['device-names', id],
    queryFn: () => names.find(id),
    staleTime: FRESH_MS,
  });
  const name = device == null ? null : shownNameOf(device);
  return (
    <span>
      <NameLink
        kind="device"
        name={id}
        text={name ?? id}
        isShort={name === null && !hasId}
        isBrief={!hasId}
        {...(name === null ? {} : { hint: `${name} · ${id}` })}
      />
      {hasId && name !== null && (
        <Text size="xs" c="dimmed" component="small" display="block">
          {id}
        </Text>
      )}
    </span>
  );
}
