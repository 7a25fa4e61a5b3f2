import type { FileValue } from '@tidemark/client';

// The attributes of the sources that `npm run example` declares.

export interface WorkOrder {
  title: string;
  customer: string | null;
  address: string | null;
  status: 'open' | 'in_progress' | 'done';
  priority: 'low' | 'normal' | 'high';
  due_on: string | null;
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
