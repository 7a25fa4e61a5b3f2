import { Button, Menu } from '@mantine/core';
import { useState } from 'react';
import { client } from '../api/client.ts';
import type { ObjectOwner } from '../api/object-pages.ts';
import { Failure } from '../components/loaded.tsx';
import { saveBlob } from '../components/save-file.ts';
import { writeCsv, writeJson } from './write-export.ts';

const FORMATS = {
  json: { label: 'JSON, which can be imported again', write: writeJson },
  csv: { label: 'CSV, for spreadsheets', write: writeCsv },
} as const;

/** Saves all objects as a file. */
export function ExportObjects({ owner }: { readonly owner: ObjectOwner }) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (format: keyof typeof FORMATS) => {
    setBusy(true);
    setError(null);
    try {
      saveBlob(`${owner.source}.${format}`, await FORMATS[format].write(client.documents.readObjects(owner, 'md')));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      {error !== null && <Failure error={error} />}
      <Menu position="bottom-end" withinPortal={false}>
        <Menu.Target>
          <Button size="xs" variant="default" loading={isBusy}>
            Export
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => run('json')}>{FORMATS.json.label}</Menu.Item>
          <Menu.Item onClick={() => run('csv')}>{FORMATS.csv.label}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
