import type { FileState, FileValue } from '@tidemark/client';
import { useFile, useMutation, useQuery } from '@tidemark/react';
import type { ChangeEvent } from 'react';
import type { Seat } from './devices.ts';
import { samplePicture } from './sample-picture.ts';
import { useTour } from './tour.tsx';
import type { Photo } from './types.ts';

interface PhotosProps {
  readonly seat: Seat;
  readonly orderId: string;
  readonly title: string;
}

interface NewPhoto {
  readonly picture: Blob;
  readonly name: string;
}

/** The photos of a work order. One that is added shows at once, without a network, and its bytes travel beside its object. */
export function Photos({ seat, orderId, title }: PhotosProps) {
  const { mark } = useTour();
  const photos = useQuery<Photo>('Photo', { where: { work_order_id: orderId }, orderBy: 'taken_at' });
  const { mutate: add } = useMutation(async (device, { picture, name }: NewPhoto) => {
    const photo = await device.files.add(picture, { name });
    if (!device.status.getSnapshot().isOnline) mark('photo');
    const taken_at = new Date().toISOString();
    return device.source<Photo>('Photo').create({ work_order_id: orderId, photo, taken_by: seat.name, taken_at });
  });
  const addChosen = ({ target }: ChangeEvent<HTMLInputElement>) => {
    for (const picture of target.files ?? []) add({ picture, name: picture.name });
    // The same picture can be chosen again.
    target.value = '';
  };
  const addSample = async () => add({ picture: await samplePicture(title), name: 'sample.jpg' });
  return (
    <section className="photos" aria-label="Photos">
      {photos.length > 0 && (
        <ul>
          {photos.map(({ id, attributes: { photo, taken_by } }) => (
            <Picture key={id} file={photo} label={`Photo by ${taken_by}`} />
          ))}
        </ul>
      )}
      <div className="photo-actions">
        <label className="photo-button">
          Add a photo
          <input type="file" accept="image/*" capture="environment" onChange={addChosen} />
        </label>
        <button type="button" className="photo-button" onClick={addSample}>
          Use a sample picture
        </button>
      </div>
    </section>
  );
}

function Picture({ file, label }: { readonly file: FileValue; readonly label: string }) {
  const { url, state } = useFile(file);
  const text = stateText(state);
  return (
    <li>
      {url === null ? (
        <span className="photo-empty">{label}</span>
      ) : (
        <a href={url} target="_blank" rel="noreferrer">
          <img src={url} alt={label} />
        </a>
      )}
      {text !== null && <span className="chip waiting">{text}</span>}
    </li>
  );
}

/** Null: the photo is on this device and at the server. */
function stateText(state: FileState): string | null {
  if (state.status === 'uploaded') return null;
  if (state.status === 'local') return 'not sent';
  if (state.status === 'uploading') return `sending ${Math.round(100 * state.part)} %`;
  // Another device has it, and has not sent it yet.
  return state.status === 'downloading' ? 'arriving' : 'on its way';
}
