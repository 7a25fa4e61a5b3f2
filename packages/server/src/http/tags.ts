/** The sections of the API description, in order. */
export const TAGS = [
  { name: 'system', description: 'Login of administrators, licence, backend address, statistics, reset.' },
  { name: 'store', description: 'Documents of the server.' },
  { name: 'users', description: 'Users, their devices and documents, and pings to them.' },
  { name: 'read_state', description: 'When the data of a source is due to be refreshed. All four routes do the same.' },
  { name: 'sources', description: 'Sources and their attributes.' },
  { name: 'clients', description: 'Devices and their documents.' },
  { name: 'push', description: 'Pushes of a backend. Devices get the changes at their next pull.' },
  { name: 'tokens', description: 'Tokens of the API.' },
  { name: 'audit', description: 'The audit trail.' },
  { name: 'pings', description: 'Pings that were sent, and what became of them.' },
  { name: 'devices', description: 'The protocol of devices; docs/sync-protocol.md explains it.' },
  { name: 'jobs', description: 'Queues of background jobs.' },
  { name: 'service', description: 'Health, version, metrics and this description.' },
] as const;
