import { answersChallenge, networkOf, retryAfterOf } from './answers';

const challenge = 'Zm9vYmFy_-42';

it.each([challenge, `${challenge}\n`, JSON.stringify({ challenge }), ` { "challenge" : "${challenge}" } `])(
  'answers the challenge: %s',
  (text) => expect(answersChallenge(text, challenge)).toBe(true),
);

it.each([
  ['nothing', ''],
  ['another text', 'Zm9vYmFy_-43'],
  ['a beginning', challenge.slice(0, -1)],
  ['more than it', `${challenge}${challenge}`],
  ['all of the request', JSON.stringify({ id: '1', topic: 'challenge', challenge })],
  ['a request within an answer', JSON.stringify({ json: { challenge }, data: '' })],
  ['a text that contains it', `Not found: {"challenge":"${challenge}"}`],
  ['a list', JSON.stringify([challenge])],
  ['a field of another type', JSON.stringify({ challenge: [challenge] })],
  ['no field', '{}'],
  ['no JSON', '{'],
  ['an object within', JSON.stringify({ challenge: { challenge } })],
])('does not answer it: %s', (_, text) => expect(answersChallenge(text, challenge)).toBe(false));

const DATE = 'Wed, 21 Oct 2015 07:28:00 GMT';
it.each([
  ['120', DATE, 120],
  ['0', undefined, 0],
  ['Wed, 21 Oct 2015 07:30:00 GMT', DATE, 120],
  ['Wed, 21 Oct 2015 07:00:00 GMT', DATE, 0],
  ['Wed, 21 Oct 2099 07:00:00 GMT', undefined, 86_400],
  ['99999999999999999999', DATE, 86_400],
  ['-5', DATE, undefined],
  ['soon', DATE, undefined],
  ['', DATE, undefined],
  [undefined, DATE, undefined],
])('Retry-After %s, at %s: %s seconds', (value, date, seconds) =>
  expect(retryAfterOf(value, date)).toBe(seconds),
);

it.each([
  ['93.184.216.34', '93.184.216'],
  ['2606:4700:4700::1111', '2606:4700:4700'],
  ['2606:4700:4700:1:2:3:4:5', '2606:4700:4700'],
  ['2001:db8::1', '2001:db8:0'],
  ['2600::', '2600:0:0'],
  ['::1', ':0:0'],
])('%s belongs to %s', (address, network) => expect(networkOf(address)).toBe(network));
