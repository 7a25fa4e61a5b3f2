import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { FileReference } from '@tidemark/protocol';
import { client } from '../api/client.ts';
import { bytesText } from '../components/bytes-text.ts';
import { filesInAttributes, shownFileName } from '../components/file-facts.ts';
import { NameLink } from '../components/name-link.tsx';
import { FilePicture } from './file-picture.tsx';
import { MissingBadge } from './file-table.tsx';

const FILES_SHOWN_MAX = 50;

/** The files that an object refers to. Their bytes are read only when somebody wants to see a picture. One that is not here says why. */
export function ObjectFiles({ attributes }: { readonly attributes: Readonly<Record<string, unknown>> }) {
  const files = filesInAttributes(attributes);
  if (files.length === 0) return null;
  return (
    <Stack gap={6} mb="sm">
      <Text size="sm" fw={600}>
        Files
      </Text>
      <ul className="object-files" aria-label="Files of the object">
        {files.slice(0, FILES_SHOWN_MAX).map((file) => (
          <li key={file.sha256}>
            <ObjectFile file={file} />
          </li>
        ))}
      </ul>
      {files.length > FILES_SHOWN_MAX && (
        <Text size="xs" c="dimmed">
          and {files.length - FILES_SHOWN_MAX} more
        </Text>
      )}
    </Stack>
  );
}

function ObjectFile({ file }: { readonly file: FileReference }) {
  const { sha256 } = file;
  const { data: known } = useQuery({ queryKey: ['files', sha256], queryFn: () => client.files.facts(sha256) });
  const isMissing = known?.is_stored === false;
  return (
    <Stack gap={6}>
      <Group gap="sm">
        <NameLink kind="file" name={sha256} text={shownFileName(file)} />
        <Text size="sm" c="dimmed" component="span" className="long">
          {file.type}, {bytesText(file.size)}
        </Text>
        {isMissing && <MissingBadge file={known} />}
      </Group>
      {!isMissing && <FilePicture file={file} isOnDemand />}
    </Stack>
  );
}
