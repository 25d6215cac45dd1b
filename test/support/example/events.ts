import { Injectable, Module } from '@nestjs/common';
import type { LedgerEvent } from '#ledger/outbox/ledger-event';
import { OnLedgerEvent } from '#ledger/outbox/on-ledger-event';

@Injectable()
export class Greetings {
  readonly sent: string[] = [];

  @OnLedgerEvent('pool.created', { consumer: 'example.greetings' })
  onPool({ poolId, account, amount }: LedgerEvent<'pool.created'>): void {
    this.sent.push(`${account} opened ${poolId} with ${amount}`);
  }

  /** The compiler knows the fields of each topic. */
  @OnLedgerEvent(['draw.completed', 'deposit.confirmed'], { consumer: 'example.news', from: 'beginning' })
  async onNews(event: LedgerEvent<'draw.completed' | 'deposit.confirmed'>): Promise<void> {
    await Promise.resolve();
    const news =
      event.topic === 'draw.completed'
        ? `${event.winner} won ${event.prize}`
        : `${event.account} paid ${event.amount}`;
    this.sent.push(news);
  }
}

@Module({ providers: [Greetings] })
export class EventsModule {}
