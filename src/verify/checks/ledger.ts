import { type Following, compareDerived, differencesOf } from './compare';
import * as events from './events.sql';
import type { Doubt } from './findings';
import { type Look, type Value, halves, unique } from './look';

/** Compares events with each other and with their rows in the ledger. @param keys contracts and numbers */
export async function compareEvents(look: Look, keys: string[]): Promise<void> {
  look.findings.count('events', keys.length);
  look.findings.doubt(await look.rows<Doubt>(events.COMPARE_EVENTS, ...halves(keys)));
}

/**
 * The rows of the ledger with their events, and the times that they have from these. Where they differ, a node says
 * whether it is the event that is wrong. Until one has confirmed the events, nothing follows from either.
 */
export async function compareTimes(look: Look, ids: string[]): Promise<void> {
  const { findings, mode } = look;
  findings.doubt(await look.rows<Doubt>(events.COMPARE_LEDGER_ROWS, ids));
  const isClear = (id: string): boolean => mode.repair && look.areEventsConfirmed && !findings.isDisputed(id);
  const clear = ids.filter(isClear);
  const others = ids.filter((id) => !isClear(id));
  await compareDerived(look, [events.UNCONFIRMED_TIMES], [ids]);
  for (const each of events.TIMES) {
    if (clear.length > 0) await compareDerived(look, [each], [clear]);
    if (others.length > 0) await reportTimes(look, each, others);
  }
}

async function reportTimes(look: Look, each: Following, ids: string[]): Promise<void> {
  const found = await differencesOf<Value & { pool: string }>(look, each, [ids]);
  look.findings.dispute(unique(found.map(({ pool }) => pool)));
  await look.report(each.table, found);
}
