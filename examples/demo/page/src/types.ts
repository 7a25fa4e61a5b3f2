import type { FileValue } from '@tidemark/client';

// The attributes of the backend's three sources, as this app uses them, and of photos, of which the backend knows nothing.

export interface WorkOrder {
  title: string;
  technician: string;
  customer?: string | null;
  address?: string | null;
  status: 'open' | 'in_progress' | 'done';
  priority: 'low' | 'normal' | 'high';
  due_on?: string | null;
  notes: string;
  hours: number;
}

export interface Part {
  name: string;
  unit: string;
  price_cents: number;
  stock: number;
}

export interface PartUse {
  work_order_id: string;
  part_id: string;
  quantity: number;
}

export interface Photo {
  work_order_id: string;
  photo: FileValue;
  taken_by: string;
  taken_at: string;
}

export const CREWS: Readonly<Record<string, string>> = {
  'crew-north': 'North',
  'crew-harbour': 'Harbour',
  'crew-valley': 'Valley',
};

/** The depot of a crew, whose orders are a group of their own where the data belongs to groups. */
export function depotOf(crew: string): string {
  return crew.replace('crew-', '');
}

export const STATUS_NAMES = { open: 'Open', in_progress: 'In progress', done: 'Done' } as const;
export const PRIORITY_NAMES = { low: 'Low', normal: 'Normal', high: 'High' } as const;
