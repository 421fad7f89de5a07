// Writes sessions with ADK for TypeScript's own session service into a SQLite file: `node make.mjs FILE < sessions.json`.
// The driver is libSQL's, whose binary comes from npm.
import { readFileSync } from 'node:fs';

import { createEvent, DatabaseSessionService } from '@google/adk';
import { LibSqlDriver } from '@mikro-orm/libsql';

const service = new DatabaseSessionService({ driver: LibSqlDriver, dbName: process.argv[2] });
for (const { appName, userId, id, state, events } of JSON.parse(readFileSync(0, 'utf8'))) {
  const session = await service.createSession({ appName, userId, sessionId: id, state });
  for (const event of events) {
    await service.appendEvent({ session, event: createEvent({ ...event, timestamp: event.timestamp * 1000 }) });
  }
}
await service.orm.close();
