import { Injectable } from '@nestjs/common';
import { CursorPage } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { namedError } from '#platform/errors/errors';
import type { Session } from '#features/access/current-user';
import { TOKEN_LIFETIME_SECONDS } from '#features/access/lifetimes';
import { Sessions } from '#features/access/sessions';
import { DELETE_ACCOUNT } from './deletion.sql';
import { Deletions } from './deletions';
import { exportPage } from './export';
import {
  type DeletedAccount,
  EXPORT_CURSOR,
  type ExportQuery,
  type ExportedRow,
  placeOf,
  positionOf,
} from './people.dto';

/** The signature of the sign-in confirms what is done so soon after it. A token that somebody found is older. */
const FRESH_SECONDS = 600;

@Injectable()
export class PeopleService {
  constructor(
    private readonly database: Database,
    private readonly sessions: Sessions,
    private readonly deletions: Deletions,
  ) {}

  async export(person: Session, { limit, after }: ExportQuery): Promise<CursorPage<ExportedRow>> {
    const from = after === undefined ? undefined : placeOf(after);
    const { rows, next } = await exportPage(person, from, limit, (statement, values) =>
      this.database.readAll(statement, values),
    );
    return new CursorPage({ data: `[${rows.join()}]`, next: next ? positionOf(next) : null }, EXPORT_CURSOR);
  }

  /** @throws ApiError 403 unless the caller has just signed in */
  async delete(session: Session): Promise<DeletedAccount> {
    const { address, exp } = session;
    if (exp - TOKEN_LIFETIME_SECONDS < Date.now() / 1000 - FRESH_SECONDS) throw namedError('sign_in_again');
    const { stays } = (await this.database.write(DELETE_ACCOUNT, { address }))!;
    this.sessions.ended(session);
    this.deletions.hurry();
    return { address, stays };
  }
}
