import { Button } from '@mantine/core';
import { useState } from 'react';
import { client } from '../api/client.ts';
import type { ObjectOwner } from '../api/object-pages.ts';
import { Failure } from '../components/loaded.tsx';
import { saveFile } from '../components/save-file.ts';
import { writeJson } from './write-export.ts';

/** Saves all objects as a JSON file, which can be imported again. */
export function ExportObjects({ owner }: { readonly owner: ObjectOwner }) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      const parts = await writeJson(client.documents.readObjects(owner, 'md'));
      saveFile(`${owner.source}.json`, 'application/json', parts);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      {error !== null && <Failure error={error} />}
      <Button size="xs" variant="default" loading={isBusy} onClick={run}>
        Export
      </Button>
    </>
  );
}
