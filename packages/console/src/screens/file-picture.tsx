import { Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import { client } from '../api/client.ts';
import { bytesText } from '../components/bytes-text.ts';
import { isPicture, shownFileName } from '../components/file-facts.ts';
import { Loaded } from '../components/loaded.tsx';
import { collectBytes, decodePicture, drawPicture } from '../components/picture.ts';

/** A larger picture is downloaded only when somebody asks for it. */
const SHOWN_AT_ONCE_BYTES = 20_000_000;
/** Larger ones are not decoded in the page. */
const SHOWN_BYTES_MAX = 100_000_000;
/** The bytes under a hash never change, and a picture that nobody looks at need not stay in memory. */
const CACHING = { staleTime: Number.POSITIVE_INFINITY, gcTime: 30_000, refetchInterval: false } as const;

interface ShownFile {
  readonly sha256: string;
  readonly size: number;
  readonly type: string | null;
  readonly name?: string | null;
}

interface FilePictureProps {
  readonly file: ShownFile;
  /** True: nothing is downloaded before somebody asks for it. */
  readonly isOnDemand?: boolean;
}

/**
 * A picture, drawn from the downloaded bytes. What somebody has stored is never part of the page: bytes that the browser
 * cannot decode as a picture are not shown at all.
 */
export function FilePicture({ file, isOnDemand = false }: FilePictureProps) {
  const [isWanted, setWanted] = useState(!isOnDemand && file.size <= SHOWN_AT_ONCE_BYTES);
  if (!isPicture(file.type) || file.size > SHOWN_BYTES_MAX) return isOnDemand ? null : <NotShown file={file} />;
  if (isWanted) return <Picture file={file} />;
  return (
    <Group>
      <Button size="compact-sm" variant="default" onClick={() => setWanted(true)}>
        Show the picture ({bytesText(file.size)})
      </Button>
    </Group>
  );
}

function NotShown({ file: { type, size } }: { readonly file: ShownFile }) {
  return (
    <Text size="sm" c="dimmed" className="card">
      {isPicture(type) && size > SHOWN_BYTES_MAX
        ? `A picture of more than ${bytesText(SHOWN_BYTES_MAX)} is not shown here. Download it.`
        : 'Only pictures are shown here. Download the file to open it.'}
    </Text>
  );
}

function Picture({ file }: { readonly file: ShownFile }) {
  const { sha256, size, type } = file;
  const query = useQuery({
    ...CACHING,
    queryKey: ['pictures', sha256],
    queryFn: async ({ signal }) => {
      const bytes = await client.files.download(sha256, { signal });
      const blob = await collectBytes(bytes, size, type ?? '');
      return blob === null ? null : decodePicture(blob);
    },
  });
  return (
    <Loaded query={query}>
      {(picture) =>
        picture === null ? (
          <Text size="sm" c="dimmed" className="card">
            The file is called a picture, and its bytes are none that this browser knows. Download it to look at it.
          </Text>
        ) : (
          <Canvas picture={picture} label={shownFileName(file)} />
        )
      }
    </Loaded>
  );
}

function Canvas({ picture, label }: { readonly picture: ImageBitmap; readonly label: string }) {
  const draw = useCallback(
    (canvas: HTMLCanvasElement | null) => {
      if (canvas !== null) drawPicture(canvas, picture);
    },
    [picture],
  );
  return <canvas className="picture" role="img" aria-label={`Picture ${label}`} ref={draw} />;
}
