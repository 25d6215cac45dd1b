import { bodyOf, challengeOf } from './message';
import { NOTICES } from './webhooks.dto';

const delivery = { eventId: '0000000002f1-00000000001a-0001', createdAt: new Date(1_000_000) };

it('an event is sent as it was stored', () =>
  expect(bodyOf({ ...delivery, topic: 'draw.closed', event: '{"id": 1}' })).toBe('{"id": 1}'));

// The first event that was left out of one webhook is stored when others have got it.
it.each(NOTICES.flatMap((topic) => [null, '{"id": 1}'].map((event) => [topic, event] as const)))(
  'the notice %s is its delivery, whatever is stored under its id: %s',
  (topic, event) =>
    expect(JSON.parse(bodyOf({ ...delivery, topic, event }))).toEqual({
      id: delivery.eventId,
      topic,
      occurredAt: '1970-01-01T00:16:40.000Z',
    }),
);

it('a challenge is in its message', () =>
  expect(JSON.parse(challengeOf('7', 'abc'))).toEqual({
    id: '7',
    topic: 'challenge',
    occurredAt: expect.any(String) as unknown,
    challenge: 'abc',
  }));
