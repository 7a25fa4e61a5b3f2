import { DISPATCHER, noteForOthers, TECHNICIANS } from './crews.ts';
import type { Database } from './database.ts';
import { note } from './outbox.ts';
import { hashPassword } from './passwords.ts';

const CUSTOMERS = [
  ['Brightwater Dairy', '4 Churn Lane, Northmoor'],
  ['Harlow Cold Store', 'Dock 9, Port Alder'],
  ['Wendbrook Swimming Baths', '2 Weir Road, Wendbrook'],
  ['Quarry Lane School', '31 Quarry Lane, Northmoor'],
  ['Alder Quay Ferries', 'Pier 3, Port Alder'],
  ['Sallowfield Glasshouses', 'Sallowfield Farm, Lower Wend'],
  ['Tern & Tide Hotel', '12 Promenade, Port Alder'],
  ['Oakhollow Clinic', '7 Spinney Way, Wendbrook'],
] as const;

const PARTS = [
  ['P-1010', 'Pump seal kit 32 mm', 'piece', 4_850, 14],
  ['P-1022', 'Circulation pump 230 V', 'piece', 31_900, 5],
  ['P-1105', 'Expansion vessel 18 l', 'piece', 6_790, 8],
  ['P-1203', 'Three-way valve DN 25', 'piece', 12_450, 6],
  ['P-1310', 'Thermostat head', 'piece', 2_190, 40],
  ['P-1404', 'Compressor contactor 25 A', 'piece', 5_320, 11],
  ['P-1411', 'Fan motor 45 W', 'piece', 14_600, 4],
  ['P-1502', 'Filter drier 1/4 in', 'piece', 1_980, 30],
  ['P-1603', 'Copper pipe 22 mm', 'metre', 1_240, 180],
  ['P-1610', 'Pipe insulation 22 mm', 'metre', 340, 250],
  ['P-1701', 'Pressure gauge 0–10 bar', 'piece', 1_560, 22],
  ['P-1808', 'Leak spray 400 ml', 'can', 890, 36],
  ['P-1902', 'Door gasket, cold room', 'metre', 1_120, 60],
  ['P-2004', 'Heating element 3 kW', 'piece', 7_480, 7],
  ['P-2107', 'Flow sensor', 'piece', 4_210, 9],
] as const;

const INVENTED = [
  'Bolt',
  'Gasket',
  'Nozzle',
  'O-ring',
  'Relay',
  'Screw',
  'Sensor',
  'Spring',
  'Valve',
  'Washer',
] as const;

const WORK_ORDERS = [
  ['crew-north', 1, 'Replace pump seal on pasteuriser loop', 'open', 'high', '2026-03-02', ''],
  ['crew-north', 4, 'Boiler room: yearly inspection', 'open', 'normal', '2026-03-04', 'Keys at the caretaker.'],
  ['crew-north', 1, 'Noise from condenser fan', 'in_progress', 'normal', '2026-02-27', 'Bearing, probably.'],
  [
    'crew-harbour',
    2,
    'Cold room 3 does not reach -18 °C',
    'in_progress',
    'high',
    '2026-02-26',
    'Gasket torn at the hinge.',
  ],
  ['crew-harbour', 5, 'Heating in the waiting hall', 'open', 'normal', '2026-03-03', ''],
  ['crew-harbour', 7, 'Kitchen: warm water too hot', 'open', 'normal', '2026-03-05', ''],
  ['crew-harbour', 2, 'Exchange of filter driers', 'done', 'low', '2026-02-20', 'Next in twelve months.'],
  ['crew-valley', 3, 'Flow sensor of the paddling pool', 'open', 'high', '2026-03-01', 'Before opening hours.'],
  ['crew-valley', 6, 'Expansion vessel loses pressure', 'open', 'normal', '2026-03-06', ''],
  ['crew-valley', 8, 'Three-way valve sticks', 'open', 'normal', '2026-03-09', ''],
] as const;

const PART_USES = [
  [4, 'P-1902', 3],
  [7, 'P-1502', 4],
] as const;

/** Fills a new database, and lets Tidemark know of everything in it at every start: what it has already does not move. */
export function seed(database: Database, password: string, partsMin = 0): void {
  database.transaction(() => {
    if (database.get('SELECT 1 FROM technicians LIMIT 1') === null) fill(database, password);
    lengthenPriceList(database, partsMin);
    const sql = 'INSERT INTO dispatchers SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM dispatchers)';
    database.run(sql, DISPATCHER, hashPassword(password));
    noteEverything(database);
  });
}

function fill(database: Database, technicianPassword: string): void {
  for (const [login, region] of TECHNICIANS) {
    database.run('INSERT INTO technicians VALUES (?, ?, ?)', login, region, hashPassword(technicianPassword));
  }
  for (const [name, address] of CUSTOMERS) {
    database.run('INSERT INTO customers (name, address) VALUES (?, ?)', name, address);
  }
  for (const part of PARTS) database.run('INSERT INTO parts VALUES (?, ?, ?, ?, ?)', ...part);
  const columns = 'technician, customer_id, title, status, priority, due_on, notes';
  for (const order of WORK_ORDERS) {
    database.run(`INSERT INTO work_orders (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`, ...order);
  }
  for (const use of PART_USES) {
    database.run('INSERT INTO part_uses (work_order_id, part_id, quantity) VALUES (?, ?, ?)', ...use);
  }
}

/** Invents parts until there are so many, for who wants to see a long price list on a phone. */
function lengthenPriceList(database: Database, partsMin: number): void {
  const { parts } = database.get('SELECT count(*) AS parts FROM parts') ?? { parts: 0 };
  for (let number = Number(parts) + 1; number <= partsMin; number++) {
    const name = `${INVENTED[number % INVENTED.length]} ${number}`;
    const part = [`X-${number}`, name, 'piece', 100 + (number % 9_900), number % 50];
    database.run('INSERT INTO parts VALUES (?, ?, ?, ?, ?)', ...part);
  }
}

function noteEverything(database: Database): void {
  for (const { id } of database.all('SELECT id FROM parts')) note(database, 'Part', null, String(id));
  for (const row of database.all('SELECT id, technician FROM work_orders')) {
    const [id, technician] = [Number(row.id), String(row.technician)];
    noteForOthers(database, 'WorkOrder', { id, technician });
    for (const use of database.all('SELECT id FROM part_uses WHERE work_order_id = ?', id)) {
      noteForOthers(database, 'PartUse', { id: Number(use.id), technician });
    }
  }
}
